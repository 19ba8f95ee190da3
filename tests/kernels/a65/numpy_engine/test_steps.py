"""The numpy rows' steps: pieces and boxes cover a tensor once, and every way of moving it is right."""

from itertools import permutations, product
from math import prod
from threading import Thread

import numpy as np
import pytest

from tessbed.kernels.a65 import numpy_rows
from tessbed.kernels.a65.blocks import Block
from tessbed.kernels.a65.numpy_engine import boxes, choice, copies, layout, relay, steps, turns, ways
from tessbed.kernels.a65.numpy_engine.choice import relay_of
from tessbed.kernels.a65.numpy_engine.copies import Copy, as_long_pixels
from tessbed.kernels.a65.numpy_engine.steps import BYTE, PIECE_SCALARS, SCRATCH, cut_pieces
from tessbed.kernels.a65.row_path import choose, row_classes
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan
from tests.contract.backends import plan_of
from tests.geometries import FAMILY, name_of, random_geometries
from tests.kernels.a65.running import assert_right, outcome, using
from tests.oracle import Geometry, expected_output
from tests.requests import request_of
from tests.words import source_of

HWC_OF_FOUR = (-1, 1, 2, 3)
HWC, CHW = (-1, 0, 1, 2), (-1, 1, 2, 0)
UNPACKED = (("detess", "int8", None), ("detess", "bf16", None), ("detesscast", "bf16", "fp32"))
SHAPES = ((), (1,), (7,), (PIECE_SCALARS + 1,), (3, 2, PIECE_SCALARS - 1), (5, 300, 301), (2, 3, 9, 400, 40), (4, 0, 3))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pieces_cover_once(shape: tuple[int, ...]) -> None:
    """Every element is in one piece, and no piece is larger than it may be."""
    seen = np.zeros(shape, np.uint8)
    for piece in cut_pieces(shape, PIECE_SCALARS):
        assert seen[piece].size <= PIECE_SCALARS
        seen[piece] += 1
    assert (seen == 1).all()


def test_boxes_cover_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scalar is in one box, no box has more than it may but where its channels are padded, or two parts."""
    monkeypatch.setattr(boxes, "PIECE_SCALARS", 16)
    for geometry in random_geometries(120, 13):
        plan = plan_of(request_of(geometry))
        if plan.empty:
            continue
        found, seen = relay_of(plan, None), np.zeros(plan.shape, np.uint8)
        view = seen.reshape([found.extents[axis] for axis in found.order])
        for box in boxes.boxes_of(plan, found.extents, found.order, found.scalars):
            view[box.slices] += 1
            channels = 1 if plan.tile_format is TileFormat.COMPACT else plan.c.extent
            assert view[box.slices].size <= 16 * channels, name_of(geometry)
        assert (seen == 1).all(), name_of(geometry)


def test_rows_of_channels_lie_apart() -> None:
    """Rows of channels that collide begin in different lines of a cache, and no two elements share a byte."""
    for extents, order, channel in (
        ((8, 4, 128), (0, 1, 2), 0),
        ((4, 8, 512), (0, 1, 2), 1),
        ((3, 5, 7), (2, 0, 1), 0),
    ):
        rows = layout.linear_layout(extents, order, channel, False, 16)
        assert not layout.collide(rows.strides[channel] * 4, 16)
        found = rows.over(SCRATCH.array(9, (rows.size,), np.dtype("<u4")))
        found[...] = 0
        found += np.arange(found.size, dtype=np.uint32).reshape(found.shape)
        assert (found.reshape(-1) == np.arange(found.size)).all()


@pytest.mark.parametrize(("row_bytes", "rows", "collides"), [(4096, 6, False), (4096, 7, True), (64, 300, False)])
def test_rows_collide(row_bytes: int, rows: int, collides: bool) -> None:
    """Rows of whole pages share one line of a way; rows of a line share none before all are taken."""
    assert layout.collide(row_bytes, rows) is collides


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


def test_columns_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every count of channels goes into rows, in whole columns and what is left over, of every kind."""
    take("columns", monkeypatch)
    for channels, (op, dtype, to) in product(range(2, 14), UNPACKED):
        geometry = Geometry(op, (channels, 5, 6), dtype, CHW, (1, 2, 3, channels), to=to)
        assert relay_of(plan_of(request_of(geometry)), None).columns
        assert_right(geometry)


