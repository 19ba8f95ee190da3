"""Plan check: whether what was measured is what was planned: experiments, splits, what is left to validate with."""

from collections.abc import Iterator

from tessbed.scenarios.format.diagnostics import nearest
from tessbed.scenarios.study.calibration.board_data import FIT, VALIDATE
from tessbed.scenarios.study.calibration.board_files.finding import Board, TableFinding, count_of, named
from tessbed.scenarios.study.calibration.folder_files import EXPERIMENTS
from tessbed.scenarios.study.calibration.observables import OBSERVABLES, TICKS

HELD_OUT = 3
"""Fewer shapes than these to validate with say little."""


def plan_findings(board: Board) -> Iterator[TableFinding]:
    """What is unplanned, missing, mixed, or not held out; and what nobody knows of the clock."""
    yield from _presets(board)
    yield from _unplanned(board)
    yield from _missing(board)
    yield from _unmeasured(board)
    yield from _mixed_shapes(board)
    yield from _held_out(board)
    yield from _clock(board)


def _presets(board: Board) -> Iterator[TableFinding]:
    """Experiments that start from another device than the setup says: their guesses are others."""
    others = [name for name, one in board.experiments.items() if one.scenario.preset_device != board.guesses]
    if others:
        preset = board.experiments[others[0]].scenario.preset
        text = (
            f"the setup starts from {board.setup.preset}, {len(others):,} experiments from another device:"
            f" {others[0]} from {preset}; wanted one preset for all"
        )
        yield TableFinding("error", "preset", board.setup_place("preset"), text, len(others))


def _unplanned(board: Board) -> Iterator[TableFinding]:
    known = tuple(board.experiments)
    seen: set[str] = set()
    for group in board.groups:
        if group.experiment in board.experiments or group.experiment in seen:
            continue
        seen.add(group.experiment)
        wanted = f"wanted one of the {len(known):,} in {board.folder / EXPERIMENTS}"
        hint = nearest(group.experiment, known) or "; add its scenario there, or take out its lines"
        count = sum(row.experiment == group.experiment for row in board.table.observations)
        text = f"experiment {group.experiment} was not planned, {wanted}{hint}"
        yield TableFinding("error", "unplanned", group.place, text, count)


def _missing(board: Board) -> Iterator[TableFinding]:
    measured = set(board.table.experiments)
    missing = [name for name in board.experiments if name not in measured]
    if missing:
        text = f"{len(missing):,} of {len(board.experiments):,} experiments have no value: {named(missing)}"
        advice = "; what they were to determine keeps its guess"
        yield TableFinding("warning", "missing", board.table_place, text + advice, len(missing))


def _unmeasured(board: Board) -> Iterator[TableFinding]:
    if len(board.unmeasured) > 0:
        lines = ", ".join(str(place.line) for place in board.unmeasured[:3])
        more = " and more" if len(board.unmeasured) > 3 else ""
        text = f"{count_of(len(board.unmeasured), 'line')} without a value, {lines}{more}: not measured, and not fitted"
        yield TableFinding("warning", "missing", board.unmeasured[0], text, len(board.unmeasured))


def _mixed_shapes(board: Board) -> Iterator[TableFinding]:
    """A shape that is fitted and held out at once: validation would then ask for what the fit has seen."""
    splits: dict[str, dict[str, str]] = {}
    for row in board.table.observations:
        if row.experiment in board.experiments:
            splits.setdefault(board.experiments[row.experiment].shape, {}).setdefault(row.split, row.experiment)
    for row in board.table.observations:
        experiment = board.experiments.get(row.experiment)
        found = splits.get(experiment.shape, {}) if experiment else {}
        if len(found) > 1 and row.split == VALIDATE and found[VALIDATE] == row.experiment:
            text = f"{row.experiment} is held out, {found[FIT]} of the same shape is fitted"
            place = row.place or board.table_place
            yield TableFinding("error", "mixed_shape", place, f"{text}; give all grids of a shape one split")
            del splits[experiment.shape]  # pyright: ignore[reportOptionalMemberAccess]


def _held_out(board: Board) -> Iterator[TableFinding]:
    names = [name for name in board.table.part(VALIDATE).experiments if name in board.experiments]
    shapes = {board.experiments[name].shape for name in names}
    if len(shapes) < HELD_OUT:
        text = f"{len(shapes)} shapes are held out, wanted {HELD_OUT} or more: write validate in the column split"
        yield TableFinding(
            "warning", "held_out", board.table_place, f"{text} of some; nothing else judges a fit", len(shapes)
        )
    if not board.table.part(FIT).observations:
        yield TableFinding("error", "held_out", board.groups[0].place, "every line is held out: nothing is left to fit")


def _clock(board: Board) -> Iterator[TableFinding]:
    timed = [group for group in board.groups if group.rows[0].unit != TICKS]
    if board.setup.clock_source == "assumed" and timed:
        text = (
            f"the clock of {board.setup.clock_mhz:,} MHz is only assumed, and {len(timed):,} measurements are times:"
            " no parameter in ticks follows from them, but for ratios; measure the clock, or count ticks"
        )
        yield TableFinding("warning", "clock", board.setup_place("clock_source"), text, len(timed))


def order_findings(board: Board) -> Iterator[TableFinding]:
    """Observables of one experiment that are shorter than a part of them."""
    least = {(group.experiment, group.observable): group for group in board.groups}
    order = list(OBSERVABLES)
    for (name, observable), group in least.items():
        for inner in order[: order.index(observable)]:
            part = least.get((name, inner))
            if part and part.rows[0].unit == group.rows[0].unit and max(group.values) < min(part.values):
                got = f"{name}: {observable} is {max(group.values):,g} {group.rows[0].unit} at most"
                text = f"{got}, {inner} alone is {min(part.values):,g} in line {part.place.line}"
                advice = f"{observable} holds {inner}: are the columns mixed up?"
                yield TableFinding("error", "order", group.place, f"{text}; {advice}", len(group.rows))
