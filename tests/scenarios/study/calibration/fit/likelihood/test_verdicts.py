"""Verdicts: intervals of parameters that are whole numbers, and where a parameter stays that is not determined."""

import pytest

from tessbed.scenarios.study.calibration.fit.likelihood.confounding import Confounding
from tessbed.scenarios.study.calibration.fit.likelihood.verdicts import Interval, ParameterVerdict, whole_interval
from tessbed.scenarios.study.calibration.parameter_space import FreeParameter

TICKS = FreeParameter("dma.setup_ticks", 1, 400)
WHOLE = {
    "far wider than one": (56.3, (48.2, 66.1), (48.2, 66.1)),
    "the best is whole": (16.0, (15.4, 16.7), (15.4, 16.7)),
    "none inside: the nearer one": (2.08, (2.02, 2.14), (2.0, 2.14)),
    "none inside: either": (16.5, (16.1, 16.9), (16.0, 17.0)),
    "open below": (20.5, (None, 20.9), (None, 20.9)),
    "open above": (20.5, (20.1, None), (20.1, None)),
    "at the end of the range": (1.2, (1.0, 1.3), (1.0, 1.3)),
    "open": (20.5, (None, None), (None, None)),
}


@pytest.mark.parametrize(("best", "interval", "wanted"), WHOLE.values(), ids=WHOLE)
def test_an_interval_holds_the_whole_numbers_that_are_not_excluded(
    best: float, interval: Interval, wanted: Interval
) -> None:
    """At least the one with the least S is in it, and no interval gets narrower."""
    assert whole_interval(TICKS, best, interval) == pytest.approx(wanted)


def test_a_whole_number_is_judged_by_the_best_whole_number() -> None:
    """By hand: S rises by ((v - 10.5) / 1.49)^2 thresholds, so that 9 and 12 exceed the best value's by 1.013.

    That is more than one threshold, but 10 and 11 have 0.113 of their own: 9 and 12 are not excluded. With ends at
    1.4 they have 1.148, and are, since 10 and 11 have 0.128.
    """
    assert whole_interval(TICKS, 10.5, (9.01, 11.99)) == (9.0, 12.0)
    assert whole_interval(TICKS, 10.5, (9.1, 11.9)) == (9.1, 11.9)


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
