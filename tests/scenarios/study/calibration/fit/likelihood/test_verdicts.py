"""Verdicts: where a parameter stays that is not determined."""

import pytest

from tessbed.scenarios.study.calibration.fit.likelihood.confounding import Confounding
from tessbed.scenarios.study.calibration.fit.likelihood.verdicts import Interval, ParameterVerdict

PLACES = {
    "untouched": ("untouched", (None, None), 50, 50),
    "the guess is not excluded": ("at_most", (None, 60.5), 50, 50),
    "it is, from above": ("at_most", (None, 48.4), 50, 48),
    "it is, from below": ("at_least", (50.2, None), 50, 51),
    "determined": ("determined", (40.0, 45.0), 50, None),
}


@pytest.mark.parametrize(("word", "interval", "guess", "wanted"), PLACES.values(), ids=PLACES)
def test_what_is_not_determined_stays_where_the_guess_may_be(
    word: str, interval: Interval, guess: int, wanted: int | None
) -> None:
    """At the guess, or at the bound that excludes it."""
    assert ParameterVerdict(word, interval).place(3, guess) == wanted


def test_of_a_group_the_first_member_is_fitted() -> None:
    """It takes up what the others leave to it at their guesses."""
    verdict = ParameterVerdict("combination", (None, None), Confounding((3, 5), "sum", (1, 1)))
    assert [verdict.place(number, 50) for number in (3, 5)] == [None, 50]
