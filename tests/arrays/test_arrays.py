# pyright: reportArgumentType=false
"""The face moves the caller's own arrays: the right bytes, in the caller's dtype, without surprises."""
# pyright: reportArgumentType=false

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tessbed
from tessbed import array_requests
from tessbed.kernels import BindingError, ContractError
from tests.golden.by_hand import BY_HAND, ByHand, hex_of
from tests.oracle import Geometry, expected_output, golden_bytes

BF16 = ml_dtypes.bfloat16
LETTERS = "DHWC"


def letters_of(geometry: Geometry) -> str:
    """The geometry's axes as the face spells them; N, T, ... for the outer ones."""
    if geometry.cblocked:
        return "NTX"[: len(geometry.shape) - 3] + "HWC"
    assert geometry.axes
    names = {axis: letter for axis, letter in zip(geometry.axes, LETTERS, strict=True) if axis >= 0}
    outer = iter("NTXY")
    return "".join(names[axis] if axis in names else next(outer) for axis in range(len(geometry.shape)))


def tile_of(geometry: Geometry) -> tuple[int, ...]:
    """One extent for each mapped letter, in their order."""
    if geometry.cblocked:
        return geometry.cblocked
    assert geometry.tile
    extents = dict(zip(LETTERS, geometry.tile, strict=True))
    return tuple(extents[letter] for letter in letters_of(geometry) if letter in extents)


def linear_array(geometry: Geometry, storage: bytearray | bytes) -> np.ndarray:
    """The linear side as a numpy view of `storage`, with the geometry's strides."""
    dtype = {"int8": np.int8, "bf16": np.uint16, "fp32": np.float32}[geometry.to or geometry.dtype]
    return np.ndarray(geometry.shape, dtype, storage, 0, geometry.strides_bytes)


def through_face(geometry: Geometry, source: bytes, output_bytes: int) -> bytes:
    """The bytes that the face writes for `source`, over the whole output span."""
    options = {"tile": tile_of(geometry), "axes": letters_of(geometry)}
    options["channels"] = "cblocked" if geometry.cblocked else "pad16" if geometry.pad16 else "compact"
    if geometry.op == "tess":
        filled = geometry.pad16 and geometry.dtype == "int8"
        return tessbed.tess(linear_array(geometry, source), fill=geometry.fill if filled else None, **options).tobytes()
    storage = bytearray([0xC3]) * output_bytes
    out = linear_array(geometry, storage)
    if geometry.op == "detess":
        options["dtype"] = geometry.dtype
    else:
        options["to"] = geometry.to
    function = tessbed.detess if geometry.op == "detess" else tessbed.detesscast
    assert function(np.frombuffer(source, np.uint8), shape=geometry.shape, out=out, **options) is out
    return bytes(storage)


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case.name)
def test_golden(case: ByHand) -> None:
    """Every case written by hand comes out of the face, gaps and padding included."""
    assert through_face(case.geometry, case.source, len(case.expected)).hex() == case.expected.hex()


def test_result_kind() -> None:
    """BF16 comes back in the kind that was asked for, FP32 as float32, INT8 as int8."""
    words = np.array([[0x3F80, 0xC000], [0x7FC1, 0xFF81]], np.uint16)
    tiled = tessbed.tess(words, tile=(1, 2), axes="WC")
    given = {"shape": (2, 2), "tile": (1, 2), "axes": "WC"}
    assert tessbed.tess(words.view(BF16), tile=(1, 2), axes="WC").tobytes() == tiled.tobytes()
    for kind, dtype in ((np.uint16, np.uint16), ("bf16", np.uint16), (BF16, BF16)):
        out = tessbed.detess(tiled, dtype=kind, **given)
        assert out.dtype == dtype
        assert out.view(np.uint16).tolist() == words.tolist()
        assert tessbed.detesscast(tiled, to=kind, **given).dtype == dtype
    wide = tessbed.detesscast(tiled, **given)
    assert wide.dtype == np.float32
    assert wide.view(np.uint32).tolist() == (words.astype(np.uint32) << 16).tolist()
    packed = tessbed.tess(np.zeros((1, 1, 3), np.int8), tile=(1, 1, 3), channels="pad16", fill=-1)
    assert packed.tobytes() == hex_of("00*3 ff*13")
    assert tessbed.detess(packed, shape=(1, 1, 3), dtype="int8", tile=(1, 1, 3), channels="pad16").dtype == np.int8


VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transposed": lambda x: x.transpose(2, 0, 1),
    "pitched": lambda x: x[:, :7],
    "every other channel": lambda x: x[:, :, ::2],
    "reversed, copied": lambda x: x[::-1],
    "broadcast, copied": lambda x: np.broadcast_to(x[:1], x.shape),
    "misaligned, copied": lambda x: np.ndarray(x.shape, x.dtype, b"\0" + x.tobytes(), 1),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_strided_inputs(view: Callable[[np.ndarray], np.ndarray]) -> None:
    """A view packs like its dense copy, whether it is admitted as it is or copied first."""
    x = view(np.frombuffer(golden_bytes(9 * 8 * 18 * 2), np.uint16).reshape(9, 8, 18))
    geometry = Geometry("tess", x.shape, "bf16", (-1, 0, 1, 2), (1, 2, 3, 16))
    expected = expected_output(geometry, np.ascontiguousarray(x).tobytes(), 0xC3)
    assert tessbed.tess(x, tile=(2, 3, 16)).tobytes() == expected


def test_strided_input_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """An admitted view is read where it lies."""
    monkeypatch.setattr(array_requests, "dense_copy", lambda _: pytest.fail("copied"))
    tessbed.tess(np.zeros((3, 8, 8), np.int8).transpose(1, 2, 0), tile=(4, 4, 3))


def test_misaligned_tiles() -> None:
    """Tiles at an odd address are read all the same."""
    tiled = np.arange(17, dtype=np.uint8)[1:]
    out = tessbed.detess(tiled, shape=(1, 1, 16), dtype=np.int8, tile=(1, 1, 16))
    assert out.ravel().tolist() == list(range(1, 17))


def test_empty() -> None:
    """An extent of 0 packs into no bytes and unpacks from none."""
    tiled = tessbed.tess(np.zeros((0, 4, 3), np.int8), tile=(1, 4, 3))
    assert tiled.shape == (0,)
    assert tessbed.detess(tiled, shape=(0, 4, 3), dtype=np.int8, tile=(1, 4, 3)).shape == (0, 4, 3)


def unpack(**arguments: Any) -> np.ndarray:
    """Detess of TILES."""
    return tessbed.detess(**{"tiled": TILES, "dtype": "int8", "tile": (4, 4, 3), **arguments})


IMAGE = np.zeros((4, 4, 3), np.int8)
TILES = np.zeros(48, np.uint8)
REFUSALS: dict[str, tuple[Callable[[], object], str, str]] = {
    "float input": (lambda: tessbed.tess(IMAGE.astype(np.float32), tile=(2, 2, 3)), "dtype_unsupported", "x.dtype"),
    "big-endian words": (lambda: tessbed.tess(IMAGE.astype(">u2"), tile=(2, 2, 3)), "dtype_unsupported", "x.dtype"),
    "letters": (lambda: tessbed.tess(IMAGE, tile=(2, 2, 3), axes="HW"), "axes_letters", "axes"),
    "letter twice": (lambda: tessbed.tess(IMAGE, tile=(2, 2, 3), axes="HHC"), "axes_letters", "axes"),
    "small letters": (lambda: tessbed.tess(IMAGE, tile=(2, 2, 3), axes="hwc"), "axes_letters", "axes"),
    "no channel": (lambda: tessbed.tess(IMAGE, tile=(2, 2), axes="HWN"), "channel_axis_missing", "axes"),
    "tile count": (lambda: tessbed.tess(IMAGE, tile=(2, 3)), "tile_count", "tile"),
    "tile extent": (lambda: tessbed.tess(IMAGE, tile=(2, 2, 0)), "tile_extent", "tile, extent of C"),
    "storage": (lambda: tessbed.tess(IMAGE, tile=(2, 2, 3), channels="cblocked"), "channel_storage", "channels"),
    "storage of another type": (
        lambda: tessbed.tess(IMAGE, tile=(2, 2, 3), channels=[]),
        "channel_storage",
        "channels",
    ),
    "one number for a tile": (lambda: tessbed.tess(IMAGE, tile=4), "not_a_sequence", "tile"),
    "one number for a shape": (lambda: unpack(shape=4), "not_a_sequence", "shape"),
    "negative extent": (lambda: unpack(shape=(-1, 4, 3)), "extent_invalid", "shape"),
    "fractional extent": (lambda: unpack(shape=(4.0, 4, 3)), "extent_invalid", "shape"),
    "extents past numpy": (lambda: unpack(shape=(2**70, 4, 3)), "storage_overflow", "tiled"),
    "rank past numpy": (lambda: unpack(shape=(1,) * 70, axes="N" * 69 + "C", tile=(1,)), "rank_too_large", "shape"),
    "out of another type": (lambda: unpack(shape=(4, 4, 3), out=[]), "out_mismatch", "out"),
    "fill missing": (lambda: tessbed.tess(IMAGE, tile=(2, 2, 3), channels="pad16"), "fill_required", "fill"),
    "block extent": (
        lambda: tessbed.detesscast(TILES, shape=(1, 1, 3), tile=(0, 1, 3), channels="cblocked"),
        "tile_extent",
        "tile, extent of H",
    ),
    "scalar": (lambda: tessbed.tess(np.int8(1), tile=(), axes=""), "rank_zero", "shape"),
    "fp16": (
        lambda: tessbed.detesscast(TILES, shape=(1, 1, 3), tile=(1, 1, 3), to=np.float16),
        "dtype_unsupported",
        "to",
    ),
    "blocks without HWC": (
        lambda: tessbed.detesscast(TILES, shape=(3, 1, 1), tile=(3, 1, 1), axes="CHW", channels="cblocked"),
        "axes_letters",
        "axes",
    ),
    "out of another shape": (
        lambda: tessbed.detess(TILES, shape=(4, 4, 3), dtype="int8", tile=(4, 4, 3), out=IMAGE[:2]),
        "out_mismatch",
        "out",
    ),
    "read-only out": (
        lambda: tessbed.detess(
            TILES, shape=(4, 4, 3), dtype="int8", tile=(4, 4, 3), out=np.broadcast_to(IMAGE, (4, 4, 3))
        ),
        "out_read_only",
        "out",
    ),
}


