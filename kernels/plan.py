"""Plans: what an admitted request comes down to, of fixed size whatever the tensor.

A tiled side is a grid of tiles over four mapped axes,
repeated over the outer (unmapped) axes. Along each mapped axis
the tiles are full but for at most one boundary tile, so the grid falls into at most 2**4 = 16 classes of equal tiles.
Tiles are stored in C, D, H, W order (W fastest), so inside a class a tile's offset is affine in its four indices:
one base and four steps describe every tile of the class, on the tiled and on the linear side.
Source: Detess document, "Numerical behavior"; DetessCast document, "Contract".
"""

from enum import Enum
from itertools import product

import attrs

from tessbed.kernels.dtypes import DType

LIMIT_BYTES = 2**63 - 1
TILE_ALIGNMENT_BYTES = 16
CHANNEL_BLOCK = 16


class Op(Enum):
    """The operations, by the name that scenarios, packets and messages use."""

    TESS = "tess"
    DETESS = "detess"
    DETESSCAST = "detesscast"


class TileFormat(Enum):
    """How a tile stores its pixels."""

    COMPACT = "compact"
    PAD16 = "pad16"
    CBLOCKED = "cblocked"


@attrs.frozen
class MappedAxis:
    """One of C, D, H, W: its extent and tile extent in elements, its linear stride in bytes."""

    extent: int
    tile: int
    stride_bytes: int

    @property
    def parts(self) -> tuple[tuple[int, int, int], ...]:
        """(first element, number of tiles, tile extent) of the full tiles and of the boundary tile, where present."""
        full, rest = divmod(self.extent, self.tile)
        parts = ((0, full, self.tile), (full * self.tile, 1 if rest else 0, rest))
        return tuple(part for part in parts if part[1])


@attrs.frozen
class OuterAxis:
    """An unmapped axis: extent in elements, stride in bytes on each side."""

    extent: int
    linear_stride_bytes: int
    tiled_stride_bytes: int


@attrs.frozen
class TileClass:
    """All tiles of one shape. Tuples are in C, D, H, W order; `*_steps` are bytes between neighbouring tiles."""

    counts: tuple[int, ...]
    extents: tuple[int, ...]
    tiled_offset: int
    tiled_steps: tuple[int, ...]
    linear_offset: int
    linear_steps: tuple[int, ...]
    stored_channels: int
    span_bytes: int

    @property
    def pixels(self) -> int:
        """Pixels of one tile."""
        return self.extents[1] * self.extents[2] * self.extents[3]


@attrs.frozen
class PortPlan:
    """What the storage of one port must offer: bytes of the whole span (holes and padding included), alignment."""

    required_bytes: int
    alignment_bytes: int


@attrs.frozen
class Plan:
    """An admitted request: frozen, owning, of fixed size; shared freely between threads and backends."""

    op: Op
    shape: tuple[int, ...]
    tile_format: TileFormat
    tiled_dtype: DType
    linear_dtype: DType
    c: MappedAxis
    d: MappedAxis
    h: MappedAxis
    w: MappedAxis
    outer: tuple[OuterAxis, ...]
    classes: tuple[TileClass, ...]
    input: PortPlan
    output: PortPlan
    channel_fill: int = 0

    @property
    def empty(self) -> bool:
        """True where an extent is 0: no storage, no device submission."""
        return 0 in self.shape

    @property
    def axes(self) -> tuple[MappedAxis, MappedAxis, MappedAxis, MappedAxis]:
        """The mapped axes in C, D, H, W order."""
        return self.c, self.d, self.h, self.w


def stored_channels(tile_format: TileFormat, channels: int) -> int:
    """Channels that a pixel of `channels` logical channels stores."""
    return channels if tile_format is TileFormat.COMPACT else round_up(channels, CHANNEL_BLOCK)


def round_up(value: int, step: int) -> int:
    """The smallest multiple of `step` that is at least `value`."""
    return -(-value // step) * step


def tile_span_bytes(tile_format: TileFormat, width_bytes: int, extents: tuple[int, ...]) -> int:
    """Bytes of one tile of (c, d, h, w) elements, alignment to 16 included."""
    channels, *pixels = extents
    stored = stored_channels(tile_format, channels)
    return round_up(pixels[0] * pixels[1] * pixels[2] * stored * width_bytes, TILE_ALIGNMENT_BYTES)


def volume_bytes(tile_format: TileFormat, width_bytes: int, axes: tuple[MappedAxis, ...]) -> int:
    """Bytes of all the tiles of one outer slice."""
    return _span(tile_format, width_bytes, axes, ())


def _span(tile_format: TileFormat, width_bytes: int, axes: tuple[MappedAxis, ...], fixed: tuple[int, ...]) -> int:
    """Bytes of all tiles whose first extents are `fixed`, over every tile of the remaining axes."""
    if len(fixed) == len(axes):
        return tile_span_bytes(tile_format, width_bytes, fixed)
    return sum(
        count * _span(tile_format, width_bytes, axes, (*fixed, extent)) for _, count, extent in axes[len(fixed)].parts
    )


def tile_classes(tile_format: TileFormat, width_bytes: int, axes: tuple[MappedAxis, ...]) -> tuple[TileClass, ...]:
    """The at most 16 classes of the grid over `axes` (C, D, H, W), in storage order of their first tiles."""
    classes = []
    for parts in product(*(axis.parts for axis in axes)):
        extents = tuple(extent for _, _, extent in parts)
        steps = tuple(_span(tile_format, width_bytes, axes, extents[: level + 1]) for level in range(len(axes)))
        classes.append(
            TileClass(
                counts=tuple(count for _, count, _ in parts),
                extents=extents,
                tiled_offset=_class_offset(tile_format, width_bytes, axes, parts),
                tiled_steps=steps,
                linear_offset=sum(part[0] * axis.stride_bytes for part, axis in zip(parts, axes, strict=True)),
                linear_steps=tuple(axis.tile * axis.stride_bytes for axis in axes),
                stored_channels=stored_channels(tile_format, extents[0]),
                span_bytes=steps[-1],
            )
        )
    return tuple(sorted(classes, key=lambda entry: entry.tiled_offset))


def _class_offset(
    tile_format: TileFormat,
    width_bytes: int,
    axes: tuple[MappedAxis, ...],
    parts: tuple[tuple[int, int, int], ...],
) -> int:
    """Where the class's first tile starts: behind the full tiles of each axis on which it is the boundary."""
    offset = 0
    for level, (axis, (first, _, _)) in enumerate(zip(axes, parts, strict=True)):
        before = tuple(extent for _, _, extent in parts[:level])
        if first:
            offset += (first // axis.tile) * _span(tile_format, width_bytes, axes, (*before, axis.tile))
    return offset