def test_single_words() -> None:
    """Words of one channel a tile are right, padded or not, in tiles of all classes and in any order."""
    for pad16, axes, channels in product((False, True), (HWC, CHW), (1, 5)):
        shape = (40, 50, channels) if axes == HWC else (channels, 40, 50)
        for op, dtype, to in (("casttess", "bf16", "fp32"), ("tess", "bf16", None)):
            assert_right(Geometry(op, shape, dtype, axes, (1, 7, 9, 1), pad16, to=to))


NO_BYTES = {"SMALL_SCALARS": 0, "SMALL_BLOCK_SCALARS": 0, "LANES": 0, "STRAIGHT_WORDS": 0}


def _always(*_: object) -> tuple[bool, bool]:
    return True, False


def _never(*_: object) -> tuple[bool, bool]:
    return False, False


def _collide(*_: object) -> bool:
    return True


def _columns(plan: Plan, *_: object) -> tuple[bool, bool]:
    return True, not plan.packs


WAYS: dict[str, dict[str, object]] = {
    "as they are": {},
    "no bytes": NO_BYTES | {"FEW_CHANNELS": 0},
    "words are copied": NO_BYTES | {"STRAIGHT_WORDS": 1 << 30},
    "bytes": {"SMALL_SCALARS": 1 << 30},
    "few bytes": {"SMALL_SCALARS": 1 << 30, "FEW_PIXELS": 0},
    "turned": NO_BYTES | {"_turns": _always, "TURNED_SCALARS": 0},
    "columns": NO_BYTES | {"_turns": _columns, "TURNED_SCALARS": 0},
    "columns of tiles": NO_BYTES | {"_turns": _columns, "FEW_TILES": 1, "TURNED_SCALARS": 0},
    "columns, far": NO_BYTES | {"_turns": _columns, "LONG_RUN": 1 << 30, "TURNED_SCALARS": 0},
    "turned apart": NO_BYTES | {"_turns": _always, "FEW_LINES_BYTES": 2, "collide": _collide, "TURNED_SCALARS": 0},
    "turned one by one": NO_BYTES | {"_turns": _always, "CALL_PS": 0, "LOOP_PS": 1 << 40, "TURNED_SCALARS": 0},
    "rows apart": NO_BYTES | {"_turns": _never, "collide": _collide, "TURNED_SCALARS": 0},
    "tiles of channels": NO_BYTES | {"_turns": _always, "FEW_TILES": 1, "TURNED_SCALARS": 0},
    "as the linear side": NO_BYTES | {"_turns": _never},
    "near": NO_BYTES | {"LONG_RUN": 1},
    "far": NO_BYTES | {"LONG_RUN": 1 << 30},
}
"""Thresholds, or what decides by them, under which every geometry takes the same way."""


def take(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the rows choose this way wherever they can."""
    for name, value in WAYS[way].items():
        for module in (ways, copies, steps, layout, relay, choice, turns):
            if name in vars(module):
                monkeypatch.setattr(module, name, value)


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes boxes and pieces small."""
    for module in (boxes, choice):
        monkeypatch.setattr(module, "PIECE_SCALARS", 64)
    for module in (steps, copies):
        monkeypatch.setattr(module, "PIECE_PIXELS", 8)


@pytest.mark.parametrize("small", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_right(monkeypatch: pytest.MonkeyPatch, way: str, small: bool) -> None:
    """Whichever way the rows take, and however small the pieces are, geometries of every rank are right."""
    take(way, monkeypatch)
    if small:
        cut_small(monkeypatch)
    with using("numpy"):
        for geometry in (*random_geometries(30, 12), *random_geometries(30, 12, FAMILY)):
            source = source_of(geometry)
            assert outcome(geometry, source) == expected_output(geometry, source), name_of(geometry)


@pytest.mark.parametrize("way", ["as they are", "turned", "columns", "columns of tiles", "far"])
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


@pytest.mark.parametrize("small", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("axes", [HWC, CHW], ids=["hwc", "chw"])
def test_rows_in_boxes(monkeypatch: pytest.MonkeyPatch, small: bool, axes: tuple[int, int, int, int]) -> None:
    """Tensors above and below the size of one box are right, padded or not, with few channels and many."""
    take("no bytes", monkeypatch)
    if small:
        cut_small(monkeypatch)
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
    compiled = numpy_rows.compile_numpy(plan, row_classes(plan, choose(plan)))
    targets = [step.target for step in compiled.steps if isinstance(step, Copy)]
    assert sum(prod(view.shape) * view.dtype.itemsize for view in targets) == prod(shape)
