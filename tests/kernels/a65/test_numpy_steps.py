"""The numpy rows' steps: pieces cover an array once, and the steps of a plan write every byte of its output once."""

from itertools import permutations, product
from math import prod
from threading import Thread

import numpy as np
import pytest

from tessbed.kernels.a65 import numpy_copies, numpy_pieces, numpy_rows, numpy_sides, numpy_steps, numpy_ways
from tessbed.kernels.a65.blocks import Block
from tessbed.kernels.a65.numpy_copies import as_long_pixels
from tessbed.kernels.a65.numpy_steps import BYTE, PIECE_SCALARS, SCRATCH, Room, StridedView, cut_pieces
from tessbed.kernels.a65.row_path import choose, row_classes
from tessbed.kernels.plan import Plan
from tests.contract.backends import plan_of
from tests.geometries import FAMILY, name_of, random_geometries
from tests.kernels.a65.running import assert_right, outcome, using
from tests.oracle import Geometry, expected_output
from tests.requests import request_of
from tests.words import source_of

HWC_OF_FOUR = (-1, 1, 2, 3)
HWC, CHW = (-1, 0, 1, 2), (-1, 1, 2, 0)
SHAPES = ((), (1,), (7,), (PIECE_SCALARS + 1,), (3, 2, PIECE_SCALARS - 1), (5, 300, 301), (2, 3, 9, 400, 40), (4, 0, 3))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pieces_cover_once(shape: tuple[int, ...]) -> None:
    """Every element is in one piece, and no piece is larger than it may be."""
    seen = np.zeros(shape, np.uint8)
    for piece in cut_pieces(shape):
        assert seen[piece].size <= PIECE_SCALARS
        seen[piece] += 1
    assert (seen == 1).all()


def test_pieces_leave_axes_whole() -> None:
    """An axis that must stay whole does, however long it is."""
    parts = [np.zeros((3, PIECE_SCALARS + 5))[piece] for piece in cut_pieces((3, PIECE_SCALARS + 5), whole_axes=1)]
    assert [part.shape for part in parts] == [(1, PIECE_SCALARS + 5)] * 3


def test_rows_of_scratch_lie_apart() -> None:
    """Rows that are transposed do not begin in the same lines of a cache, and no two elements share a byte."""
    for shape, outer in (((8, 4, 128), 1), ((4, 8, 512), 2), ((3, 100), 1), ((1024,), 0)):
        found = Room(shape, outer).array(9, np.dtype("<u4"))
        if outer:
            assert found.strides[outer - 1] % 512
        found[...] = 0
        found += np.arange(found.size, dtype=np.uint32).reshape(shape)
        assert (found.reshape(-1) == np.arange(found.size)).all()


def test_channels_are_stored_in_their_place() -> None:
    """The first axis lies behind those whose steps are longer on the linear side; others keep their order."""
    assert Room((3, 4, 5, 6), 0, 2).array(9, BYTE).strides == (6, 90, 18, 1)
    assert Room((3, 4, 5, 6)).array(9, BYTE).strides == (120, 30, 6, 1)


def test_pixels_become_one() -> None:
    """A loop that goes on as the channels do, on both sides, is one with them, wherever it stands; no other is."""
    block = Block((7, 5, 3), (50, 2, 10), (40, 8, 1), 2, 2, 4, 0, 0)
    assert as_long_pixels(block) == Block((7, 3), (50, 10), (40, 1), 10, 2, 4, 0, 0)
    apart = block._replace(channel_stride_bytes=3)
    assert as_long_pixels(apart) == apart


def test_views_of_scratch_are_kept() -> None:
    """A step's views are made once for each shape; they are made again where a part had to grow."""

    class Counting:
        times = 0

        def bind(self, shape: tuple[int, ...]) -> np.ndarray:
            self.times += 1
            return SCRATCH.array(9, shape, BYTE)

    step = Counting()
    views = [SCRATCH.bound(step, (4, 4)) for _ in range(3)]
    assert step.times == 1
    assert np.shares_memory(views[0], SCRATCH.array(9, (4, 4), BYTE))
    SCRATCH.array(9, (64 * PIECE_SCALARS,), BYTE)
    assert np.shares_memory(SCRATCH.bound(step, (4, 4)), SCRATCH.array(9, (1,), BYTE))
    assert step.times == 2


def test_scratch_is_kept_by_each_thread() -> None:
    """A part is the same storage for the next array that fits, and another thread's is another."""
    first, found = SCRATCH.array(9, (4, 4), BYTE), []
    assert np.shares_memory(first, SCRATCH.array(9, (2, 2), np.dtype("<u2")))
    thread = Thread(target=lambda: found.append(SCRATCH.array(9, (4, 4), BYTE)))
    thread.start()
    thread.join()
    assert not np.shares_memory(first, found[0])


NO_BYTES = {"SMALL_SCALARS": 0, "SMALL_BLOCK_SCALARS": 0, "LANES": 0}
PIECES = NO_BYTES | {"WHOLE_SCALARS": 0}


def _always(*_: int) -> bool:
    return True


