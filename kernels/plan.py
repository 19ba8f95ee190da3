"""Plans: what an admitted request comes down to, of fixed size whatever the tensor.

A tiled side is a grid of tiles over four mapped axes,
repeated over the outer (unmapped) axes. Along each mapped axis
the tiles are full but for at most one boundary tile, so the grid falls into at most 2**4 = 16 classes of equal tiles.
Tiles are stored in C, D, H, W order (W fastest), so inside a class a tile's offset is affine in its four indices:
one base and four steps describe every tile of the class, on the tiled and on the linear side.
Source: Detess document, "Numerical behavior"; DetessCast document, "Contract".
"""

from itertools import product

import attrs

from tessbed.kernels.dtypes import DType
from tessbed.kernels.operations import Operation, TileFormat

LIMIT_BYTES = 2**63 - 1
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
    """An admitted request: frozen, owning, of fixed size; shared freely between threads and backends.

    A changed copy (`attrs.evolve`) is not `admitted`: `plan_check` proves it when it is prepared or encoded.

    `parameters` are those of the conversion, as (packet field, whole number) in the order of the operation's row.
    """

    op: Operation
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
    parameters: tuple[tuple[str, int], ...] = ()
    admitted: bool = attrs.field(default=False, init=False, eq=False, repr=False)

    @property
    def packs(self) -> bool:
        """Whether the tiled side is the output."""
        return self.op.packs

    @property
    def tiled(self) -> PortPlan:
        """The port whose storage is tiled."""
        return self.output if self.op.packs else self.input

    @property
    def linear(self) -> PortPlan:
        """The other port."""
        return self.input if self.op.packs else self.output

    @property
    def conversion(self) -> str:
        """The name of what happens to a scalar; ContractError where the operation's row has none for these types."""
        return self.op.conversion(self.tiled_dtype, self.linear_dtype)

    @property
    def empty(self) -> bool:
        """True where an extent is 0: no storage, no device submission."""
        return 0 in self.shape

    @property
    def axes(self) -> tuple[MappedAxis, MappedAxis, MappedAxis, MappedAxis]:
        """The mapped axes in C, D, H, W order."""
        return self.c, self.d, self.h, self.w


def mark_admitted(plan: Plan) -> Plan:
    """Marks `plan` as one that admission has made, or that was proved to be as good."""
    object.__setattr__(plan, "admitted", True)
    return plan


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