@pytest.mark.parametrize(("call", "code", "where"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals(call: Callable[[], object], code: str, where: str) -> None:
    """An error is refused with a code, the argument's name, and what was wanted."""
    with pytest.raises(ContractError, match="wanted") as caught:
        call()
    assert caught.value.code == code
    assert where in caught.value.where
    assert not any(word in str(caught.value) for word in ("layout", "params", "puts[0]"))


def test_a_simulated_device_names_the_same_arguments() -> None:
    """What runs on an EV74 refuses in the same words."""
    with pytest.raises(ContractError, match=r"^tile, extent of C: got 0, wanted"):
        tessbed.Ev74().tess(IMAGE, tile=(2, 2, 0))
    with pytest.raises(ContractError, match=r"^scale: got 0, wanted"):
        tessbed.Ev74().detessdequant(TILES, shape=(4, 4, 3), tile=(4, 4, 3), scale=0, zero_point=0)


class Hostile:
    """An object whose every answer is an error of its own."""

    def _refuse(self, *_: object) -> Any:
        raise RuntimeError("no")

    __array__ = __index__ = __float__ = __repr__ = __str__ = _refuse


QUANTIZED = {"tile": (2, 2, 3), "scale": 1.5, "zero_point": 3, "channels": "pad16"}


@pytest.mark.parametrize("name", ["x", "tile", "axes", "channels", "fill", "scale", "zero_point", "rounding", "extent"])
def test_whatever_an_argument_is(name: str) -> None:
    """An object that answers nothing but errors of its own is refused like any other that is wrong, by its argument."""
    given: dict[str, Any] = {"x": np.zeros((4, 4, 3), np.float32), **QUANTIZED}
    given |= {"tile": (2, Hostile(), 3)} if name == "extent" else {name: Hostile()}
    with pytest.raises(ContractError, match="wanted") as caught:
        tessbed.quanttess(given.pop("x"), **given)
    assert caught.value.where.startswith("tile, extent of W" if name == "extent" else name)


def test_too_few_tile_bytes() -> None:
    """Tiles that are too short say how many bytes were wanted."""
    with pytest.raises(BindingError, match="47 bytes, wanted at least 48") as caught:
        tessbed.detess(TILES[:47], shape=(4, 4, 3), dtype="int8", tile=(4, 4, 3))
    assert caught.value.code == "capacity"


def test_no_storage_for_tiles_that_are_not_there() -> None:
    """A shape of terabytes is refused for its short tiles, before anything of its size is asked for."""
    with pytest.raises(BindingError, match="48 bytes, wanted at least 4000000000000"):
        unpack(shape=(10**6, 10**6, 4), tile=(4, 4, 4))


@pytest.mark.parametrize("tiled", [None, [0] * 48, np.array([None] * 48)], ids=["none", "list", "objects"])
def test_tiles_that_are_no_bytes(tiled: object) -> None:
    """What has no plain bytes is refused by its type."""
    with pytest.raises(BindingError, match="wanted an array of plain bytes"):
        unpack(tiled=tiled, shape=(4, 4, 3))


def test_fill_of_numpy() -> None:
    """A fill taken out of an INT8 array is as good as an integer."""
    filled = [tessbed.tess(IMAGE, tile=(2, 2, 3), channels="pad16", fill=fill) for fill in (np.int8(-7), -7)]
    assert filled[0].tobytes() == filled[1].tobytes()


def test_version_needs_no_numpy() -> None:
    """Asking for the version loads neither numpy nor simpy; the face is there on first use."""
    code = (
        "import sys, tessbed; tessbed.__version__; assert not {'numpy', 'simpy'} & set(sys.modules); "
        "assert callable(tessbed.tess) and 'numpy' in sys.modules and 'tess' in dir(tessbed)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_name() -> None:
    """A name that is not there is an AttributeError, as in any module."""
    with pytest.raises(AttributeError, match="no attribute 'untess'"):
        _ = tessbed.untess
