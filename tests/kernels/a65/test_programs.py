"""Row programs: what is none, or leaves its storage, is refused with the reason."""

import struct

import numpy as np
import pytest

from tessbed.kernels import DType, MlaTiled, Strided, TensorSpec
from tessbed.kernels.a65 import detess as a65_detess
from tessbed.kernels.a65 import native_rows
from tessbed.kernels.ops import detess
from tests.kernels.a65.running import using

pytestmark = pytest.mark.skipif(bool(native_rows.missing), reason="needs the native rows")

SHAPE = (2, 5, 7)
CONVERSION, PACKS, CBLOCKED, TILED_WIDTH, WIDTH, OUTER = 0, 1, 2, 3, 4, 6
C_PARTS, C_STRIDE, TILED_BYTES, LINEAR_BYTES = 7, 11, 15, 16
SCALE, ZERO_POINT, ROUNDING = 17, 18, 19
COUNT, EXTENT, OFFSET, STEP = 20, 24, 28, 29
LINEAR_OFFSET, STORED, SPAN = 33, 38, 39


def request(*strides: int) -> detess.Request:
    """Detess of a BF16 [2, 5, 7] tensor."""
    tiled = TensorSpec(SHAPE, DType.BF16, MlaTiled((-1, 0, 1, 2), (1, 2, 5, 7)))
    layout = {"layout": Strided(strides)} if strides else {}
    return detess.Request([tiled], [TensorSpec(SHAPE, DType.BF16, **layout)])


def program(changes: dict[int, int] | None = None) -> bytes:
    """The program of `request`, with some of its numbers replaced."""
    with using("native"):
        raw = a65_detess.check_inference(request()).program
    numbers = list(struct.unpack(f"={len(raw) // 8}q", raw))
    assert numbers[:7] == [3, 0, 0, 2, 2, 0, 0]
    assert numbers[COUNT:] == [1, 1, 1, 1, 7, 1, 2, 5, 0, 144, 144, 144, 144, 0, 14, 0, 140, 70, 7, 144]
    for at, value in (changes or {}).items():
        numbers[at] = value
    return struct.pack(f"={len(numbers)}q", *numbers)


FLAWS = {
    "unknown conversion": ({CONVERSION: 8}, "conversion is unknown"),
    "no conversion": ({CONVERSION: 0}, "conversion is unknown"),
    "a conversion of the other direction": ({CONVERSION: 2}, "no operation"),
    "a conversion of other widths": ({CONVERSION: 4}, "no operation"),
    "a wider output than its conversion makes": ({WIDTH: 4}, "no operation"),
    "a scale that its conversion has not": ({SCALE: 1}, "its scale"),
    "a zero point that its conversion has not": ({ZERO_POINT: 1}, "its zero point"),
    "a rounding mode that its conversion has not": ({ROUNDING: 1}, "its rounding mode"),
    "direction": ({PACKS: 2}, "no operation"),
    "packed blocks": ({PACKS: 1, CBLOCKED: 1}, "no operation"),
    "tiled width": ({TILED_WIDTH: 4}, "no operation"),
    "linear width": ({WIDTH: 3}, "no operation"),
    "narrowed": ({WIDTH: 1}, "no operation"),
    "outer loops": ({OUTER: 7}, "outer loops"),
    "more loops than numbers": ({OUTER: 1}, "length"),
    "parts": ({C_PARTS: 3}, "parts"),
    "negative storage": ({TILED_BYTES: -1}, "storage"),
    "too little tiled storage": ({TILED_BYTES: 143}, "tiled side"),
    "too little linear storage": ({LINEAR_BYTES: 139}, "linear side"),
    "count": ({COUNT: 2}, "tiled side"),
    "no count": ({COUNT: 0}, "side"),
    "a count that wraps around": ({COUNT: 1 << 62, STEP: 4}, "tiled side"),
    "no step": ({COUNT: 2, STEP: 0}, "tiled side"),
    "a step back that is never made": ({STEP: -16}, "tiled side"),
    "extent": ({EXTENT + 2: 3}, "linear side|span"),
    "no pixels": ({EXTENT + 3: 0}, "pixels"),
    "stored channels": ({STORED: 8}, "channels"),
    "channel stride": ({C_STRIDE: 4}, "linear side"),
    "tiled offset": ({OFFSET: 16}, "tiled side"),
    "tiled offset before": ({OFFSET: -16}, "before"),
    "linear offset": ({LINEAR_OFFSET: 2}, "linear side"),
    "linear offset before": ({LINEAR_OFFSET: -2}, "before"),
    "span": ({SPAN: 139}, "span"),
    "wide span": ({SPAN: 145}, "tiled side"),
}


