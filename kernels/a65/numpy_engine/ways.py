"""Ways: by which steps a plan is converted, decided by shape alone.

Theory. A user of numpy transposes a region of tiles and casts the result. What can be gained over that is calls, passes
and caches; so there are two ways:

- bytes that only move, few words, and words of few channels are copied from one side to the other, byte by byte where
  they are words (`copies`); that needs no floating-point environment;
- all others go through scratch, as large a box of the tensor at once as the caches hold (`relay`).
"""

from collections.abc import Callable, Sequence
from math import prod

from tessbed.kernels.a65.blocks import axes_of, blocks_of
from tessbed.kernels.a65.fp_environment import keeps_environment
from tessbed.kernels.a65.numpy_engine.choice import relay_of
from tessbed.kernels.a65.numpy_engine.copies import FEW_CHANNELS, byte_steps, straight_steps
from tessbed.kernels.a65.numpy_engine.steps import Step
from tessbed.kernels.a65.numpy_engine.values import Conversion
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan

SMALL_SCALARS, SMALL_BLOCK_SCALARS = 1024, 1 << 13
"""Words of a plan up to which they move byte by byte: of any, and of one with a single block."""
LANES = 6
"""Channels from which words are taken apart by casts, where rows on the linear side are long."""
TURNED_SCALARS = 1 << 13
"""Bytes of a plan from which they are turned in scratch where rows are short."""

Rows = Callable[[Plan], Sequence[Step]]
"""The steps of a plan."""


def values(change: Conversion) -> Rows:
    """The rows of a conversion of values between tiled and linear scalars."""
    return lambda plan: (relay_of(plan, change),)


def copy_rows(plan: Plan) -> Sequence[Step]:
    """INT8 as it is: straight, or turned in scratch."""
    if prod(plan.shape) > TURNED_SCALARS and keeps_environment():
        relay = relay_of(plan, None)
        if relay.turned or (plan.packs and relay.collides):
            return (relay,)
    return [step for block in blocks_of(plan, axes_of(plan)[1]) for step in straight_steps(plan, block)]


def word_rows(word: int) -> Rows:
    """BF16 on the tiled side, its two bytes at `word` of the linear scalar: as words, or by bytes."""

    def rows(plan: Plan) -> Sequence[Step]:
        if not _is_small(plan) and keeps_environment():
            relay = relay_of(plan, None)
            lanes = LANES if relay.near and not relay.scattered else FEW_CHANNELS
            if (relay.turned and not plan.packs) or plan.classes[0].extents[0] >= lanes:
                return (relay,)
        return [step for block in blocks_of(plan, axes_of(plan)[1]) for step in byte_steps(plan, block, word)]

    return rows


def _is_small(plan: Plan) -> bool:
    """Whether words take fewer calls than their environment does."""
    padded = plan.packs and plan.classes[0].stored_channels > plan.classes[0].extents[0]
    blocks = len(plan.classes) * (2 if plan.tile_format is TileFormat.CBLOCKED else 1)
    most = SMALL_BLOCK_SCALARS // blocks // (4 if padded else 1)
    return prod(plan.shape) <= max(SMALL_SCALARS, most)
