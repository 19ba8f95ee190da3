"""Row path: chooses how a plan's rows are walked and converted, by channels, traversal and batched tiles.

The channel-only traversal is chosen for one outer slice, unit spatial extents and contiguous channels; its full
tiles travel in one conversion when there are two or more of them without alignment gaps, and the final tile always
travels apart. Source: DetessCast document, "Implementation notes".
"""

from enum import Enum

import attrs

from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan
from tessbed.kernels.tiling import TileClass


class Channels(Enum):
    """How the channels of a pixel lie on the linear side."""

    CONTIGUOUS = "contiguous"
    SCATTERED = "scattered"


class Traversal(Enum):
    """How the tiles are walked."""

    EMPTY = "empty"
    CHANNEL_ONLY = "channel_only"
    GENERAL = "general"


@attrs.frozen
class RowPath:
    """`batched_tiles` full channel tiles travel in one conversion; 0 where every tile travels alone."""

    conversion: str
    channels: Channels
    traversal: Traversal
    batched_tiles: int = 0


def choose(plan: Plan) -> RowPath:
    """The row path of `plan`."""
    contiguous = plan.c.stride_bytes == plan.linear_dtype.width or plan.c.extent == 1
    channels = Channels.CONTIGUOUS if contiguous else Channels.SCATTERED
    traversal = _traversal(plan, channels)
    batched = _batched_tiles(plan) if traversal is Traversal.CHANNEL_ONLY else 0
    return RowPath(plan.conversion, channels, traversal, batched)


def _traversal(plan: Plan, channels: Channels) -> Traversal:
    if plan.empty:
        return Traversal.EMPTY
    one_pixel = all(axis.extent == 1 for axis in (*plan.outer, plan.d, plan.h, plan.w))
    if one_pixel and channels is Channels.CONTIGUOUS and plan.tile_format is not TileFormat.CBLOCKED:
        return Traversal.CHANNEL_ONLY
    return Traversal.GENERAL


def _batched_tiles(plan: Plan) -> int:
    before_final = -(-plan.c.extent // plan.c.tile) - 1
    first = plan.classes[0]
    gapless = first.span_bytes == first.stored_channels * plan.tiled_dtype.width
    return before_final if before_final >= 2 and gapless else 0


def row_classes(plan: Plan, path: RowPath) -> tuple[TileClass, ...]:
    """The plan's classes, with the final tile of a batch in a class of its own."""
    if not path.batched_tiles or plan.c.extent % plan.c.tile:
        return plan.classes
    tiles = plan.classes[0]
    batch = attrs.evolve(tiles, counts=(path.batched_tiles, 1, 1, 1))
    final = attrs.evolve(
        tiles,
        counts=(1, 1, 1, 1),
        tiled_offset=path.batched_tiles * tiles.tiled_steps[0],
        linear_offset=path.batched_tiles * tiles.linear_steps[0],
    )
    return batch, final
