"""Geometries for the memory suite: every row path, at every place that an address can have.

Streaming stores want multiples of 16 bytes, and rows may read and write past a pixel but never past a span. So the
cases go through what moves an address or an end: the linear base, a boundary class behind tiles of any width, outer and
inner strides with any gap, one pixel to many, and channels of every width, contiguous and scattered.
"""

from collections.abc import Iterator
from itertools import product

from tests.geometries import FAMILY, random_geometries
from tests.oracle import WIDTHS, Geometry

HWC = (-1, 0, 1, 2)
KINDS = {
    "tess": (("int8", None), ("bf16", None)),
    "detess": (("int8", None), ("bf16", None)),
    "detesscast": (("bf16", "fp32"), ("bf16", "bf16")),
    "casttess": (("bf16", "fp32"),),
    "quanttess": (("int8", "fp32"),),
    "detessdequant": (("int8", "fp32"),),
}
Kind = tuple[str, str, str | None]
MOST_BYTES = 20_000
"""Of a large case, which the protected pages hold with room."""
LONG_BYTES = 14_400
"""Of a row that is relayed in two pieces: one piece is at most 12 KiB on either side."""


def geometries(op: str) -> Iterator[Geometry]:
    """All of them, for one operation."""
    for dtype, to in KINDS[op]:
        kind = (op, dtype, to)
        yield from _boundary_classes(kind)
        yield from _gaps(kind)
        yield from _rows(kind)
        yield from _cut_rows(kind)
        yield from _small_tiles(kind)
        yield from _relayed(kind)
        yield from _large_tiles(kind)
    for dtype, to in KINDS[op] if op in ("detesscast", "detessdequant") else ():
        yield from _channel_blocks(op, dtype, to or dtype)
    drawn = (*random_geometries(240, 16), *random_geometries(240, 16, FAMILY))
    yield from (geometry for geometry in drawn if geometry.op == op)


def width_of(kind: Kind) -> int:
    """Bytes of a scalar on the linear side."""
    return WIDTHS[kind[2] or kind[1]]


def _geometry(kind: Kind, shape: tuple[int, ...], axes: tuple[int, int, int, int], tile, pad16=False, strides=None):
    op, dtype, to = kind
    return Geometry(op, shape, dtype, axes, tile, pad16, strides_bytes=strides, to=to, fill=-7 if pad16 else 0)


def _boundary_classes(kind: Kind) -> Iterator[Geometry]:
    """A last tile of whole groups of 16 channels behind tiles of any width: its offset has every residue."""
    for rest, more, tiles in product((16, 32, 64), (*range(1, 18), 32, 33), (1, 2)):
        tile = rest + more
        yield _geometry(kind, (tiles * tile + rest,), (-1, -1, -1, 0), (1, 1, 1, tile))
    for rest, pad16 in product((16, 48), (False, True)):
        yield _geometry(kind, (3, 2 * 49 + rest), (-1, -1, 0, 1), (1, 1, 2, 49), pad16)


