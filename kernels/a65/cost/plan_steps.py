"""Plan steps: everything that a call does for a plan, as counts of steps: rows, and the loops around them."""

from collections import Counter
from math import prod

from tessbed.kernels.a65.cost.features import Steps, convert_steps, row_steps
from tessbed.kernels.a65.cost.nests import ChannelPart, Nest, spatial_classes
from tessbed.kernels.a65.row_path import RowPath
from tessbed.kernels.plan import Plan

LOOPS = "loops"
"""The function of the steps around rows: all of `_execute.h`."""


def plan_steps(plan: Plan, path: RowPath) -> Steps:
    """The steps of a call, none for an empty tensor. ContractError for a conversion that the tables lack."""
    steps: Steps = Counter()
    if plan.empty:
        return steps
    steps[LOOPS, "call"] = 1
    for spatial in spatial_classes(plan, path):
        steps[LOOPS, "class"] += 1
        steps[LOOPS, "tile loop"] += spatial.steps
        for part in spatial.parts:
            _part(steps, part)
    return steps


def _part(steps: Steps, part: ChannelPart) -> None:
    steps[LOOPS, "part"] += 1
    steps[LOOPS, "part of a tile"] += part.visits
    steps[LOOPS, "alignment"] += part.gaps
    for nest in part.nests:
        _nest(steps, nest)


def _nest(steps: Steps, nest: Nest) -> None:
    row, counts = nest.row, [loop[0] for loop in nest.loops]
    steps[LOOPS, "nest"] += 1
    for prepared in (row, *row.lanes):
        if prepared.group:
            steps[LOOPS, "shuffle table"] += 1
            steps[LOOPS, "pixel of a shuffle table"] += prepared.group
        if prepared.mover.endswith("_streams"):
            steps[LOOPS, "stream table"] += 1
            steps[LOOPS, "channel of a stream table"] += prepared.channels
        steps[LOOPS, "padding table"] += prepared.stored != prepared.channels
    steps[LOOPS, "stage"] += row.stage is not None
    steps[LOOPS, "nest of a tile"] += nest.visits
    steps[LOOPS, "loop around rows"] += nest.visits * sum(prod(counts[: depth + 1]) for depth in range(len(counts) - 2))
    if row.stage and row.stage.shape == "direct" and len(counts) > 1:
        groups = nest.visits * prod(counts[:-2])
        steps[LOOPS, "rows converted at once"] += groups
        convert_steps(steps, row.stage.converter, counts[-2], nest.pixels * row.stage.lanes[1], groups)
        return
    steps[LOOPS, "row"] += nest.rows * (row.mover != "same")
    steps["same", "row"] += nest.rows * (row.mover == "same")
    _rows(steps, nest)


def _rows(steps: Steps, nest: Nest) -> None:
    """All rows but the last are far from the ends of the storage."""
    for key, count in row_steps(nest.row, nest.pixels).items():
        steps[key] += count * (nest.rows - 1)
    for key, count in row_steps(nest.row, nest.pixels, nest.linear_room, nest.tiled_room).items():
        steps[key] += count
