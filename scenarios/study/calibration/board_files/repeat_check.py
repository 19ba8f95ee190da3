"""Repeat check: what repetitions say of themselves: the timer's step, drift, outliers. Nothing is dropped.

The scatter of one repetition is the median over all measurements of each one's own, since few repetitions of one say
little: the standard deviation of its logarithms, or from their median deviation where there are many. An outlier is
further from its median than OUTLIER times that scatter.

Drift is asked of each measurement, and of all together: Kendall's S counts the pairs of repetitions that rise, less
those that fall. Without drift every order of n repetitions is as likely, which gives the chance of an S; its mean is 0,
its variance n (n - 1) (2 n + 5) / 18, and those of several measurements add. All measurements together are called to
drift by luck once in a hundred tables.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from math import erfc, factorial, log, sqrt
from statistics import median, stdev

from tessbed.scenarios.study.calibration.board_files.finding import Board, Group, TableFinding, named
from tessbed.scenarios.study.calibration.board_files.unit_check import GUESS_FACTOR
from tessbed.scenarios.study.calibration.observables import SECONDS, TICKS

COARSE_PERCENT = 1.0
"""A step of the timer of more percent of the value than this is reported."""
OUTLIER = 6.0
CHANCE = 0.01
"""Of calling any measurement of a table drifting that is not."""
DRIFT = 4.0
"""Standard deviations of all measurements together."""
MANY_ORDERED = 20
"""Of so many repetitions S is as good as normal."""
FEW = 3
MANY = 8
MAD_SIGMA = 1.4826
FEWEST_VALUES = 8
NEAR = 1e-6
FINE = 1e-3
"""A timer of a smaller step than this part of a value shows its scatter."""


def repeat_findings(board: Board) -> Iterator[TableFinding]:
    """What is wrong or doubtful with the repetitions."""
    groups = board.groups
    yield from _coarse(board, groups)
    yield from _other_step(board, groups)
    yield from _single(board, groups)
    yield from _equal(board, groups)
    yield from _outliers(board, groups)
    yield from _drift(board, groups)


def _part(board: Board, group: Group, nanoseconds: float) -> float:
    """A step of the timer as a part of the median."""
    return nanoseconds / (median(group.values) * _nanoseconds(board, group.rows[0].unit))


def scatter(groups: Sequence[Group]) -> float:
    """The relative scatter of one repetition; 0 where nothing repeats."""
    return median([_own_scatter(group.values) for group in groups if len(group.rows) >= FEW] or [0.0])


def _own_scatter(values: Sequence[float]) -> float:
    """That of one measurement. The median of a standard deviation of few values is below the true one: corrected."""
    logs = [log(value) for value in values]
    if len(logs) >= MANY:
        return MAD_SIGMA * median(abs(each - median(logs)) for each in logs)
    free = len(logs) - 1
    return stdev(logs) / (1 - 2 / (9 * free)) ** 1.5


def _nanoseconds(board: Board, unit: str) -> float:
    return 1e3 / board.setup.clock_mhz if unit == TICKS else SECONDS[unit] * 1e9


def _coarse(board: Board, groups: Sequence[Group]) -> Iterator[TableFinding]:
    """Values of few steps of the timer."""
    steps = [(100 * _part(board, group, _step(board)), group) for group in groups]
    found = [(percent, group) for percent, group in steps if percent > COARSE_PERCENT]
    if found:
        percent, worst = max(found, key=lambda one: one[0])
        unit = worst.rows[0].unit
        text = (
            f"a step of the timer, {board.setup.timer_resolution_ns:g} ns, is {percent:.3g} % of {worst.name}"
            f" = {worst.rows[0].value:g} {unit}, and above {COARSE_PERCENT:g} % of {len(found):,} measurements;"
            " measure many runs in one interval, or with a finer timer"
        )
        yield TableFinding("error" if percent >= 100 else "warning", "resolution", worst.place, text, len(found))


def _other_step(board: Board, groups: Sequence[Group]) -> Iterator[TableFinding]:
    """A timer whose values all are multiples of a step that is larger than the one that the setup says."""
    step = _common_step(board, groups)
    if step > 2 * board.setup.timer_resolution_ns:
        values = [value for group in groups for value in group.values]
        text = (
            f"all {len(values):,} values are multiples of {step:g} ns, the setup says"
            f" timer_resolution_ns = {board.setup.timer_resolution_ns:g}: correct it, so that a fit knows what it knows"
        )
        yield TableFinding("warning", "resolution", board.setup_place("timer_resolution_ns"), text, len(values))


def _common_step(board: Board, groups: Sequence[Group]) -> float:
    """The largest of 1, 2, 5, 10, ... ns of which all values are multiples; 0 where there is none, or few values."""
    values = {value * _nanoseconds(board, group.rows[0].unit) for group in groups for value in group.values}
    if len(values) < FEWEST_VALUES:
        return 0
    steps = [digit * 10**power for power in range(9) for digit in (1, 2, 5)]
    fitting = [step for step in steps if all(abs(each / step - round(each / step)) < NEAR for each in values)]
    return max(fitting, default=0)


def _single(board: Board, groups: Sequence[Group]) -> Iterator[TableFinding]:
    alone = [group.name for group in groups if len(group.rows) < FEW]
    if alone:
        text = (
            f"{len(alone):,} of {len(groups):,} measurements have fewer than {FEW} repetitions: {named(alone)};"
            " their scatter is taken from the others, an outlier among them would not be seen"
        )
        yield TableFinding("warning", "repeats", board.table_place, text, len(alone))


def _equal(board: Board, groups: Sequence[Group]) -> Iterator[TableFinding]:
    """Repetitions that do not differ, though the timer would show it."""
    fine = [group for group in groups if len(group.rows) >= FEW and _part(board, group, _step(board)) < FINE]
    equal = [group for group in fine if len(set(group.values)) == 1]
    if equal and 2 * len(equal) > len(fine):
        text = (
            f"all repetitions of {len(equal):,} measurements are equal, those of {equal[0].name} for instance: no board"
            " is so steady; write what each repetition measured, not their mean"
        )
        yield TableFinding("warning", "repeats", equal[0].place, text, len(equal))


def _step(board: Board) -> float:
    return board.setup.timer_resolution_ns


def _outliers(board: Board, groups: Sequence[Group]) -> Iterator[TableFinding]:
    """Each by its name and line, and how many there are."""
    usual, step = scatter(groups), max(_common_step(board, groups), board.setup.timer_resolution_ns)
    found = []
    for group in groups:
        middle = median(group.values)
        limit = OUTLIER * max(usual, _part(board, group, step) / 2)
        apart = [(row, abs(log(row.value / middle))) for row in group.rows if len(group.rows) >= FEW]
        found += [(group, row) for row, far in apart if limit < far <= log(GUESS_FACTOR)]
    rows = sum(len(group.rows) for group in groups)
    for number, (group, row) in enumerate(found, 1):
        percent = 100 * (row.value / median(group.values) - 1)
        text = (
            f"{group.name}: repetition {row.repeat} is {row.value:g} {row.unit}, {percent:+.3g} % from the median, with"
            f" a scatter of {100 * usual:.2g} %: outlier {number} of {len(found)} in {rows:,} lines; it counts in a fit"
            " until its line is taken out"
        )
        yield TableFinding("warning", "outlier", row.place or board.table_place, text)


def _drift(board: Board, groups: Sequence[Group]) -> Iterator[TableFinding]:
    """That all measurements rise or fall with their repetitions; else each one that does."""
    usable = [group for group in groups if len(group.rows) >= FEW]
    total = sum(_kendall(group.values) for group in usable)
    if usable and abs(total) > DRIFT * sqrt(sum(_kendall_variance(len(group.rows)) for group in usable)):
        alike = sum(_kendall(group.values) * total > 0 for group in usable)
        text = f"{alike:,} of {len(usable):,} measurements drift alike: a repetition {_drift_words(usable)}"
        yield TableFinding("warning", "drift", board.table_place, text, alike)
        return
    for group in usable:
        if _chance(len(group.rows), abs(_kendall(group.values))) < CHANCE / len(usable):
            yield TableFinding(
                "warning", "drift", group.place, f"{group.name} {_drift_words([group])}", len(group.rows)
            )


def _kendall(values: Sequence[float]) -> int:
    """The pairs that rise, less those that fall."""
    return sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))


def _kendall_variance(count: int) -> float:
    return count * (count - 1) * (2 * count + 5) / 18


def _chance(count: int, score: int) -> float:
    """That S of so many repetitions is as far from 0, or further, without drift."""
    if count > MANY_ORDERED:
        return erfc((score - 1) / sqrt(2 * _kendall_variance(count)))
    fewer = (count * (count - 1) // 2 - score) // 2
    return min(1.0, 2 * sum(_orders(count)[: fewer + 1]) / factorial(count))


@cache
def _orders(count: int) -> tuple[int, ...]:
    """How many orders of so many values have 0, 1, ... pairs that fall."""
    if count < 2:
        return (1,)
    before, most = _orders(count - 1), count * (count - 1) // 2
    return tuple(sum(before[max(0, pairs - count + 1) : pairs + 1]) for pairs in range(most + 1))


def _drift_words(groups: Sequence[Group]) -> str:
    slopes = [
        100 * log(later / earlier) / (to - at)
        for group in groups
        for (at, earlier), (to, later) in combinations(enumerate(group.values), 2)
    ]
    slope = median(slopes)
    way = "rises" if slope > 0 else "falls"
    return f"{way} by {abs(slope):.2g} % from one to the next; warm up for longer, or fix the clock and the load"
