"""Storage that does not fit a plan is refused with a code, before the first byte is written."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from tessbed.kernels import BindingError, DType, HostBuffer, MlaTiled, TensorSpec
from tessbed.kernels.a65 import detess, tess
from tessbed.kernels.ops import detess as detess_op
from tessbed.kernels.ops import tess as tess_op
from tests.kernels.a65.running import engines, guarded, using

LAYOUT = MlaTiled((-1, -1, 0, 1), (1, 1, 2, 16))
LINEAR, TILED = TensorSpec((2, 17), DType.BF16), TensorSpec((2, 17), DType.BF16, LAYOUT)
LINEAR_BYTES, TILED_BYTES = 68, 80

_, SOURCE = guarded(LINEAR_BYTES)
_, TARGET = guarded(TILED_BYTES)
_, WIDE = guarded(512)


def address(array: np.ndarray) -> int:
    """Where an array's bytes start."""
    return array.__array_interface__["data"][0]


def frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


REFUSALS: dict[str, tuple[Callable[[], tuple[object, object]], str, str]] = {
    "no input": (lambda: ([], [TARGET]), "arity", "inputs"),
    "two inputs": (lambda: ([SOURCE, SOURCE], [TARGET]), "arity", "inputs"),
    "two outputs": (lambda: ((SOURCE,), (TARGET, TARGET)), "arity", "outputs"),
    "the array itself": (lambda: (SOURCE, [TARGET]), "type", "inputs"),
    "bytes themselves": (lambda: (bytes(68), [TARGET]), "type", "inputs"),
    "no sequence": (lambda: ([SOURCE], None), "type", "outputs"),
    "None": (lambda: ([None], [TARGET]), "missing", "inputs[0]"),
    "None for an output": (lambda: ([SOURCE], [None]), "missing", "outputs[0]"),
    "a null address": (lambda: ([HostBuffer(0, 68)], [TARGET]), "missing", "inputs[0]"),
    "a number": (lambda: ([68], [TARGET]), "type", "inputs[0]"),
    "text": (lambda: (["x" * 68], [TARGET]), "type", "inputs[0]"),
    "objects": (lambda: ([np.full(17, None)], [TARGET]), "type", "inputs[0]"),
    "an address in text": (lambda: ([HostBuffer("1", 68)], [TARGET]), "type", "inputs[0].address"),  # pyright: ignore[reportArgumentType]
    "a capacity in text": (lambda: ([HostBuffer(16, "68")], [TARGET]), "type", "inputs[0].capacity"),  # pyright: ignore[reportArgumentType]
    "every other byte": (lambda: ([WIDE[::2]], [TARGET]), "not_contiguous", "inputs[0]"),
    "a backward view": (lambda: ([SOURCE[::-1]], [TARGET]), "not_contiguous", "inputs[0]"),
    "a transposed view": (lambda: ([SOURCE.reshape(4, 17).T], [TARGET]), "not_contiguous", "inputs[0]"),
    "a memoryview with gaps": (lambda: ([memoryview(WIDE)[::2]], [TARGET]), "not_contiguous", "inputs[0]"),
    "read-only array": (lambda: ([SOURCE], [frozen(TARGET)]), "read_only", "outputs[0]"),
    "read-only bytes": (lambda: ([SOURCE], [bytes(96)]), "read_only", "outputs[0]"),
    "read-only memoryview": (lambda: ([SOURCE], [memoryview(TARGET).toreadonly()]), "read_only", "outputs[0]"),
    "a short input": (lambda: ([SOURCE[:-1]], [TARGET]), "capacity", "inputs[0]"),
    "a short output": (lambda: ([SOURCE], [TARGET[:-1]]), "capacity", "outputs[0]"),
    "a short HostBuffer": (lambda: ([SOURCE], [HostBuffer(address(WIDE), 79)]), "capacity", "outputs[0]"),
    "no bytes": (lambda: ([b""], [TARGET]), "capacity", "inputs[0]"),
    "an odd linear address": (lambda: ([WIDE[1:70]], [TARGET]), "alignment", "inputs[0]"),
    "tiles at a multiple of 8": (lambda: ([SOURCE], [WIDE[8:]]), "alignment", "outputs[0]"),
    "a wrapping range": (lambda: ([HostBuffer(2**64 - 16, 68)], [TARGET]), "address_overflow", "inputs[0]"),
    "a negative address": (lambda: ([HostBuffer(-16, 68)], [TARGET]), "address_overflow", "inputs[0]"),
    "a negative capacity": (lambda: ([HostBuffer(16, -68)], [TARGET]), "address_overflow", "inputs[0]"),
    "in place": (lambda: ([WIDE], [WIDE]), "overlap", "outputs[0]"),
    "input inside the output": (lambda: ([WIDE[16:]], [WIDE]), "overlap", "outputs[0]"),
    "one byte in common": (lambda: ([WIDE[78:]], [WIDE]), "overlap", "outputs[0]"),
    "output inside the input": (lambda: ([WIDE], [WIDE[64:]]), "overlap", "outputs[0]"),
}


