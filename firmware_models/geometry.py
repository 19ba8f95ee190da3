"""Geometry: where tiles and scalars lie, computed from the packet's fields alone.

Tiles are stored in C, D, H, W order (W fastest), one whole set of tiles for each index of the unmapped axes. Along an
axis all tiles are full but the last, so a tile's offset is a sum of four products: no table of tiles is needed.
Source: Detess document, "Numerical behavior"; DetessCast document, "Compiler channel-block input".
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple

import attrs

from tessbed.kernels.ev74.fields import TILE_FORMATS
from tessbed.kernels.ev74.rules import linear_dtype, operation_of, tiled_dtype

WIDTH_BYTES = {"int8": 1, "bf16": 2, "fp32": 4}
BLOCK = 16


@attrs.frozen
class TileAxis:
    """One mapped axis: elements, elements of a full tile, linear bytes between neighbours."""

    extent: int
    tile: int
    stride: int

    @property
    def tiles(self) -> int:
        """Number of tiles along the axis."""
        return -(-self.extent // self.tile)

    def segment(self, index: int) -> tuple[int, int]:
        """First element and the one behind the last of tile `index`."""
        return index * self.tile, min((index + 1) * self.tile, self.extent)


class Tile(NamedTuple):
    """One tile: its first elements and extents in C, D, H, W order, and where it is on both sides (bytes)."""

    first: tuple[int, ...]
    extents: tuple[int, ...]
    tiled_offset: int
    linear_offset: int

    @property
    def pixels(self) -> int:
        """Pixels of the tile."""
        return prod(self.extents[1:])


class TileRun(NamedTuple):
    """`times` equal tiles, of which `tile` is the first; each is `step` elements further along `axis` than the last."""

    tile: Tile
    times: int
    axis: int
    step: int
    tiled_step: int
    linear_step: int

    def behind(self, number: int) -> "TileRun":
        """The rest of the run, from tile `number` of it on."""
        first, extents, tiled, linear = self.tile
        first = (*first[: self.axis], first[self.axis] + number * self.step, *first[self.axis + 1 :])
        tile = Tile(first, extents, tiled + number * self.tiled_step, linear + number * self.linear_step)
        return self._replace(tile=tile, times=self.times - number)


@attrs.frozen(slots=False, cache_hash=True)
class PacketGeometry:
    """A job's geometry. `axes` is (C, D, H, W), `outer` the unmapped axes as (extent, linear stride).

    `packs` says that the tiled side is the output; `parameters` are those of the conversion, by packet field.
    """

    op: str
    packs: bool
    conversion: str
    parameters: tuple[tuple[str, int], ...]
    tile_format: str
    tiled_dtype: str
    linear_dtype: str
    fill: int
    axes: tuple[TileAxis, ...]
    outer: tuple[tuple[int, int], ...]
    input_address: int
    output_address: int
    input_bytes: int
    output_bytes: int

    @classmethod
    def of(cls, values: Mapping[str, int]) -> "PacketGeometry":
        """The geometry that the fields of a valid packet describe."""
        op, tiled, linear = operation_of(values), tiled_dtype(values), linear_dtype(values)
        return cls(
            op=op.name,
            packs=op.packs,
            conversion=op.conversion(tiled, linear),
            parameters=tuple((parameter.field, values[parameter.field]) for parameter in op.parameters),
            tile_format=TILE_FORMATS[values["tile_format"]],
            tiled_dtype=tiled.value,
            linear_dtype=linear.value,
            fill=values["channel_fill"],
            axes=tuple(
                TileAxis(values[f"{name}_extent"], values[f"{name}_tile"], values[f"{name}_stride"]) for name in "cdhw"
            ),
            outer=tuple(
                (values[f"outer{index}_extent"], values[f"outer{index}_stride"])
                for index in range(values["outer_rank"])
            ),
            input_address=values["input_address"],
            output_address=values["output_address"],
            input_bytes=values["reloc0_required_bytes"],
            output_bytes=values["reloc1_required_bytes"],
        )

    @property
    def scalar_bytes(self) -> int:
        """Bytes of a tiled scalar."""
        return WIDTH_BYTES[self.tiled_dtype]

    @property
    def linear_scalar_bytes(self) -> int:
        """Bytes of a linear scalar."""
        return WIDTH_BYTES[self.linear_dtype]

    def stored(self, channels: int) -> int:
        """Channels that each byte plane of a pixel with `channels` logical channels holds."""
        return channels if self.tile_format == "compact" else -(-channels // BLOCK) * BLOCK

    def pixel_bytes(self, channels: int) -> int:
        """Bytes of one pixel of a tile with `channels` logical channels."""
        return self.stored(channels) * self.scalar_bytes

    def tile_bytes(self, extents: tuple[int, ...]) -> int:
        """Bytes of a tile of (c, d, h, w) elements, alignment to 16 included."""
        return -(-prod(extents[1:]) * self.pixel_bytes(extents[0]) // BLOCK) * BLOCK

    @cached_property
    def _spans(self) -> dict[tuple[int, ...], int]:
        return {}

    def span_bytes(self, fixed: tuple[int, ...] = ()) -> int:
        """Bytes of all the tiles whose leading extents are `fixed`: of one with all fixed, of a volume with none."""
        known = self._spans.get(fixed)
        if known is None:
            known = self._spans[fixed] = self._span_bytes(fixed)
        return known

    def _span_bytes(self, fixed: tuple[int, ...]) -> int:
        if len(fixed) == len(self.axes):
            return self.tile_bytes(fixed)
        axis = self.axes[len(fixed)]
        full, rest = divmod(axis.extent, axis.tile)
        total = full * self.span_bytes((*fixed, axis.tile)) if full else 0
        return total + (self.span_bytes((*fixed, rest)) if rest else 0)

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Tiles along C, D, H, W."""
        return tuple(axis.tiles for axis in self.axes)

    @cached_property
    def volumes(self) -> int:
        """Number of independent outer slices."""
        return prod(extent for extent, _ in self.outer)

    @cached_property
    def tiles(self) -> int:
        """Number of tiles of the whole tensor."""
        return self.volumes * prod(self.grid)

    def tile(self, number: int) -> Tile:
        """Tile `number` in storage order."""
        index = []
        for count in reversed(self.grid):
            number, position = divmod(number, count)
            index.append(position)
        return self.tile_at(number, tuple(reversed(index)))

    def tile_at(self, volume: int, index: tuple[int, ...]) -> Tile:
        """The tile with this C, D, H, W index in outer slice `volume`."""
        segments = [axis.segment(position) for axis, position in zip(self.axes, index, strict=True)]
        extents = [high - low for low, high in segments]
        linear = sum(low * axis.stride for axis, (low, _) in zip(self.axes, segments, strict=True))
        return Tile(
            first=tuple(low for low, _ in segments),
            extents=tuple(extents),
            tiled_offset=self.tiled_offset(volume, index, extents),
            linear_offset=self.volume_offset(volume) + linear,
        )

    def tiled_offset(self, volume: int, index: Sequence[int], extents: Sequence[int]) -> int:
        """Where the tile of these extents with this C, D, H, W index is in the tiled bytes."""
        offset = volume * self.span_bytes()
        for number, position in enumerate(index):
            if position:
                offset += position * self.span_bytes((*extents[:number], self.axes[number].tile))
        return offset

    def runs_from(self, number: int) -> Iterator[TileRun]:
        """Tile `number` and all after it, in storage order: full tiles along a row are a run."""
        row = max((axis for axis, count in enumerate(self.grid) if count > 1), default=0)
        axis, count = self.axes[row], self.grid[row]
        while number < self.tiles:
            tile = self.tile(number)
            times = max(1, axis.extent // axis.tile - number % count)
            span = self.span_bytes(tile.extents[: row + 1])
            yield TileRun(tile, times, row, axis.tile, span, axis.tile * axis.stride)
            number += times

    def volume_offset(self, volume: int) -> int:
        """Linear bytes before outer slice `volume`."""
        offset = 0
        for extent, stride in reversed(self.outer):
            volume, position = divmod(volume, extent)
            offset += position * stride
        return offset

    def tile_number(self, offset: int) -> int:
        """The tile that holds the tiled byte at `offset`."""
        number, offset = divmod(offset, self.span_bytes())
        extents: list[int] = []
        for axis in self.axes:
            position = min(offset // self.span_bytes((*extents, axis.tile)), axis.tiles - 1)
            offset -= position * self.span_bytes((*extents, axis.tile)) if position else 0
            low, high = axis.segment(position)
            extents.append(high - low)
            number = number * axis.tiles + position
        return number