WAYS: dict[str, dict[str, object]] = {
    "as they are": {},
    "no bytes": NO_BYTES,
    "pieces": PIECES,
    "bytes": {"SMALL_SCALARS": 1 << 30},
    "bytes in pieces": {"SMALL_SCALARS": 1 << 30, "PIECE_PIXELS": 8},
    "turned at once": NO_BYTES | {"ITEM_CHANNELS": 1, "SHORT_ROW": 1 << 30, "FEW_LINES_BYTES": 2},
    "spread": PIECES | {"SPREAD_CHANNELS": 1, "SHORT_ROW": 1 << 30, "_spreads": _always},
    "near": PIECES | {"LONG_RUN": 1},
    "far": PIECES | {"LONG_RUN": 1 << 30, "SHORT_ROW": 1 << 30},
}
"""Thresholds, or what decides by them, under which every geometry takes the same way."""


def take(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the rows choose this way wherever they can."""
    for name, value in WAYS[way].items():
        for module in (numpy_ways, numpy_sides, numpy_copies, numpy_steps):
            if name in vars(module):
                monkeypatch.setattr(module, name, value)


def _times(plan: Plan, views: list[StridedView]) -> np.ndarray:
    """How often each byte of the output is in one of the views."""
    times = np.zeros(plan.output.required_bytes, np.uint8)
    for view in views:
        shape, strides = (*view.shape, view.dtype.itemsize), (*view.strides, 1)
        each = np.ndarray(shape, np.uint8, times, view.offset, strides)
        each += 1
    return times


@pytest.mark.parametrize("way", WAYS)
def test_every_byte_is_written_once(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """No byte of the output is left out, and none is written or filled again; nothing else is filled."""
    take(way, monkeypatch)
    for geometry in (*random_geometries(80, 11), *random_geometries(80, 11, FAMILY)):
        plan = plan_of(request_of(geometry))
        if plan.empty:
            continue
        steps = numpy_rows.compile_numpy(plan, row_classes(plan, choose(plan))).steps
        written = _times(plan, [view for step in steps for view in step.written])
        filled = _times(plan, [step.fill.target for step in steps if step.fill])
        expected = plan.tiled.required_bytes if plan.packs else prod(plan.shape) * plan.linear_dtype.width
        assert max(written.max(), filled.max()) == 1, name_of(geometry)
        assert np.maximum(written, filled).sum() == expected, name_of(geometry)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_right(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Whichever way the rows take, and however small the pieces are, geometries of every rank are right."""
    take(way, monkeypatch)
    monkeypatch.setattr(numpy_pieces, "PIECE_SCALARS", 64)
    for module in (numpy_steps, numpy_copies, numpy_pieces):
        monkeypatch.setattr(module, "PIECE_PIXELS", 8)
    with using("numpy"):
        for geometry in (*random_geometries(30, 12), *random_geometries(30, 12, FAMILY)):
            source = source_of(geometry)
            assert outcome(geometry, source) == expected_output(geometry, source), name_of(geometry)


@pytest.mark.parametrize("way", ["as they are", "turned at once", "pieces", "spread"])
def test_every_dense_order(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Whatever order a dense linear side has its axes in, and wherever loops over tiles of channels go on in others."""
    take(way, monkeypatch)
    shape, kinds = (2, 3, 5, 6), (("tess", "bf16", None), ("detess", "bf16", None), ("detesscast", "bf16", "fp32"))
    with using("numpy"):
        for order, tile, (op, dtype, to) in product(
            permutations(range(4)), ((1, 2, 3, 4), (1, 3, 4, 2)), (*kinds, *FAMILY)
        ):
            step, strides = {"int8": 1, "bf16": 2, "fp32": 4}[to or dtype], [0] * 4
            for axis in reversed(order):
                strides[axis], step = step, step * shape[axis]
            geometry = Geometry(op, shape, dtype, HWC_OF_FOUR, tile, to=to, strides_bytes=tuple(strides))
            source = source_of(geometry)
            assert outcome(geometry, source) == expected_output(geometry, source), name_of(geometry)


@pytest.mark.parametrize("piece", [64, PIECE_SCALARS])
@pytest.mark.parametrize("axes", [HWC, CHW], ids=["hwc", "chw"])
def test_rows_in_pieces(monkeypatch: pytest.MonkeyPatch, piece: int, axes: tuple[int, int, int, int]) -> None:
    """Blocks above and below the size of one piece are right, padded or not, with few channels and many."""
    monkeypatch.setattr(numpy_pieces, "PIECE_SCALARS", piece)
    take("pieces", monkeypatch)
    for op, dtype, to in FAMILY:
        for channels, pad16 in ((3, True), (16, False), (40, True)):
            shape = (9, 20, channels) if axes == HWC else (channels, 9, 20)
            assert_right(Geometry(op, shape, dtype, axes, (1, 4, 7, channels), pad16, to=to, fill=-7 if pad16 else 0))


@pytest.mark.parametrize("op", ["tess", "detess"])
@pytest.mark.parametrize(("shape", "tile"), [((49_152, 49_152, 1), (1, 49_152, 49_152, 1)), ((4096, 4096, 256), None)])
def test_runs_of_two_gib_and_more(op: str, shape: tuple[int, ...], tile: tuple[int, int, int, int] | None) -> None:
    """They are longer than an item of numpy may be, and prepared all the same; nothing is moved here."""
    whole = tile or (1, *shape)
    plan = plan_of(request_of(Geometry(op, shape, "int8", (-1, 0, 1, 2), whole)))
    steps = numpy_rows.compile_numpy(plan, row_classes(plan, choose(plan))).steps
    assert sum(prod(view.shape) * view.dtype.itemsize for step in steps for view in step.written) == prod(shape)
