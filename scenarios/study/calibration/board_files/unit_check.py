"""Unit check: values that can not be what their unit says, by the order of magnitude that the guesses predict.

Guesses may be wrong by some factor, for all experiments alike. So first the factor of the whole table is found, as the
median of measured over predicted ticks; then each measurement is compared with that. A unit that was confused changes a
value by a thousand, or by the clock: then another unit brings it near, and is named. At 1,000 MHz a nanosecond is a
tick, and nobody can tell them apart; nothing depends on it either.

A clock that is wrong by some factor changes all times by it, so that it looks like guesses which are all wrong alike.
Beyond CLOCK_FACTOR it is reported as the clock; below, nobody can tell.
"""

from collections.abc import Iterator, Mapping
from math import log
from statistics import median

from tessbed.scenarios.study.calibration.board_files.finding import Board, Group, TableFinding, named
from tessbed.scenarios.study.calibration.observables import TICKS, UNITS, in_ticks

GUESS_FACTOR = 30.0
"""A guess may be wrong by so much, and no more."""
CLOCK_FACTOR = 5.0
"""A single guess may be wrong by more than this, all of them together are not."""
NEAR_FACTOR = 8.0
"""Another unit explains a value that it brings as near as this."""


def unit_findings(board: Board) -> Iterator[TableFinding]:
    """Of the whole table where all of it is off, else of single measurements."""
    ratios = {group: _ratio(board, group, group.rows[0].unit) for group in board.groups if _predicted(board, group)}
    if not ratios:
        return
    usual = median(ratios.values())
    if _apart(usual, 1.0) > GUESS_FACTOR:
        yield _whole_table(board, ratios, usual)
    elif _apart(usual, 1.0) > CLOCK_FACTOR:
        yield _other_clock(board, ratios, usual)
    else:
        usual = 1.0
    for group, ratio in ratios.items():
        if _apart(ratio, usual) > GUESS_FACTOR:
            yield _single(board, group, ratio)
        yield from _repetitions(board, group)


def _repetitions(board: Board, group: Group) -> Iterator[TableFinding]:
    """Single repetitions that are far from the others, as no outlier is."""
    middle = median(group.values)
    for row in group.rows:
        if _apart(row.value, middle) > GUESS_FACTOR:
            unit = row.unit
            others = [other for other in UNITS if other != unit]
            ticks = in_ticks(middle, unit, board.setup.clock_mhz)
            meant = [
                other
                for other in others
                if _apart(in_ticks(row.value, other, board.setup.clock_mhz), ticks) <= NEAR_FACTOR
            ]
            hint = f"is it in {named(meant)}?" if meant else "is it a slip of the pen?"
            got = f"{group.name}: repetition {row.repeat} is {row.value:g} {unit}, the median {middle:g}"
            yield TableFinding("error", "unit", row.place or board.table_place, f"{got}; {hint}")


def _whole_table(board: Board, ratios: Mapping[Group, float], usual: float) -> TableFinding:
    far = [group for group, ratio in ratios.items() if _apart(ratio, 1.0) > GUESS_FACTOR]
    first = far[0]
    unit = first.rows[0].unit
    meant = _meant(board, first, unit)
    what = f"{len(far):,} measurements are {_times(usual)} what the guesses predict, in the median"
    hint = f"{first.rows[0].value:g} {unit} of {first.name} would fit in {meant}" if meant else "check unit and clock"
    return TableFinding("error", "unit", first.place, f"{what}: no guess is so wrong; {hint}", len(far))


def _other_clock(board: Board, ratios: Mapping[Group, float], usual: float) -> TableFinding:
    """All of it slower or faster by more than guesses are wrong together: the clock is another, or the counter."""
    low, high = min(ratios.values()), max(ratios.values())
    what = (
        f"{len(ratios):,} measurements are {_times(usual)} what the guesses predict, in the median, from"
        f" {_times(low)} to {_times(high)}: single guesses may be so wrong, not all of them together"
    )
    if all(group.rows[0].unit == TICKS for group in ratios):
        text = f"{what}; do the ticks count another clock than that of the vision processor?"
        return TableFinding("error", "clock", next(iter(ratios)).place, text, len(ratios))
    clock = board.setup.clock_mhz
    text = f"{what}; is the clock {float(f'{clock / usual:.2g}'):,g} MHz, not {clock:,}?"
    return TableFinding("error", "clock", board.setup_place("clock_mhz"), text, len(ratios))


def _single(board: Board, group: Group, ratio: float) -> TableFinding:
    row, unit = group.rows[0], group.rows[0].unit
    expected = board.expected[group.experiment, group.observable]
    meant = _meant(board, group, unit)
    what = f"{group.name}: got {row.value:g} {unit}, {_times(ratio)} the {expected:,.0f} ticks that the guesses predict"
    hint = f"is it in {meant}?" if meant else "is it another experiment, or another observable?"
    return TableFinding("error", "unit", group.place, f"{what}; {hint}", len(group.rows))


def _predicted(board: Board, group: Group) -> bool:
    return board.expected.get((group.experiment, group.observable), 0) > 0


def _ratio(board: Board, group: Group, unit: str) -> float:
    """Measured over predicted ticks, were the values in that unit."""
    value = median(group.values)
    return in_ticks(value, unit, board.setup.clock_mhz) / board.expected[group.experiment, group.observable]


def _apart(one: float, other: float) -> float:
    """By which factor two are apart, at least 1."""
    return max(one, other) / min(one, other)


def _meant(board: Board, group: Group, unit: str) -> str | None:
    """The unit that brings the value nearest, where one brings it near."""
    others = [other for other in UNITS if other != unit]
    best = min(others, key=lambda other: abs(log(_ratio(board, group, other))))
    near = [other for other in others if abs(log(_ratio(board, group, other) / _ratio(board, group, best))) < 1e-9]
    return named(near) if _apart(_ratio(board, group, best), 1.0) <= NEAR_FACTOR else None


def _times(ratio: float) -> str:
    factor = max(ratio, 1 / ratio)
    shown = f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"
    return f"{shown} times" if ratio >= 1 else f"1/{shown} of"
