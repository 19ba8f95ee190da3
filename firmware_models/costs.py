"""Costs: compute ticks of one band, from counts only, never from data.

A run is a stretch of scalars that is contiguous on the linear side: whole rows where pixels are dense and their planes
need no separate handling, else one pixel's channels. Scattered channels cost a scalar step each.
Source: docs/simulation.md, "Compute".
"""

from collections.abc import Sequence

from tessbed.firmware_models.geometry import Geometry
from tessbed.sim.spec import DeviceSpec

WIDE_ROWS = 3
"""Compact BF16 pixels of up to this many channels are handled across pixels, a row at a time."""


def vector_path(geometry: Geometry, channels: int) -> str:
    """The name of the vector path (a field of `compute.vector_ticks`) for tiles of `channels` channels."""
    widen = geometry.linear_dtype == "fp32"
    if geometry.tile_format == "cblocked":
        return "cblock_widen" if widen else "cblock_join"
    if widen:
        return "widen"
    if geometry.tiled_dtype == "int8" or (channels == 1 and geometry.tile_format == "compact"):
        return "copy"
    return "split" if geometry.op == "tess" else "join"


def box_ticks(geometry: Geometry, spec: DeviceSpec, extents: Sequence[int], packed_bytes: int) -> tuple[int, int]:
    """(ticks, scattered scalars) to pack a (c, d, h, w) box that becomes `packed_bytes` in the slot."""
    channels, depth, height, width = extents
    c_axis, _, _, w_axis = geometry.axes
    pixels = depth * height * width
    if channels > 1 and c_axis.stride != geometry.linear_scalar_bytes:
        return pixels * channels * spec.compute.scalar_ticks, pixels * channels
    dense = w_axis.stride == channels * geometry.linear_scalar_bytes or width == 1
    whole_rows = geometry.tile_format == "compact" and (geometry.tiled_dtype == "int8" or channels <= WIDE_ROWS)
    runs = depth * height if dense and whole_rows else pixels
    ticks = getattr(spec.compute.vector_ticks, vector_path(geometry, channels))
    vectors = -(-packed_bytes // (runs * spec.compute.vector_bytes))
    return runs * (spec.compute.run_ticks + vectors * ticks), 0
