"""Where every byte of a case lies: closed forms over coordinates, evaluated on numbers or on numpy meshes alike.

A scalar's tiled offset is the bytes of all tiles before its own, in C, D, H, W order, and its place inside the tile.
All tiles before one are full along the axis on which they differ, so each axis adds its tile index times the bytes
that one step along it skips. Source: DetessCast document, "Contract" and "Compiler channel-block input".
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from tessbed.scenarios.oracle.operations import oracle_operation

WIDTHS = {"int8": 1, "bf16": 2, "fp32": 4}
CHANNEL_BLOCK = 16
TILE_ALIGNMENT_BYTES = 16

Whole = int | np.ndarray


@dataclass(frozen=True)
class OracleCase:
    """One operation in plain values.

    `axes` (d, h, w, c: a logical axis or -1) with `tile` in the same order, or `cblocked` (h, w, c over the trailing
    axes). `strides_bytes` describes the linear side, dense row-major where None. `dtype` is the scalar type of the
    tiled side, `to` that of the linear side where it is another. `fill` (-128 to 127) is what padded INT8 channels of
    an output hold, `parameters` are the conversion's, by packet field.
    """

    op: str
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[int, int, int, int] | None = None
    tile: tuple[int, int, int, int] | None = None
    pad16: bool = False
    cblocked: tuple[int, int, int] | None = None
    strides_bytes: tuple[int, ...] | None = None
    to: str | None = None
    fill: int = 0
    parameters: tuple[tuple[str, int], ...] = ()

    @property
    def packs(self) -> bool:
        """Whether the tiled side is the output."""
        return oracle_operation(self.op).packs

    @property
    def width(self) -> int:
        """Bytes of a scalar on the tiled side."""
        return WIDTHS[self.dtype]

    @property
    def linear_width(self) -> int:
        """Bytes of a scalar on the linear side."""
        return WIDTHS[self.to or self.dtype]

    @property
    def strides(self) -> tuple[int, ...]:
        """Byte strides of the linear side."""
        dense = (prod(self.shape[axis + 1 :]) * self.linear_width for axis in range(len(self.shape)))
        return tuple(dense) if self.strides_bytes is None else self.strides_bytes

    @property
    def mapping(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The logical axes of d, h, w, c and their tile extents. Raises ValueError where the case names no tiles."""
        rank = len(self.shape)
        if self.cblocked is not None:
            return (-1, rank - 3, rank - 2, rank - 1), (1, *self.cblocked)
        if self.axes is None or self.tile is None:
            raise ValueError("got neither cblocked nor axes and tile, wanted one of them")
        return self.axes, self.tile

    @property
    def outer(self) -> tuple[int, ...]:
        """The unmapped logical axes."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.mapping[0])


@dataclass(frozen=True)
class OracleAxis:
    """A mapped axis: `full` tiles of `tile` elements, then one of `rest` where that is not 0."""

    extent: int
    tile: int

    @property
    def full(self) -> int:
        """Number of full tiles."""
        return self.extent // self.tile

    @property
    def rest(self) -> int:
        """Extent of the boundary tile, 0 where there is none."""
        return self.extent % self.tile

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return -(-self.extent // self.tile)

    def of_tile(self, tile: np.ndarray, inside: Whole = 0) -> "ElementOffset":
        """The place `inside` each tile."""
        return ElementOffset(tile, inside, np.where(tile < self.full, self.tile, self.rest))

    def of_element(self, index: np.ndarray) -> "ElementOffset":
        """The place of each element."""
        return self.of_tile(index // self.tile, index % self.tile)


@dataclass(frozen=True)
class ElementOffset:
    """Where indices fall along one axis: in which tile, where inside it, and the actual extent of that tile."""

    tile: np.ndarray
    inside: Whole
    extent: np.ndarray


@dataclass(frozen=True)
class Tiling:
    """The tiled side of a case that is not empty. Methods count the bytes of tiles of the given c, d, h, w extents."""

    d: OracleAxis
    h: OracleAxis
    w: OracleAxis
    c: OracleAxis
    width: int
    padded: bool
    blocked: bool

    @staticmethod
    def of(case: OracleCase) -> "Tiling":
        """The tiling of a case whose extents are all at least 1."""
        extents = (1 if axis == -1 else case.shape[axis] for axis in case.mapping[0])
        d, h, w, c = (OracleAxis(n, min(tile, n)) for n, tile in zip(extents, case.mapping[1], strict=True))
        blocked = case.cblocked is not None
        return Tiling(d, h, w, c, case.width, padded=case.pad16 or blocked, blocked=blocked)

    def stored(self, c: Whole) -> Whole:
        """Channels that a pixel of `c` logical channels stores."""
        return _round_up(c, CHANNEL_BLOCK) if self.padded else c

    def payload(self, c: Whole, d: Whole, h: Whole, w: Whole) -> Whole:
        """One tile without its alignment bytes."""
        return self.stored(c) * self.width * (d * h) * w

    def span(self, c: Whole, d: Whole, h: Whole, w: Whole) -> Whole:
        """One tile."""
        return _round_up(self.payload(c, d, h, w), TILE_ALIGNMENT_BYTES)

    def row(self, c: Whole, d: Whole, h: Whole) -> Whole:
        """All tiles along W."""
        return self.w.full * self.span(c, d, h, self.w.tile) + self.span(c, d, h, self.w.rest)

    def slab(self, c: Whole, d: Whole) -> Whole:
        """All tiles along H and W."""
        return self.h.full * self.row(c, d, self.h.tile) + self.row(c, d, self.h.rest)

    def volume(self, c: Whole) -> Whole:
        """All tiles along D, H and W."""
        return self.d.full * self.slab(c, self.d.tile) + self.slab(c, self.d.rest)

    def slice(self) -> Whole:
        """All tiles of one outer slice."""
        return self.c.full * self.volume(self.c.tile) + self.volume(self.c.rest)

    def tile_start(self, outer: Whole, d: ElementOffset, h: ElementOffset, w: ElementOffset, c: ElementOffset) -> Whole:
        """Offset of the tile in outer slice number `outer`."""
        before = outer * self.slice() + c.tile * self.volume(self.c.tile)
        before = before + d.tile * self.slab(c.extent, self.d.tile)
        before = before + h.tile * self.row(c.extent, d.extent, self.h.tile)
        return before + w.tile * self.span(c.extent, d.extent, h.extent, self.w.tile)

    def low_byte(self, d: ElementOffset, h: ElementOffset, w: ElementOffset, c: ElementOffset) -> Whole:
        """Offset in its tile of the byte of channel `c.inside` in the low plane."""
        pixel = (d.inside * h.extent + h.inside) * w.extent + w.inside
        if self.blocked:
            block, lane = c.inside // CHANNEL_BLOCK, c.inside % CHANNEL_BLOCK
            return self.width * CHANNEL_BLOCK * (block * (d.extent * h.extent * w.extent) + pixel) + lane
        return pixel * (self.stored(c.extent) * self.width) + c.inside

    def plane(self, c: ElementOffset) -> Whole:
        """Bytes from a channel's low byte to its high byte."""
        return CHANNEL_BLOCK if self.blocked else self.stored(c.extent)


def _round_up(value: Whole, step: int) -> Whole:
    return (value + step - 1) // step * step


def required_bytes(case: OracleCase) -> tuple[int, int]:
    """Bytes of the whole (input, output) spans, padding, alignment and stride holes included; (0, 0) when empty."""
    if 0 in case.shape:
        return 0, 0
    tiled = prod(case.shape[axis] for axis in case.outer) * int(Tiling.of(case).slice())
    steps = ((extent - 1) * stride for extent, stride in zip(case.shape, case.strides, strict=True))
    linear = sum(steps) + case.linear_width
    return (linear, tiled) if case.packs else (tiled, linear)
