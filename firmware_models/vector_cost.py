"""Vector cost: compute ticks of one band by its path through the tile format, from counts only, never from data.

A run is a stretch of scalars that is contiguous on the linear side: whole rows where pixels are dense and their planes
need no separate handling, else one pixel's channels. Scattered channels cost a scalar step each.
Source: docs/simulation.md, "Compute".
"""

from collections.abc import Sequence

import attrs

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.kernels.conversions import look_up
from tessbed.sim.spec.device_spec import DeviceSpec

WIDE_ROWS = 3
"""Compact BF16 pixels of up to this many channels are handled across pixels, a row at a time."""


@attrs.frozen
class VectorPaths:
    """The vector paths of a conversion, as fields of `compute.vector_ticks`: for pixel-major tiles, for channel blocks
    (the same where empty), and for compact pixels of one channel, which both sides store alike (the same where empty).
    One that `calculates` makes new values, which costs the path also where another one stores them.
    """

    pixels: str
    blocks: str = ""
    lone: str = ""
    calculates: bool = False


PATHS: dict[str, VectorPaths] = {
    "copy": VectorPaths("copy"),
    "split": VectorPaths("split", lone="copy"),
    "join": VectorPaths("join", blocks="cblock_join", lone="copy"),
    "widen": VectorPaths("widen", blocks="cblock_widen"),
    "narrow": VectorPaths("narrow", calculates=True),
    "quantize": VectorPaths("quantize", calculates=True),
    "dequantize": VectorPaths("dequantize", blocks="cblock_dequantize", calculates=True),
}


def vector_path(geometry: PacketGeometry, channels: int) -> str:
    """The name of the vector path for tiles of `channels` channels; ContractError where the conversion has no cost."""
    paths = look_up(PATHS, geometry.conversion, "the table of the firmware's vector costs")
    if geometry.tile_format == "cblocked":
        return paths.blocks or paths.pixels
    lone = channels == 1 and geometry.tile_format == "compact"
    return paths.lone or paths.pixels if lone else paths.pixels


def values_ticks(geometry: PacketGeometry, spec: DeviceSpec, channels: int, packed_bytes: int) -> int:
    """Ticks of making the values of `packed_bytes` alone; 0 for a conversion that only moves bytes."""
    if not PATHS[geometry.conversion].calculates:
        return 0
    ticks = getattr(spec.compute.vector_ticks, vector_path(geometry, channels))
    return -(-packed_bytes // spec.compute.vector_bytes) * ticks


def box_ticks(geometry: PacketGeometry, spec: DeviceSpec, extents: Sequence[int], packed_bytes: int) -> tuple[int, int]:
    """(ticks, scattered scalars) to pack a (c, d, h, w) box that becomes `packed_bytes` in the slot."""
    channels, depth, height, width = extents
    c_axis, _, _, w_axis = geometry.axes
    pixels = depth * height * width
    if channels > 1 and c_axis.stride != geometry.linear_scalar_bytes:
        return pixels * channels * spec.compute.scalar_ticks, pixels * channels
    dense = w_axis.stride == channels * geometry.linear_scalar_bytes or width == 1
    whole_rows = geometry.tile_format == "compact" and (geometry.scalar_bytes == 1 or channels <= WIDE_ROWS)
    runs = depth * height if dense and whole_rows else pixels
    ticks = getattr(spec.compute.vector_ticks, vector_path(geometry, channels))
    vectors = -(-packed_bytes // (runs * spec.compute.vector_bytes))
    return runs * (spec.compute.run_ticks + vectors * ticks), 0
