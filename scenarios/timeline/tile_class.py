"""Tile classes: which boundary tiles a band touches."""

from collections.abc import Iterator, Sequence

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.sim.transfer.descriptor import Descriptor

AXES = "CDHW"


def tile_class(geometry: PacketGeometry, reads: Sequence[Descriptor], chain: Sequence[Descriptor]) -> str:
    """The class of a band with these reads and this drain: "full", or the axes along which a tile of it is partial.

    As "edge HW". The first and the last of its descriptors on the tiled side decide.
    """
    first, last = tiled_ends(geometry, reads, chain)
    edges = {edge for offset in (first, last) for edge in _edges(geometry, offset)}
    return f"edge {''.join(sorted(edges))}" if edges else "full"


def tiled_ends(geometry: PacketGeometry, reads: Sequence[Descriptor], chain: Sequence[Descriptor]) -> tuple[int, int]:
    """Offsets in the tiled bytes of the first and the last descriptor on that side."""
    base = geometry.output_address if geometry.packs else geometry.input_address
    ends = (chain or reads) if geometry.packs else (reads or chain)
    return ends[0].address - base, ends[-1].address - base


def _edges(geometry: PacketGeometry, offset: int) -> Iterator[str]:
    number = geometry.tile_number(offset)
    for name, axis in zip(reversed(AXES), reversed(geometry.axes), strict=True):
        number, position = divmod(number, axis.tiles)
        if axis.tiles > 1 and (position + 1) * axis.tile > axis.extent:
            yield name
