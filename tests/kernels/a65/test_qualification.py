"""The qualification that the documents list: every width, pattern, position, phase and padding, on every engine."""

from itertools import permutations, product

import pytest

from tests.geometries import FAMILY, random_geometries
from tests.geometries import KINDS as MOVING
from tests.kernels.a65.running import assert_right
from tests.oracle import Geometry, expected_output, input_bytes, linear_strides, tiled_bytes

KINDS = {
    "tess-int8": ("tess", "int8", None),
    "tess-bf16": ("tess", "bf16", None),
    "detess-int8": ("detess", "int8", None),
    "detess-bf16": ("detess", "bf16", None),
    "detesscast-fp32": ("detesscast", "bf16", "fp32"),
    "detesscast-bf16": ("detesscast", "bf16", "bf16"),
}
HWC = (-1, 0, 1, 2)
by_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
Kind = tuple[str, str, str | None]


def hwc(kind: Kind, shape: tuple[int, ...], tile: tuple[int, ...], *, pad16: bool = False, **options) -> Geometry:
    """A geometry over trailing H, W, C; a fill that shows where INT8 is padded."""
    op, dtype, to = kind
    return Geometry(op, shape, dtype, HWC, (1, *tile), pad16, to=to, fill=-7 if pad16 else 0, **options)


def scalar_bytes(kind: Kind) -> int:
    """Bytes of a scalar on the linear side."""
    return {"int8": 1, "bf16": 2, "fp32": 4}[kind[2] or kind[1]]


def strides_in(order: str, shape: tuple[int, ...], width: int, gap: int = 0) -> tuple[int, ...]:
    """Byte strides of H, W, C laid out in `order`, with `gap` scalars behind each of the middle runs."""
    step, strides = width, {}
    for axis in reversed(order):
        strides[axis] = step
        step = step * shape["hwc".index(axis)] + (gap * width if axis == order[1] else 0)
    return tuple(strides[axis] for axis in "hwc")


@pytest.mark.parametrize("dtype", ["int8", "bf16"])
@pytest.mark.parametrize("part", range(6))
def test_three_hundred_shapes(dtype: str, part: int) -> None:
    """300 deterministic shapes of ranks 1 to 6 for each dtype are right, gaps and paddings included."""
    shapes = [geometry for geometry in random_geometries(1000, 65) if geometry.dtype == dtype][:300]
    assert {len(geometry.shape) for geometry in shapes} == {1, 2, 3, 4, 5, 6}
    for geometry in shapes[part::6]:
        assert_right(geometry)


@pytest.mark.parametrize("every", [25, pytest.param(1, marks=pytest.mark.long)], ids=["a part", "all"])
@pytest.mark.parametrize("kind", [*MOVING, *FAMILY], ids=lambda kind: "-".join(name or "same" for name in kind))
def test_three_hundred_shapes_each(kind: Kind, every: int) -> None:
    """300 shapes for each operation and pair of scalar types, 50 of each rank, are right on every engine."""
    shapes = random_geometries(300, 300, (kind,))
    assert {rank: sum(len(each.shape) == rank for each in shapes) for rank in range(1, 7)} == dict.fromkeys(
        range(1, 7), 50
    )
    for geometry in shapes[::every]:
        assert_right(geometry)


@by_kind
@pytest.mark.parametrize("pad16", [False, True], ids=["compact", "pad16"])
def test_every_width(kind: Kind, pad16: bool) -> None:
    """Widths of 1 to 64 channels are right in rows of 19 and 3 pixels: groups of 16, of 8, and every tail."""
    for channels in range(1, 65):
        assert_right(hwc(kind, (1, 22, channels), (1, 19, channels), pad16=pad16))


@by_kind
@pytest.mark.parametrize("pad16", [False, True], ids=["compact", "pad16"])
@pytest.mark.parametrize("order", ["chw", "cwh", "wch"])
def test_every_width_scattered(kind: Kind, pad16: bool, order: str) -> None:
    """Widths of 1 to 64 channels are right where channels lie apart: transposed blocks, streams, single scalars."""
    for channels in (*range(1, 19), 31, 32, 33, 48, 63, 64):
        shape = (2, 18, channels)
        strides = strides_in(order, shape, scalar_bytes(kind), gap=3)
        assert_right(hwc(kind, shape, (2, 18, channels), pad16=pad16, strides_bytes=strides))


@by_kind
@pytest.mark.parametrize("pad16", [False, True], ids=["compact", "pad16"])
def test_channel_tiles(kind: Kind, pad16: bool) -> None:
    """Channel tiles of every width cut a pixel of 40 channels right, boundary tile and alignment gaps included."""
    for tile in (*range(1, 18), 24, 31, 32, 33, 39, 40, 64):
        assert_right(hwc(kind, (1, 5, 40), (1, 3, tile), pad16=pad16))


@pytest.mark.parametrize("to", ["fp32", "bf16"])
@pytest.mark.parametrize("order", ["hwc", "chw", "cwh", "wch"])
def test_channel_blocks(to: str, order: str) -> None:
    """Channel blocks are right for every width of tail, contiguous and scattered, in full and boundary tiles."""
    for channels in (*range(1, 18), 31, 32, 33, 40, 48, 80):
        shape = (3, 18, channels)
        strides = strides_in(order, shape, 2 if to == "bf16" else 4, gap=1)
        assert_right(
            Geometry("detesscast", shape, "bf16", cblocked=(2, 17, min(channels, 33)), strides_bytes=strides, to=to)
        )