def _gaps(kind: Kind) -> Iterator[Geometry]:
    """Dense pixels in rows, planes and outer slices whose strides have every residue of 16 bytes, 32 and 64."""
    width = width_of(kind)
    for gap, pad16 in product(range(64 // width), (False, True)):  # two channel parts in each slice
        yield _geometry(kind, (3, 96), (-1, -1, -1, 1), (1, 1, 1, 64), pad16, ((96 + gap) * width, width))
    for channels, gap, pad16 in product((16, 32, 64), range(64 // width), (False, True)):
        pixel, row = channels * width, 3 * channels * width
        outer = (2, 2, 3, channels)
        yield _geometry(
            kind, outer, (-1, 1, 2, 3), (1, 2, 3, channels), pad16, (2 * row + gap * width, row, pixel, width)
        )
        if gap % 3 == 0 and not pad16:
            plane = 2 * (row + gap * width)
            yield _geometry(
                kind, outer, (0, 1, 2, 3), (1, 2, 2, channels), pad16, (plane, row + gap * width, pixel, width)
            )
            yield _geometry(
                kind, outer, (-1, 1, 2, 3), (1, 1, 3, 16), pad16, (2 * row + gap * width, row, pixel, width)
            )
            wide = pixel + gap * width
            yield _geometry(kind, (2, 3, channels), HWC, (1, 2, 2, channels), pad16, (3 * wide, wide, width))


def _rows(kind: Kind) -> Iterator[Geometry]:
    """Rows of one pixel to many, of every usual width, dense, channel-first and scattered."""
    width = width_of(kind)
    for channels, pixels, pad16 in product(
        (*range(1, 19), 31, 32, 33, 48, 64), (1, 2, 3, 7, 16, 17, 19, 33), (False, True)
    ):
        whole = (1, 2, pixels, channels)
        shape = (2, pixels, channels)
        yield _geometry(kind, shape, HWC, whole, pad16)
        if pixels in (1, 16, 19):
            yield _geometry(kind, shape, HWC, whole, pad16, (pixels * width, width, (2 * pixels + 1) * width))
            yield _geometry(kind, shape, HWC, whole, pad16, (width, 3 * width, 3 * pixels * width))
            yield _geometry(kind, shape, HWC, (1, 1, 16, 5), pad16)


def _cut_rows(kind: Kind) -> Iterator[Geometry]:
    """Tiles side by side whose rows continue each other where channels lie apart: one long row, cut at each tile."""
    width = width_of(kind)
    for channels, across, rest in product((2, 3, 5, 8, 16, 18, 33), (8, 16, 48), (0, 3, 16)):
        pixels, pad16 = 2 * across + rest, (channels + across // 8 + rest) % 2 == 0
        row, plane = pixels * width, (3 * pixels + 1) * width
        for tile in (channels, 16) if channels > 16 else (channels,):
            yield _geometry(kind, (3, pixels, channels), HWC, (1, 2, across, tile), pad16, (row, width, plane))
            yield _geometry(kind, (pixels, 3, channels), HWC, (1, across, 2, tile), not pad16, (width, row, plane))


def _small_tiles(kind: Kind) -> Iterator[Geometry]:
    """Many tiles of few bytes with alignment bytes behind them, and rows shorter than a block of scattered channels."""
    width = width_of(kind)
    for channels, (high, across), pad16 in product((1, 3, 7, 18), ((1, 1), (1, 3), (3, 2)), (False, True)):
        yield _geometry(kind, (2, 7, 9, channels), (-1, 1, 2, 3), (1, high, across, channels), pad16)
        yield _geometry(kind, (7, 9, 2 * channels + 1), HWC, (1, high, across, channels), pad16)
    for channels, across, tile in product((2, 5, 16, 32, 40, 64), (3, 7, 14), (16, 64)):
        row = 2 * across * width
        strides = (row, width, 3 * row)
        yield _geometry(kind, (3, 2 * across, channels), HWC, (1, 2, across, tile), False, strides)


def _relayed(kind: Kind) -> Iterator[Geometry]:
    """Rows that go by way of dense storage: tiles that cut long rows at any pixel, and scalars apart in every way."""
    width = width_of(kind)
    for channels, across, gap in product((1, 2, 5, 17, 160), (1, 3, 7, 16), (0, 1, 3)):
        high, many = (3, 3) if channels < 100 else (2, 2)
        shape, pad16 = (high, many * across + 1, channels), (channels + across + gap) % 3 == 0
        if high * shape[1] * channels * (1 + gap) * width > MOST_BYTES:
            continue
        for order in ("hwc", "chw", "wch", "hcw"):
            tile = (1, 2, across, 16 if channels > 16 and gap == 1 else channels)
            yield _geometry(kind, shape, HWC, tile, pad16, _apart(order, shape, (1 + gap) * width))
    for channels, pad16 in ((3, False), (13, False), (13, True)):
        shape = (1, LONG_BYTES // (channels * width), channels)
        yield _geometry(kind, shape, HWC, (1, 1, 7, channels), pad16, _apart("chw", shape, width))


def _large_tiles(kind: Kind) -> Iterator[Geometry]:
    """Slices of two channel tiles that are not moved together, since both slices exceed 16 KiB."""
    width, tile = width_of(kind), 8192 // WIDTHS[kind[1]] + 64
    channels = tile + 64
    for gap in range(16 // width) if 2 * channels * width < MOST_BYTES else ():
        yield _geometry(kind, (2, channels), (-1, -1, -1, 1), (1, 1, 1, tile), False, ((channels + gap) * width, width))


def _apart(order: str, shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Strides of an order of axes, the innermost being `step`."""
    strides = {}
    for axis in reversed(order):
        strides[axis] = step
        step *= shape["hwc".index(axis)]
    return tuple(strides[axis] for axis in "hwc")


def random_calls(op: str) -> Iterator[Geometry]:
    """1,000 random geometries of all ranks for each pair of scalar types."""
    for kind in ((op, dtype, to) for dtype, to in KINDS[op]):
        yield from random_geometries(1000, 1000, (kind,))


def qualification(op: str) -> Iterator[Geometry]:
    """Every channel-axis position of ranks 1 to 6, its unit neighbours mapped or not; batches of every width."""
    for kind in ((op, dtype, to) for dtype, to in KINDS[op]):
        yield from _positions(kind)
        yield from _batches(kind)


def _positions(kind: Kind) -> Iterator[Geometry]:
    for rank in range(1, 7):
        for position, mapped, pad16, tile in product(range(rank), (False, True), (False, True), (8, 16, 40)):
            shape = tuple(37 if axis == position else 1 for axis in range(rank))
            others = [axis for axis in range(rank) if axis != position] if mapped else []
            yield _geometry(kind, shape, (*(others + [-1, -1, -1])[:3], position), (1, 1, 1, tile), pad16)


def _batches(kind: Kind) -> Iterator[Geometry]:
    """Two full tiles and a final one, of 1 to 64 channels each."""
    for width, pad16, rest in product(range(1, 65), (False, True), (0, 1)):
        shape = (1, 3 * width - rest * (width // 2))
        yield _geometry(kind, shape, (-1, -1, 0, 1), (1, 1, 1, width), pad16)


def _channel_blocks(op: str, dtype: str, to: str) -> Iterator[Geometry]:
    for channels, tile, pixels in product((16, 17, 32, 48, 80, 100), (16, 17, 20, 32, 36, 48), (1, 5)):
        yield Geometry(op, (2, pixels, channels), dtype, cblocked=(1, 4, tile), to=to)
    for gap in range(16):
        width = WIDTHS[to]
        strides = (2 * 3 * 64 * width + gap * width, 3 * 64 * width, 64 * width, width)
        yield Geometry(op, (2, 2, 3, 64), dtype, cblocked=(2, 3, 64), strides_bytes=strides, to=to)