@pytest.mark.parametrize("name", engines())
@pytest.mark.parametrize(("views", "code", "where"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusal(views: Callable[[], tuple], code: str, where: str, name: str) -> None:
    """The binding is refused with this code at this port; no storage changed."""
    with using(name):
        prepared = tess.check_inference(tess_op.Request([LINEAR], [TILED]))
    SOURCE[:], TARGET[:], WIDE[:] = 0x11, 0x22, 0x33
    with pytest.raises(BindingError, match=r"got ") as caught:
        tess.execute(prepared, *views())
    assert (caught.value.code, caught.value.where) == (code, where)
    assert (SOURCE == 0x11).all()
    assert (TARGET == 0x22).all()
    assert (WIDE == 0x33).all()


@pytest.mark.parametrize("name", engines())
@pytest.mark.parametrize("common", [0, 1])
def test_one_byte_in_common_is_one_too_many(name: str, common: int) -> None:
    """An output may begin right behind the input's span, and not in its last byte."""
    linear, tiled = TensorSpec((1, 16 + common), DType.INT8), TensorSpec((1, 16 + common), DType.INT8, LAYOUT)
    with using(name):
        prepared = tess.check_inference(tess_op.Request([linear], [tiled], tess_op.Params(int8_channel_padding=0)))
    storage = guarded(256)[1]
    storage[:] = 7
    if common:
        with pytest.raises(BindingError, match="meet the input's 17 bytes"):
            tess.execute(prepared, [storage[:17]], [storage[16:]])
        assert (storage == 7).all()
    else:
        tess.execute(prepared, [storage[:16]], [storage[16:]])


def words(storage: np.ndarray) -> np.ndarray:
    """The same storage as 16-bit words in two dimensions."""
    return storage.view(np.uint16).reshape(2, 17)


ADMITTED: dict[str, Callable[[np.ndarray, np.ndarray], tuple[object, object]]] = {
    "arrays": lambda source, target: (source, target),
    "a read-only input": lambda source, target: (frozen(source), target),
    "bytes and bytearray": lambda source, target: (source.tobytes(), memoryview(target)),
    "words": lambda source, target: (words(source), target),
    "bfloat16": lambda source, target: (words(source).view(ml_dtypes.bfloat16), target),
    "raw addresses": lambda source, target: (HostBuffer(address(source), 68), HostBuffer(address(target), 80)),
    "spare capacity": lambda source, target: (HostBuffer(address(source), 4096), HostBuffer(address(target), 4096)),
    "more spare capacity than numpy counts": lambda source, target: (HostBuffer(address(source), 2**63), target),
}


@pytest.mark.parametrize("name", engines())
@pytest.mark.parametrize("views", ADMITTED.values(), ids=ADMITTED.keys())
def test_admitted(views: Callable[[np.ndarray, np.ndarray], tuple[object, object]], name: str) -> None:
    """Each kind of storage is taken as it is, and gives the same bytes."""
    with using(name):
        prepared = tess.check_inference(tess_op.Request([LINEAR], [TILED]))
    source, target = guarded(68)[1], guarded(80)[1]
    source[:], target[:] = np.arange(68, dtype=np.uint8), 0xC3
    tess.execute(prepared, *([view] for view in views(source, target)))
    first_pixel = bytes(range(0, 32, 2)) + bytes(range(1, 32, 2))
    tail = bytes([32, 33, 66, 67]) + bytes(12)
    assert target[:32].tobytes() == first_pixel
    assert target[64:].tobytes() == tail


@pytest.mark.parametrize("name", engines())
@pytest.mark.parametrize("tiled_first", [True, False], ids=["tiled first", "linear first"])
def test_adjacent_views(tiled_first: bool, name: str) -> None:
    """Two views of one allocation that touch but do not meet are admitted, in either order."""
    storage = guarded(160)[1]
    tiled, linear = (storage[:80], storage[80:148]) if tiled_first else (storage[80:160], storage[12:80])
    linear[:] = np.arange(68, dtype=np.uint8)
    with using(name):
        tess.execute(tess.check_inference(tess_op.Request([LINEAR], [TILED])), [linear], [tiled])
        linear[:] = 0
        detess.execute(detess.check_inference(detess_op.Request([TILED], [LINEAR])), [tiled], [linear])
    assert linear.tolist() == list(range(68))


def test_host_buffer_is_an_array() -> None:
    """numpy sees a HostBuffer as the bytes at its address."""
    assert np.asarray(HostBuffer(address(SOURCE), 68)).tobytes() == SOURCE.tobytes()