ROW_PATHS = {
    "same bytes": ((1, 4096, 1), "hwc", False),
    "cross-pixel, 2": ((1, 2048, 2), "hwc", False),
    "cross-pixel, 3": ((1, 1366, 3), "hwc", False),
    "cross-pixel, 5": ((1, 820, 5), "hwc", False),
    "cross-pixel, 8": ((1, 512, 8), "hwc", False),
    "pieces of 8": ((1, 316, 13), "hwc", False),
    "groups of 16": ((1, 256, 16), "hwc", False),
    "groups of 16 and a tail": ((1, 64, 65), "hwc", False),
    "padded, 3": ((1, 1366, 3), "hwc", True),
    "padded, 12": ((1, 342, 12), "hwc", True),
    "padded, 24": ((1, 171, 24), "hwc", True),
    "streams": ((1, 1366, 3), "chw", False),
    "transposed": ((1, 171, 24), "chw", False),
    "transposed, padded": ((1, 171, 24), "chw", True),
    "scalars": ((2, 100, 21), "wch", False),
}


@by_kind
@pytest.mark.parametrize(("shape", "order", "pad16"), ROW_PATHS.values(), ids=ROW_PATHS.keys())
def test_every_pattern(kind: Kind, shape: tuple[int, ...], order: str, pad16: bool) -> None:
    """Every INT8 byte and BF16 word survives every row path: NaNs of both kinds, subnormals, zeros, infinities."""
    scalars = shape[0] * shape[1] * shape[2]
    parts = 1 if kind[1] == "int8" else -(-65536 // scalars)
    width = 1 if kind[1] == "int8" else 2
    strides = None if order == "hwc" else strides_in(order, shape, scalar_bytes(kind))
    geometry = hwc(kind, shape, shape, pad16=pad16, strides_bytes=strides)
    assert_patterns(geometry, width, parts)


def assert_patterns(geometry: Geometry, width: int, parts: int) -> None:
    """Consecutive patterns in `parts` calls; a tiled input is made by the oracle's packing of a dense tensor."""
    dense = Geometry("tess", geometry.shape, geometry.dtype, geometry.axes, geometry.tile, geometry.pad16, fill=-7)
    for part in range(parts):
        if geometry.op == "tess":
            assert_right(geometry, words_from(part, input_bytes(geometry), width))
        else:
            assert_right(geometry, expected_output(dense, words_from(part, input_bytes(dense), width)))


def words_from(part: int, count: int, width: int) -> bytes:
    """`count` bytes of consecutive scalars, the `part`-th stretch of all of them."""
    scalars = count // width
    return b"".join(((part * scalars + at) % 256**width).to_bytes(width, "little") for at in range(scalars))


@by_kind
@pytest.mark.parametrize("rank", range(1, 7))
def test_channel_axis_positions(kind: Kind, rank: int) -> None:
    """The channel axis may be anywhere at every rank, its unit neighbours mapped or not."""
    op, dtype, to = kind
    for position, mapped, pad16, tile in product(range(rank), (False, True), (False, True), (8, 16, 40)):
        shape = tuple(37 if axis == position else 1 for axis in range(rank))
        others = [axis for axis in range(rank) if axis != position] if mapped else []
        axes = (*(others + [-1, -1, -1])[:3], position)
        fill = -7 if pad16 else 0
        assert_right(Geometry(op, shape, dtype, axes, (1, 1, 1, tile), pad16, to=to, fill=fill))


@by_kind
def test_mapped_axis_permutations(kind: Kind) -> None:
    """All 24 ways to map four axes to D, H, W, C are right, with boundary tiles on each."""
    op, dtype, to = kind
    for axes in permutations(range(4)):
        assert_right(Geometry(op, (3, 5, 4, 7), dtype, axes, (2, 2, 3, 4), to=to))


@by_kind
def test_permuted_and_pitched_strides(kind: Kind) -> None:
    """All 6 physical orders of H, W, C are right, dense and with a pitch."""
    for order, gap in product(permutations("hwc"), (0, 1, 5)):
        shape = (4, 19, 21)
        strides = strides_in("".join(order), shape, scalar_bytes(kind), gap)
        assert_right(hwc(kind, shape, (3, 17, 16), strides_bytes=strides))


@by_kind
@pytest.mark.parametrize("order", ["hwc", "chw"])
def test_base_phases(kind: Kind, order: str) -> None:
    """The linear side may start at any multiple of its scalar."""
    width = scalar_bytes(kind)
    for channels, phase in product((1, 2, 3, 16, 18), range(0, 16, width)):
        shape = (2, 17, channels)
        strides = strides_in(order, shape, width)
        assert_right(hwc(kind, shape, (2, 16, 16), strides_bytes=strides), phase=phase)


CHANNEL_ONLY = (
    *product((1, 8, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65), (1, 2, 3, 8, 15, 16, 17, 32, 64)),
    (0, 16),
)


@by_kind
@pytest.mark.parametrize("pad16", [False, True], ids=["compact", "pad16"])
def test_channel_batches(kind: Kind, pad16: bool) -> None:
    """Channel-only tensors are right with batched tiles, alignment gaps between tiles, tails, or nothing at all."""
    op, dtype, to = kind
    for channels, tile in CHANNEL_ONLY:
        fill = -7 if pad16 else 0
        assert_right(Geometry(op, (1, channels), dtype, (-1, -1, 0, 1), (1, 1, 1, tile), pad16, to=to, fill=fill))


def test_strides_helper() -> None:
    """The helper's strides are the dense ones in row-major order."""
    geometry = Geometry("tess", (4, 5, 6), "bf16", HWC, (1, 4, 5, 6))
    assert strides_in("hwc", (4, 5, 6), 2) == linear_strides(geometry)
    assert tiled_bytes(geometry) == 240
