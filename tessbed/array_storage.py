"""The storage of the array functions: allocates results and dense copies; arrays are read in place where that works."""

import os
from collections.abc import Callable
from math import prod

import numpy as np

from tessbed.kernels.admission import linear_strides
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import BindingError, ContractError, shown
from tessbed.kernels.storage import HostBuffer
from tessbed.kernels.tensor import Contiguous, Strided, TensorSpec
from tessbed.kernels.tiling import TILE_ALIGNMENT_BYTES

ALWAYS_THERE_BYTES = 1 << 28
MACHINE_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 62


def as_array(x: object) -> np.ndarray:
    """`x` as an array; the many complaints of numpy, and of objects of the caller's, about what is none become one."""
    try:
        return np.asarray(x)
    except Exception as error:
        text = f"got {type(x).__name__} that numpy makes no array of ({error}), wanted an array"
        raise ContractError("not_an_array", "x", text) from error


def layout_of(array: np.ndarray) -> Contiguous | Strided:
    """The array's strides; that of an axis of extent 1 means nothing, and numpy leaves anything there."""
    if array.flags.c_contiguous:
        return Contiguous()
    pairs = zip(array.shape, array.strides, strict=True)
    return Strided(tuple(array.itemsize if extent == 1 else stride for extent, stride in pairs))


def _allocated(count: int, where: str, make: Callable[[], np.ndarray]) -> np.ndarray:
    """What `make` allocates, `count` bytes; ContractError at `where` if this machine does not have them.

    What it could not hold is refused before: the system may grant the memory, and end the process that uses it.
    """
    beyond = count >= ALWAYS_THERE_BYTES and count > MACHINE_BYTES
    try:
        if not beyond:
            return make()
    except MemoryError:
        pass
    text = f"got {count} bytes to allocate, wanted what this machine has; split the tensor"
    raise ContractError("no_memory", where, text)


def dense_copy(x: np.ndarray) -> np.ndarray:
    """A dense copy of `x`, at an address that is aligned for its type."""
    return _allocated(x.nbytes, "x", lambda: np.array(x, order="C", copy=True))


def empty_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A dense array whose content is still to be written."""
    return _allocated(prod(shape) * dtype.itemsize, "shape", lambda: np.empty(shape, dtype))


def result_layout(out: np.ndarray | None, shape: tuple[int, ...], kind: DType, dtype: np.dtype) -> Contiguous | Strided:
    """How the result lies in memory: as in `out`, or dense."""
    if out is None:
        return Contiguous()
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.dtype} {list(out.shape)}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ContractError(
            "out_mismatch", "out", f"got {got}, wanted {dtype} {shown(list(shape))}; pass such an array"
        )
    if not out.flags.writeable:
        raise ContractError("out_read_only", "out", "got a read-only array, wanted a writable one")
    layout = layout_of(out)
    try:
        linear_strides(TensorSpec(shape, kind, layout), "out", shape)
    except ContractError as error:
        raise ContractError(error.code, error.where.replace("out.layout", "out"), error.text) from None
    return layout


def host_buffer(array: np.ndarray, required_bytes: int) -> HostBuffer | None:
    """The storage that a strided view reaches; None where it is empty."""
    return HostBuffer(array.__array_interface__["data"][0], required_bytes) if required_bytes else None


def tile_bytes(tiled: np.ndarray, required_bytes: int) -> np.ndarray:
    """The tiles as bytes at an aligned address, copied only where they are not aligned already."""
    flat = _flat_bytes(tiled)
    if flat.size < required_bytes:
        raise BindingError("capacity", "tiled", f"got {flat.size} bytes, wanted at least {required_bytes}")
    if flat.size == 0 or flat.__array_interface__["data"][0] % TILE_ALIGNMENT_BYTES == 0:
        return flat
    aligned = aligned_bytes(flat.size)
    aligned[:] = flat
    return aligned


def _flat_bytes(tiled: np.ndarray) -> np.ndarray:
    try:
        array = tiled if isinstance(tiled, np.ndarray) else np.frombuffer(tiled, np.uint8)
        if array.dtype.hasobject:
            raise TypeError
        dense = array if array.flags.c_contiguous else dense_copy(array)
        return dense.reshape(-1).view(np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        if isinstance(error, ContractError):
            raise
        raise BindingError("type", "tiled", f"got {type(tiled).__name__}, wanted an array of plain bytes") from None


def aligned_bytes(size_bytes: int) -> np.ndarray:
    """Storage for tiles: so many bytes, at an address that is aligned for them."""
    storage = _allocated(size_bytes, "tiled", lambda: np.empty(size_bytes + TILE_ALIGNMENT_BYTES, np.uint8))
    first = -storage.__array_interface__["data"][0] % TILE_ALIGNMENT_BYTES
    return storage[first : first + size_bytes]
