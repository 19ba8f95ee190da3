"""What people pass to the array functions: taken where it means something, else refused in words that help."""

import itertools
import random
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tessbed
from tessbed import array_requests
from tessbed.kernels import BindingError, ContractError

WORDS = np.arange(200, dtype=np.uint16).reshape(1, 10, 20)
TILE = (4, 4, 16)
TILES = tessbed.tess(WORDS, tile=TILE)

OUTS: dict[str, Callable[[], np.ndarray]] = {
    "reversed": lambda: np.zeros((1, 20, 20), np.uint16)[::-1, ::2],
    "broadcast": lambda: np.lib.stride_tricks.as_strided(np.zeros((20, 20), np.uint16), (1, 10, 20), (0, 80, 2)),
    "odd": lambda: np.lib.stride_tricks.as_strided(np.zeros((20, 20), np.uint16), (1, 10, 20), (7, 80, 2)),
    "huge": lambda: np.lib.stride_tricks.as_strided(np.zeros((20, 20), np.uint16), (1, 10, 20), (2**62, 80, 2)),
    "smaller than the axes inside": lambda: np.zeros((10, 1, 40), np.uint16).transpose(1, 0, 2)[:, :, ::2],
}


@pytest.mark.parametrize("make", OUTS.values(), ids=OUTS.keys())
def test_stride_of_a_unit_axis(make: Callable[[], np.ndarray]) -> None:
    """The stride of an axis of extent 1 means nothing: such an array is written in place, and read in place."""
    out = make()
    assert not out.flags.c_contiguous
    result = tessbed.detess(TILES, shape=WORDS.shape, dtype="bf16", tile=TILE, out=out)
    assert result is out
    assert np.array_equal(out, WORDS)
    assert tessbed.detesscast(TILES, shape=WORDS.shape, to="bf16", tile=TILE, out=make()).tolist() == WORDS.tolist()
    assert np.array_equal(tessbed.tess(out, tile=TILE), TILES)


