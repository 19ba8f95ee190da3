"""Choice: how a plan is relayed, by its shape alone.

Theory. Scattered channels are turned in scratch where that costs less than single bytes between tiles and rows; `turns`
says what both cost. Rows are as long as scalars follow each other on the linear side.
"""

from collections.abc import Sequence
from math import prod

from tessbed.kernels.a65.blocks import Ints, axes_of
from tessbed.kernels.a65.numpy_engine.boxes import WHOLE, boxes_of
from tessbed.kernels.a65.numpy_engine.copies import FEW_CHANNELS
from tessbed.kernels.a65.numpy_engine.layout import FEW_TILES
from tessbed.kernels.a65.numpy_engine.relay import Relay
from tessbed.kernels.a65.numpy_engine.steps import PIECE_SCALARS, StridedView
from tessbed.kernels.a65.numpy_engine.turns import BOX_PS, JOIN_PS, columns_ps, contiguous_ps, scattered_ps
from tessbed.kernels.a65.numpy_engine.values import SCALARS, Conversion
from tessbed.kernels.plan import Plan

KEPT_BOXES = 16
"""Of a tensor that has more, boxes are found again in each call."""


def relay_of(plan: Plan, change: Conversion | None) -> Relay:
    """The relay of a plan; without a change, words are taken apart or joined, and bytes are as they are."""
    extents, strides = axes_of(plan)
    order = sorted([axis for axis, extent in enumerate(extents) if extent > 1], key=strides.__getitem__, reverse=True)
    channel, width, scalars = len(plan.outer), plan.linear_dtype.width, prod(extents)
    run = _run_of(extents, strides, order)
    shape, steps = tuple([extents[axis] for axis in order]), tuple([strides[axis] for axis in order])
    contiguous, turned, columns = steps[-1:] in ((), (width,)), False, False
    if channel in order[:-1]:
        inner = prod([extents[axis] for axis in order[order.index(channel) + 1 :]])
        row = inner if change else min(run, inner)
        turned, columns = _turns(plan, change, _row_of(plan, order[::-1]), row, contiguous)
    if run == scalars <= PIECE_SCALARS and contiguous and channel not in order[:-1]:
        shape, steps = (scalars,), (width,)
    linear = StridedView(SCALARS[width], shape, 0, steps)
    kept = WHOLE if scalars <= PIECE_SCALARS else ()
    if PIECE_SCALARS < scalars <= KEPT_BOXES * PIECE_SCALARS:
        kept = tuple(boxes_of(plan, extents, tuple(order), scalars))
    return Relay(plan, change, extents, tuple(order), linear, scalars, turned, run, columns, kept)


def _run_of(extents: Ints, strides: Ints, order: Sequence[int]) -> int:
    """Scalars that follow each other on the linear side, at even steps."""
    run, step = 1, strides[order[-1]] if order else 0
    for axis in reversed(order):
        if strides[axis] != run * step:
            break
        run *= extents[axis]
    return run


def _row_of(plan: Plan, axes: Sequence[int]) -> int:
    """Pixels of a tile that follow each other on both sides; these are the axes of the linear one, innermost first."""
    tile, outer, row = plan.classes[0].extents, len(plan.outer), 1
    stored = [axis for axis in (3, 2, 1) if tile[axis] > 1]
    for at, axis in enumerate([axis - outer for axis in axes]):
        if axis < 1:
            break
        if tile[axis] == 1:
            return row * plan.axes[axis].extent  # a pixel of each tile, at even steps
        row *= tile[axis]
        if stored[at : at + 1] != [axis] or tile[axis] < plan.axes[axis].extent:
            break
    return row


def _turns(plan: Plan, change: Conversion | None, tile_row: int, row: int, contiguous: bool) -> tuple[bool, bool]:
    """Whether scattered channels are turned in scratch, and whether in columns.

    Words that are packed are turned. Others are where that is clearly cheaper than single bytes that move between
    tiles and rows, of which `tile_row` pixels follow each other on both sides; those of a turn are `row` long.
    """
    width, channels, scalars = plan.tiled_dtype.width, plan.c.extent, prod(plan.shape)
    if plan.packs:
        return width > 1, False
    pixel, raised = plan.classes[0].extents[0], change is None and plan.linear_dtype.width > width
    dense = pixel if plan.c.parts[0][1] >= FEW_TILES else channels
    dense_bytes = min(scalars, PIECE_SCALARS) * dense // channels * width
    single = scattered_ps(scalars, row, dense_bytes)
    in_columns = columns_ps(scalars, dense, row, width, dense_bytes)
    columns = in_columns < single and (contiguous or raised or change is not None)
    merged = width == 1 and plan.classes[0].stored_channels == pixel == dense
    moved = width * contiguous_ps(scalars, pixel * (plan.classes[0].extents[3] if merged else 1))
    if change is None and (width == 1 or channels < FEW_CHANNELS):
        moved += BOX_PS + (scalars * JOIN_PS if width > 1 else 0)
    moved += in_columns if columns else single
    return moved * 6 < width * scattered_ps(scalars, tile_row, scalars * width) * 5, columns
