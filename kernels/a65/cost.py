"""The A65's modelled duration, in ticks of the EV74's clock, so that one scenario can compare both backends.

    ticks = call + tiles * tile + runs * run + ceil(bytes * ticks per KiB / 1024)

A run is the channels of one pixel in one tile where they are contiguous, else one scalar. Where pixels lie densely side
by side, a row of INT8 pixels, or of pixels with up to 3 channels, is one run. Bytes are those of the wider side. Tiles
that travel in one conversion count once. Every cost is a guess, for a core near 1.4 GHz against ticks of 1 ns; none was
measured on silicon. The data's moves are real, their duration on this machine is not used.
"""

from math import prod

from tessbed.kernels.a65.row_path import Channels, RowPath, Traversal
from tessbed.kernels.conversions import look_up
from tessbed.kernels.plan import Plan

CALL_TICKS = 1500
TILE_TICKS = 40
NARROW_CHANNELS = 3
RUN_TICKS = {Channels.CONTIGUOUS: 3, Channels.SCATTERED: 2}
KIB_TICKS: dict[str, int] = {
    "copy": 128,
    "split": 256,
    "join": 256,
    "widen": 192,
    "narrow": 192,
    "quantize": 256,
    "dequantize": 320,
}
"""What 1024 bytes of each conversion cost."""


def modelled_ticks(plan: Plan, path: RowPath) -> int:
    """The duration of one checked call in ticks; 0 for an empty tensor. ContractError for a conversion without cost."""
    if plan.empty:
        return 0
    scalars = prod(plan.shape)
    tiles = _slices(plan) * sum(prod(entry.counts) for entry in plan.classes)
    if path.traversal is Traversal.CHANNEL_ONLY and path.batched_tiles:
        tiles -= path.batched_tiles - 1
    runs = scalars if path.channels is Channels.SCATTERED else _contiguous_runs(plan, path)
    moved = scalars * max(plan.tiled_dtype.width, plan.linear_dtype.width)
    per_kib = look_up(KIB_TICKS, path.conversion, "the table of the A65's costs")
    return CALL_TICKS + tiles * TILE_TICKS + runs * RUN_TICKS[path.channels] + -(-moved * per_kib // 1024)


def _slices(plan: Plan) -> int:
    return prod(axis.extent for axis in plan.outer)


def _contiguous_runs(plan: Plan, path: RowPath) -> int:
    whole = plan.c.tile == plan.c.extent
    dense = whole and plan.w.stride_bytes == plan.c.extent * plan.linear_dtype.width
    rows = dense and (plan.tiled_dtype.width == 1 or plan.c.extent <= NARROW_CHANNELS)
    along_w = -(-plan.w.extent // plan.w.tile) if rows else plan.w.extent
    return _slices(plan) * plan.d.extent * plan.h.extent * along_w * -(-plan.c.extent // plan.c.tile)
