"""Joined moves: equal moves at equal distances become one move with an axis more, so that a band of many tiles is one.

Steps run one after the other, and one move for several of them reads everything before, or while, it writes. That is
the same where no move reads what another of them writes, and no byte is written twice: the sources as a whole are apart
from the targets as a whole, and each stride of the targets steps over all that lies within it. Gathered bytes and slots
are different areas of the scratch, and a slot has each byte once, so moves of equal tiles are joined; moves for which
that is not certain never are.
"""

from collections.abc import Sequence

import attrs

from tessbed.firmware_models.vector_ops import PackStep, VectorMove


def join_moves(steps: Sequence[PackStep]) -> Sequence[PackStep]:
    """The same steps, those joined that may be: along one axis, then those that this made equal along the next."""
    while len(steps) > 1:
        fewer = _joined_once(steps)
        if len(fewer) == len(steps):
            break
        steps = fewer
    return steps


def _joined_once(steps: Sequence[PackStep]) -> list[PackStep]:
    done: list[PackStep] = []
    run: list[VectorMove] = []
    for step in steps:
        if isinstance(step, VectorMove) and _continues(run, step):
            run.append(step)
            continue
        done += _ended(run)
        run = [step] if isinstance(step, VectorMove) else []
        if not run:
            done.append(step)
    return [*done, *_ended(run)]


def _continues(run: Sequence[VectorMove], move: VectorMove) -> bool:
    """Whether a move is the last of the run, as far ahead as that is of the one before."""
    if not run or not _alike(run[-1], move):
        return False
    ahead = _ahead(run[-1], move)
    return min(ahead) > 0 if len(run) == 1 else ahead == _ahead(run[0], run[1])


def _alike(one: VectorMove, other: VectorMove) -> bool:
    """Whether two moves differ by nothing but where they are."""
    if one.shape != other.shape or one.source_strides != other.source_strides:
        return False
    same = one.target_strides == other.target_strides and one.target_lanes == other.target_lanes
    by = other.source_lanes[0] - one.source_lanes[0]
    lanes = tuple(lane + by for lane in one.source_lanes) == other.source_lanes
    return same and lanes and (one.conversion, one.parameters) == (other.conversion, other.parameters)


def _ahead(one: VectorMove, other: VectorMove) -> tuple[int, int]:
    """How far the other is ahead, at its source and at its target."""
    source = other.source + other.source_lanes[0] - one.source - one.source_lanes[0]
    return source, other.target - one.target


def _ended(run: Sequence[VectorMove]) -> Sequence[VectorMove]:
    """The run as one move where that is the same."""
    if len(run) < 2:
        return run
    first, (source, target) = run[0], _ahead(run[0], run[1])
    shape = (len(run), *first.shape)
    strides = (source, *first.source_strides), (target, *first.target_strides)
    move = attrs.evolve(first, shape=shape, source_strides=strides[0], target_strides=strides[1])
    return [move] if _apart(move) and _writes_once(move) else run


def _apart(move: VectorMove) -> bool:
    """Whether what is read lies before or behind what is written."""
    [(low, end)], [(start, high)] = move.spans()
    return end <= start or high <= low


def _writes_once(move: VectorMove) -> bool:
    """Whether each stride of the target steps over all that lies within it."""
    reach = max(move.target_lanes) - min(move.target_lanes) + 1
    for stride, extent in sorted(zip(move.target_strides, move.shape, strict=True)):
        if extent > 1 and stride < reach:
            return False
        reach += (extent - 1) * stride
    return True