@pytest.mark.parametrize("make", OUTS.values(), ids=OUTS.keys())
def test_unit_axis_is_read_in_place(make: Callable[[], np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """An input with such an axis needs no copy."""
    monkeypatch.setattr(array_requests, "dense_copy", lambda _: pytest.fail("copied"))
    tessbed.tess(make(), tile=TILE)


def strided(*strides: int) -> np.ndarray:
    """A [1, 10, 20] view of words with these strides, over memory that holds it."""
    return np.lib.stride_tricks.as_strided(np.zeros(4000, np.uint16)[2000:], (1, 10, 20), strides)


REFUSED_OUTS = {
    "negative": (strided(400, -40, 2), "stride_negative", "out.strides[1]"),
    "overlap": (strided(400, 20, 2), "stride_overlap", "out.strides[1]"),
    "broadcast": (strided(400, 0, 2), "stride_zero", "out.strides[1]"),
}


@pytest.mark.parametrize(("out", "code", "where"), REFUSED_OUTS.values(), ids=REFUSED_OUTS.keys())
def test_out_that_can_not_be_written(out: np.ndarray, code: str, where: str) -> None:
    """An `out` whose elements overlap or run backwards is refused by its own name, and stays as it was."""
    with pytest.raises(ContractError, match="wanted") as caught:
        tessbed.detess(TILES, shape=WORDS.shape, dtype="bf16", tile=TILE, out=out)
    assert (caught.value.code, caught.value.where) == (code, where)
    assert not out.any()


def test_out_at_an_odd_address() -> None:
    """An `out` that is not aligned for its type is refused as storage."""
    out = np.ndarray((1, 10, 20), np.uint16, bytearray(401), 1)
    with pytest.raises(BindingError, match="wanted a multiple of 2") as caught:
        tessbed.detess(TILES, shape=WORDS.shape, dtype="bf16", tile=TILE, out=out)
    assert caught.value.code == "alignment"


def pack(x: object, **options: Any) -> np.ndarray:
    """Tess of `x`."""
    return tessbed.tess(x, **{"tile": (2, 2, 3), **options})  # pyright: ignore[reportArgumentType]


def unpack(**options: Any) -> np.ndarray:
    """Detess of WORDS' tiles."""
    return tessbed.detess(**{"tiled": TILES, "shape": (1, 10, 20), "dtype": "bf16", "tile": TILE, **options})


IMAGE = np.zeros((4, 4, 3), np.uint8)
MESSAGES: dict[str, tuple[Callable[[], object], str]] = {
    "uint8": (lambda: pack(IMAGE), r"x.dtype: got uint8, wanted one of int8, .*x\.view\(np\.int8\)"),
    "float32": (lambda: pack(IMAGE.astype(np.float32)), r"got float32, .*casttess rounds float32 to BF16, quanttess"),
    "float16": (lambda: pack(IMAGE.astype(np.float16)), r"got float16, .*\.astype\(np\.float32\): casttess"),
    "float64": (lambda: pack(IMAGE.astype(np.float64)), r"got float64, .*\.astype\(np\.float32\): casttess"),
    "int16": (lambda: pack(IMAGE.astype(np.int16)), r"got int16, .*x\.view\(np\.uint16\)"),
    "list": (lambda: pack([[[1, 2, 3]]]), r"got int64, .*\.astype\(np\.int8\)"),
    "big-endian": (lambda: pack(IMAGE.astype(">u2")), r"got >u2, .*newbyteorder"),
    "result uint8": (lambda: unpack(dtype="uint8"), r"dtype: got uint8, .*\.view\(np\.uint8\)"),
    "result float32": (lambda: unpack(dtype=np.float32), r"dtype: got float32, .*detesscast"),
    "result float16": (
        lambda: tessbed.detesscast(TILES, shape=(1, 10, 20), tile=TILE, to="float16"),
        r"to: got float16, .*\.astype",
    ),
    "datetime": (lambda: pack(np.zeros((4, 4, 3), "M8[s]")), r"got datetime64\[s\], wanted one of int8"),
    "structured": (lambda: pack(np.zeros((4, 4, 3), "i1,i1")), r"got dtype\(\[\('f0', 'i1'\).*wanted one of int8"),
    "objects": (lambda: pack(np.full((4, 4, 3), None)), "got object, wanted one of int8"),
    "subarray": (lambda: unpack(dtype=np.dtype((np.uint16, (2,)))), "wanted one of int8"),
    "surrogate": (lambda: unpack(dtype="\ud800"), r"got '\\ud800', wanted one of int8"),
    "half a list": (lambda: unpack(dtype="i4,,"), "got 'i4,,', wanted one of int8"),
    "fields twice": (lambda: unpack(dtype=[("a", "i1"), ("a", "i1")]), "wanted one of int8"),
    "no dtype": (lambda: unpack(dtype=None), "got None, wanted one of int8"),
    "ragged": (lambda: pack([[1, 2], [3]]), "x: got list that numpy makes no array of .*wanted an array"),
    "large integer": (lambda: pack([[2**70]], axes="HC", tile=(1, 1)), "got object, wanted one of int8"),
    "no mapped letter": (lambda: pack(IMAGE.view(np.int8), axes="XYZ"), "axes: got 'XYZ', wanted a C among them"),
    "no C": (lambda: pack(IMAGE.view(np.int8), axes="HWN", tile=(1, 1)), "axes: got 'HWN', wanted a C among them"),
    "too few letters": (
        lambda: pack(IMAGE.view(np.int8), axes="HW"),
        "axes: got 'HW', 2 letters, for a tensor of 3 axes; wanted 3 letters",
    ),
    "no letters": (lambda: pack(IMAGE.view(np.int8), axes=5), "axes: got 5, no text, for a tensor of 3 axes"),
    "too few extents": (
        lambda: pack(IMAGE.view(np.int8), tile=(2, 3)),
        r"tile: got 2 extents, \(2, 3\), for axes 'HWC'; wanted 3, one for each of H, W, C",
    ),
    "extents of outer axes": (
        lambda: pack(IMAGE.view(np.int8), axes="NWC"),
        r"tile: got 3 extents, \(2, 2, 3\), for axes 'NWC'; wanted 2, one for each of W, C",
    ),
    "endless tile": (lambda: pack(IMAGE.view(np.int8), tile=itertools.count()), "tile: got 256 extents"),
    "endless shape": (lambda: unpack(shape=itertools.count()), "axes: .*for a tensor of 256 axes"),
    "extent beyond print": (lambda: unpack(shape=(1, 10, 10**5000)), r"wanted at most 2\*\*63 - 1"),
    "negative beyond print": (lambda: unpack(shape=(1, 10, -(10**5000))), "wanted an integer of at least 0"),
    "tile beyond print": (lambda: unpack(tile=(1, 10, -(10**5000))), "wanted an integer of at least 1"),
    "fill beyond print": (
        lambda: pack(IMAGE.view(np.int8), channels="pad16", fill=10**5000),
        "wanted an integer from -128 to 127",
    ),
    "huge broadcast": (lambda: pack(np.broadcast_to(np.int8(1), (2**20, 2**20, 3))), "x: got 3298534883328 bytes"),
    "huger broadcast": (lambda: pack(np.broadcast_to(np.int8(1), (2**30, 2**30, 3))), "x: got 3458764513820540928"),
    "huge padding": (
        lambda: pack(np.broadcast_to(np.int8(1), (2**31, 2**30, 1)), channels="pad16", fill=0, tile=(1, 1, 1)),
        r"wanted at most 2\*\*63 - 1",
    ),
    "long axes": (lambda: unpack(axes="N" * 10_000), r"axes: got 'N{70,80}\.\.\., 10000 letters"),
}


@pytest.mark.parametrize(("call", "words"), MESSAGES.values(), ids=MESSAGES.keys())
def test_messages(call: Callable[[], object], words: str) -> None:
    """An error is answered by what was got, what was wanted, and what to do."""
    with pytest.raises(ContractError, match=words):
        call()


def test_advice_is_right() -> None:
    """What the messages advise is taken."""
    assert np.array_equal(pack(IMAGE.view(np.int8)), pack(IMAGE.astype(np.int8)))
    floats = np.linspace(-2, 2, 48, dtype=np.float32).reshape(4, 4, 3)
    words = floats.astype(ml_dtypes.bfloat16)
    assert np.array_equal(pack(words), pack(words.view(np.uint16)))
    assert np.array_equal(pack(words.view(np.int16).view(np.uint16)), pack(words))
    turned = words.view(np.uint16).astype(">u2")
    assert np.array_equal(pack(turned.astype(turned.dtype.newbyteorder("="))), pack(words))


TILED_KINDS: dict[str, tuple[object, str]] = {
    "text": ("tiles", "type"),
    "nothing": (b"", "capacity"),
    "objects": (np.full(4000, None), "type"),
    "objects in fields": (np.zeros(4000, "O,i1"), "type"),
    "gaps in a buffer": (memoryview(bytearray(4000))[::2], "type"),
}


@pytest.mark.parametrize(("tiled", "code"), TILED_KINDS.values(), ids=TILED_KINDS.keys())
def test_tiles_that_are_none(tiled: object, code: str) -> None:
    """What holds no plain bytes, or too few, is no tiles."""
    with pytest.raises(BindingError, match="wanted") as caught:
        unpack(tiled=tiled)
    assert caught.value.code == code


def test_a_view_of_tiles() -> None:
    """Tiles with gaps between them are copied together first; a view of terabytes is refused."""
    assert np.array_equal(unpack(tiled=np.repeat(TILES, 2)[::2]), WORDS)
    with pytest.raises(ContractError, match="no_memory"):
        unpack(tiled=np.broadcast_to(np.uint8(0), (2**45,)))


def test_memory_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an allocation fails, it is named, whichever it is."""

    def fail(*_: object, **__: object) -> np.ndarray:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(np, "empty", fail)
        for call in (lambda: pack(IMAGE.view(np.int8)), unpack):
            with pytest.raises(ContractError, match="no_memory"):
                call()
    with monkeypatch.context() as patched:
        patched.setattr(np, "array", fail)
        with pytest.raises(ContractError, match="no_memory"):
            pack(IMAGE.view(np.int8)[::-1])


OBJECTS: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 2**63, 10**400, 1.5, float("nan"), 1j, "", "C", "HWC", "XYZ", "NHWC", "\ud800", "bf16"),
    *("int8", "fp32", "pad16", "cblocked", "M8[s]", "i1,i1", "O", b"", b"abc", bytearray(9), (), (1,), (4, 4, 16)),
    *([2, 2, 3], [[1], [2, 3]], {1, 2}, {"a": 1}, range(3), object(), len, int, np.int8, np.float16, np.uint16),
    *(np.dtype("i1,i1"), np.dtype((np.int8, (2,))), np.int8(3), np.array(5), np.zeros(3), np.zeros((4, 4, 3), np.int8)),
    *(np.zeros((1, 10, 20), np.uint16), np.zeros((1, 10, 20), np.float32)[::-1], np.zeros((0, 4, 3), np.int8)),
    *(np.broadcast_to(np.int8(1), (2**40, 2, 3)), np.zeros(3, "M8[s]"), np.full((2, 2, 3), None), TILES, TILES[1:]),
)
CALLS: tuple[tuple[Callable[..., object], dict[str, Any]], ...] = (
    (tessbed.tess, {"x": WORDS, "tile": TILE, "axes": "HWC", "channels": "compact", "fill": None}),
    (tessbed.tess, {"x": IMAGE.view(np.int8), "tile": (2, 2, 3), "axes": "HWC", "channels": "pad16", "fill": 1}),
    (
        tessbed.detess,
        {"tiled": TILES, "shape": (1, 10, 20), "dtype": "bf16", "tile": TILE, "axes": "HWC", "channels": "compact"},
    ),
    (
        tessbed.detesscast,
        {"tiled": TILES, "shape": (1, 10, 20), "to": "fp32", "tile": TILE, "axes": "HWC", "channels": "compact"},
    ),
)


def refusal(function: Callable[..., object], arguments: dict[str, Any]) -> str:
    """The text of the documented error that a call raises; "" for one that returns an array."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's own, about dtypes
            result = function(**arguments)
    except (ContractError, BindingError) as error:
        return str(error)
    assert isinstance(result, np.ndarray)
    return ""


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_any_arguments(number: int) -> None:
    """Whatever the arguments are, a call returns an array or raises a documented error with text."""
    function, right = CALLS[number]
    names = [*right, *(["out"] if "tiled" in right else [])]
    changes = [{name: value} for name in names for value in OBJECTS]
    draw = random.Random(number)
    changes += [{name: draw.choice(OBJECTS) for name in draw.sample(names, 2)} for _ in range(1500)]
    refused = 0
    for change in changes:
        message = refusal(function, {**right, **change})
        refused += bool(message)
        assert not message or ("got" in message and len(message) < 500), message
    assert refused > len(changes) // 2
