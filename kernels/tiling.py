"""Tiling: the grid of tiles over the mapped axes, and its classes of equal tiles.

Along each mapped axis the tiles are full but for at most one boundary tile, so the grid falls into at most 2**4 = 16
classes. Tiles are stored in C, D, H, W order (W fastest), so inside a class a tile's offset is affine in its four
indices: one base and four steps describe every tile of the class, on the tiled and on the linear side.
Source: Detess document, "Numerical behavior"; DetessCast document, "Contract".
"""

from itertools import product

import attrs

from tessbed.kernels.operations import TileFormat

TILE_ALIGNMENT_BYTES = 16


CHANNEL_BLOCK = 16


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


def stored_channels(tile_format: TileFormat, channels: int) -> int:
    """Channels that a pixel of `channels` logical channels stores."""
    return channels if tile_format is TileFormat.COMPACT else round_up(channels, CHANNEL_BLOCK)


def round_up(value: int, step: int) -> int:
    """The smallest multiple of `step` that is at least `value`."""
    return -(-value // step) * step


@attrs.frozen
class Grid:
    """The tiles over the mapped axes: each axis's parts, and the bytes of tiles that share parts.

    `sizes` is keyed by indices of parts in C, D, H, W order: four indices give the span of one tile, fewer give the
    bytes of all tiles with those first parts, none the whole volume. At most 31 entries, whatever the tensor.
    """

    axes: tuple[MappedAxis, ...]
    parts: tuple[tuple[tuple[int, int, int], ...], ...]
    sizes: dict[tuple[int, ...], int]

    @property
    def volume_bytes(self) -> int:
        """Bytes of all the tiles of one outer slice."""
        return self.sizes.get((), 0)


def tile_grid(tile_format: TileFormat, width_bytes: int, axes: tuple[MappedAxis, ...]) -> Grid:
    """The grid over `axes` (C, D, H, W)."""
    parts = tuple(axis.parts for axis in axes)
    layer: dict[tuple[int, ...], int] = {}
    for where in product(*(range(len(part)) for part in parts)):
        c, d, h, w = (part[at][2] for part, at in zip(parts, where, strict=True))
        payload = d * h * w * stored_channels(tile_format, c) * width_bytes
        layer[where] = round_up(payload, TILE_ALIGNMENT_BYTES)
    sizes = dict(layer)
    for part in reversed(parts):
        layer = _summed(layer, part)
        sizes.update(layer)
    return Grid(axes, parts, sizes)


def _summed(layer: dict[tuple[int, ...], int], part: tuple[tuple[int, int, int], ...]) -> dict[tuple[int, ...], int]:
    """One index less: the sum over every tile along the last axis."""
    outer: dict[tuple[int, ...], int] = {}
    for where, size in layer.items():
        outer[where[:-1]] = outer.get(where[:-1], 0) + part[where[-1]][1] * size
    return outer


def tile_classes(tile_format: TileFormat, grid: Grid) -> tuple[TileClass, ...]:
    """The at most 16 classes of `grid`, in storage order of their first tiles."""
    linear_steps = tuple(axis.tile * axis.stride_bytes for axis in grid.axes)
    return tuple(_tile_class(tile_format, grid, where, linear_steps) for where in grid.sizes if len(where) == 4)


def _tile_class(
    tile_format: TileFormat, grid: Grid, where: tuple[int, ...], linear_steps: tuple[int, ...]
) -> TileClass:
    """The class whose tiles lie in the parts `where`: behind all full tiles of each axis where it is the boundary."""
    sizes = grid.sizes
    tiled_offset = linear_offset = 0
    counts, extents, steps = [], [], []
    for level, at in enumerate(where):
        first, count, extent = grid.parts[level][at]
        if at:
            tiled_offset += grid.parts[level][0][1] * sizes[(*where[:level], 0)]
            linear_offset += first * grid.axes[level].stride_bytes
        counts.append(count)
        extents.append(extent)
        steps.append(sizes[where[: level + 1]])
    return TileClass(
        counts=tuple(counts),
        extents=tuple(extents),
        tiled_offset=tiled_offset,
        tiled_steps=tuple(steps),
        linear_offset=linear_offset,
        linear_steps=linear_steps,
        stored_channels=stored_channels(tile_format, extents[0]),
        span_bytes=steps[-1],
    )
