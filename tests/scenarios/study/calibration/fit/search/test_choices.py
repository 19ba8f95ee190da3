"""Counts: what may be said of a number of things from which of its values the data do not exclude."""

import pytest

from tessbed.scenarios.study.calibration.fit.search.choices import _count

NUMBERS = (1, 4, 8, 16)
CASES = {
    "all": ((1, 4, 8, 16), 8, ("untouched", "guess", None, None)),
    "not the lowest": ((4, 8, 16), 8, ("at_least", "guess", 2.0, None)),
    "the guess excluded": ((16,), 16, ("at_least", "bound", 9.0, None)),
    "not the highest": ((1, 4), 4, ("at_most", "bound", None, 7.0)),
    "between": ((4, 8), 8, ("determined", "calibrated", 2.0, 15.0)),
}


@pytest.mark.parametrize(("admitted", "value", "wanted"), CASES.values(), ids=CASES)
def test_a_count_is_bounded_by_what_is_excluded(
    admitted: tuple[int, ...], value: int, wanted: tuple[str, str, float | None, float | None]
) -> None:
    """Numbers between two that were tried are not excluded: the ends are next to those that are."""
    found = _count("dma.outstanding", 8, value, NUMBERS, [f"dma.outstanding={n}" for n in admitted])
    assert (found.verdict, found.provenance, found.low, found.high) == wanted