@pytest.mark.parametrize(("changes", "reason"), FLAWS.values(), ids=FLAWS.keys())
def test_flaws(changes: dict[int, int], reason: str) -> None:
    """Each kind of flaw is named, by `run` and by `attempt`, and no byte is written."""
    tiled, linear = np.zeros(256, np.uint8), np.full(256, 0xC3, np.uint8)
    with pytest.raises(ValueError, match=f"not a row program.*({reason})"):
        run(program(changes), tiled, linear)
    with pytest.raises(ValueError, match=f"not a row program.*({reason})"):
        native_rows.attempt(program(changes), [tiled], [linear])
    assert (linear == 0xC3).all()


def run(raw: bytes, tiled: np.ndarray, linear: np.ndarray) -> None:
    """The program on these arrays."""
    from tessbed.kernels.a65 import _rows

    _rows.run(raw, tiled.ctypes.data, tiled.size, linear.ctypes.data, linear.size)


@pytest.mark.parametrize(("tiled_bytes", "linear_bytes"), [(143, 140), (144, 139)], ids=["tiled", "linear"])
def test_storage_that_is_too_small(tiled_bytes: int, linear_bytes: int) -> None:
    """A sound program wants the storage that it was made for."""
    linear = np.full(linear_bytes, 0xC3, np.uint8)
    with pytest.raises(ValueError, match="wanted at least 144 and 140"):
        run(program(), np.zeros(tiled_bytes, np.uint8), linear)
    assert (linear == 0xC3).all()


@pytest.mark.parametrize("cut", [0, 8, 120, 280], ids=str)
def test_half_a_program(cut: int) -> None:
    """What is shorter than a program is none."""
    with pytest.raises(ValueError, match="not a row program"):
        native_rows.attempt(program()[:cut], [np.zeros(144, np.uint8)], [np.zeros(140, np.uint8)])


def test_programs_are_bytes() -> None:
    """What could change after it was checked is no program."""
    with pytest.raises(TypeError, match="a row program is bytes"):
        native_rows.attempt(bytearray(program()), [np.zeros(144, np.uint8)], [np.zeros(140, np.uint8)])  # pyright: ignore[reportArgumentType]


def test_checked_programs_are_remembered_by_identity() -> None:
    """However many programs there were, each flawed one is refused, and each sound one runs, time and again."""
    tiled, sound = np.zeros(256, np.uint8), [program() for _ in range(100)]
    for round_ in range(3):
        for good in sound:
            flawed = program({LINEAR_OFFSET: 2 + round_})
            run(good, tiled, np.zeros(140, np.uint8))
            with pytest.raises(ValueError, match="linear side"):
                run(flawed, tiled, np.zeros(140, np.uint8))
            del flawed


def test_any_stride_on_a_unit_axis() -> None:
    """The stride of an axis of extent 1 is never used, so it may be larger than any storage."""
    spec = TensorSpec((1, 7), DType.BF16, MlaTiled((-1, -1, 0, 1), (1, 1, 1, 7)))
    linear = TensorSpec((1, 7), DType.BF16, Strided((1 << 70, 2)))
    target = np.zeros(14, np.uint8)
    with using("native"):
        prepared = a65_detess.check_inference(detess.Request([spec], [linear]))
    a65_detess.execute(prepared, [np.arange(16, dtype=np.uint8)], [target])
    assert target.tolist() == [0, 7, 1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6, 13]
