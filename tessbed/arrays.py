"""Array functions, the operations on arrays: numpy in, numpy out, on the A65 executor.

`axes` names the logical axes with letters: D, H, W and C are tiled (C is required), any other letter is an independent
outer axis. `tile` has one extent for each of D, H, W, C that `axes` names, in the same order.
BF16 is its 16-bit words: uint16, or ml_dtypes.bfloat16 taken by its bits. Values change only where an operation says.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tessbed.kernels.a65.executor import executor_of
from tessbed.kernels.a65.prepared import PreparedExecution
from tessbed.kernels.admission import linear_strides
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import BindingError, ContractError, shown
from tessbed.kernels.operations import OPERATIONS, Operation, TileFormat, names_where
from tessbed.kernels.ops.requests import requests_of
from tessbed.kernels.storage import HostBuffer
from tessbed.kernels.tensor import (
    ChannelStorage,
    Contiguous,
    MlaCBlocked,
    MlaTiled,
    Strided,
    TensorSpec,
    entries,
)
from tessbed.kernels.tiling import TILE_ALIGNMENT_BYTES

__all__ = ["casttess", "detess", "detesscast", "detessdequant", "quanttess", "tess"]
MAPPED = "DHWC"
ALWAYS_THERE_BYTES = 1 << 28
MACHINE_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 62
STORAGE = {"compact": ChannelStorage.COMPACT, "pad16": ChannelStorage.PAD16}
SPOKEN = {DType.INT8: ("int8",), DType.BF16: ("uint16", "bfloat16"), DType.FP32: ("float32",)}
"""What numpy calls each scalar type."""
_FLOATS = "floating-point values are not converted here: round them with .astype(ml_dtypes.bfloat16)"
_SMALL = "values are not converted here: .astype(np.int8) takes those from -128 to 127"
ADVICE = {
    "x": {
        "uint8": "its bytes as INT8 are x.view(np.int8)",
        "bool": "its bytes as INT8 are x.view(np.int8)",
        "int16": "its bits as BF16 words are x.view(np.uint16)",
        "float16": _FLOATS,
        "float32": _FLOATS,
        "float64": _FLOATS,
        **dict.fromkeys(("uint32", "uint64", "int32", "int64"), _SMALL),
    },
    "result": {
        "uint8": "ask for int8 and take the result's bytes with .view(np.uint8)",
        "int16": "ask for uint16 and take the result's bits with .view(np.int16)",
        **dict.fromkeys(("float16", "float64"), "detesscast gives float32: convert its result with .astype"),
        "float32": "detesscast widens BF16 to float32",
    },
}
"""What to do about an array's scalar type, and about one that is asked for."""
ALIASES = {"bf16": "uint16", "fp32": "float32"}


def tess(
    x: np.ndarray,
    *,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    fill: int | None = None,
) -> np.ndarray:
    """Packs `x` into tiles: a 1-D uint8 array of the tiled side's required bytes.

    A strided view is read in place where its strides are admitted, and copied first where they are not (negative,
    broadcast). `fill` is the raw INT8 byte of padded channels, required for INT8 with "pad16".
    Raises ContractError (a ValueError) for what is no array, what the Tess document does not admit, and what this
    machine has no memory for.
    """
    return pack(OPERATIONS["tess"], x, tile=tile, axes=axes, channels=channels, fill=fill)


def detess(
    tiled: np.ndarray,
    *,
    shape: Sequence[int],
    dtype: DTypeLike | str,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Unpacks tiles into an array of `shape` and `dtype` (int8, uint16 or "bf16", ml_dtypes.bfloat16).

    `tiled` is at least the tiled side's required bytes. `out`, if given, receives the result in its own strides,
    and its gaps stay untouched. Raises ContractError as in `tess`, and BindingError (a ValueError too) where the memory
    of `tiled` or `out` does not fit: too small, not plain bytes, not aligned for its type, shared by both.
    """
    row = OPERATIONS["detess"]
    return unpack(row, tiled, shape=shape, dtype=dtype, tile=tile, axes=axes, channels=channels, out=out)


def detesscast(
    tiled: np.ndarray,
    *,
    shape: Sequence[int],
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    to: DTypeLike | str = "fp32",
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Unpacks BF16 tiles into float32 (`to="fp32"`) or BF16 (`to="bf16"` for uint16, or ml_dtypes.bfloat16).

    `channels` is "compact", "pad16" or "cblocked"; the last needs axes that end with HWC. `tiled` and `out` are as
    in `detess`.
    """
    row = OPERATIONS["detesscast"]
    return unpack(row, tiled, shape=shape, to=to, tile=tile, axes=axes, channels=channels, out=out)


def casttess(
    x: np.ndarray,
    *,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
) -> np.ndarray:
    """Packs `x` (float32, rounded to BF16, or BF16 as it is) into BF16 tiles: as `tess`, without a fill.

    Rounds to nearest, ties to even; a NaN stays a NaN.
    """
    return pack(OPERATIONS["casttess"], x, tile=tile, axes=axes, channels=channels)


def quanttess(
    x: np.ndarray,
    *,
    tile: Sequence[int],
    scale: float,
    zero_point: int,
    rounding: str = "nearest_even",
    axes: str = "HWC",
    channels: str = "compact",
    fill: int | None = None,
) -> np.ndarray:
    """Packs `x` (float32) into INT8 tiles of `saturate(round(x * scale) + zero_point)`: as `tess`.

    `scale` is positive and finite as binary32, `zero_point` -128 to 127, `rounding` "nearest_even", "toward_zero", "up"
    or "down". `fill` is the code of padded channels, the zero point if it is None.
    """
    quantization = {"scale": scale, "zero_point": zero_point, "rounding": rounding, "fill": fill}
    return pack(OPERATIONS["quanttess"], x, tile=tile, axes=axes, channels=channels, **quantization)


def detessdequant(
    tiled: np.ndarray,
    *,
    shape: Sequence[int],
    tile: Sequence[int],
    scale: float,
    zero_point: int,
    axes: str = "HWC",
    channels: str = "compact",
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Unpacks INT8 tiles into float32 values `(code - zero_point) / scale`.

    `channels` is "compact", "pad16" or "cblocked"; the last needs axes that end with HWC. `tiled` and `out` are as
    in `detess`.
    """
    row, quantization = OPERATIONS["detessdequant"], {"scale": scale, "zero_point": zero_point}
    return unpack(row, tiled, shape=shape, tile=tile, axes=axes, channels=channels, out=out, **quantization)


def function(name: str) -> Callable[..., np.ndarray]:
    """The function of an operation, by its name: one of this module, or `pack` or `unpack` with the operation's row."""
    if name in __all__:
        return globals()[name]
    row = OPERATIONS.get(name)
    if row is None:
        text = f"module 'tessbed' has no attribute {name!r}; its operations are {', '.join(OPERATIONS)}"
        raise AttributeError(text)
    return partial(pack if row.packs else unpack, row)


def pack(
    op: Operation,
    x: np.ndarray,
    *,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    **arguments: Any,
) -> np.ndarray:
    """What `tess` does, for any operation that packs; `arguments` are its parameters."""
    x = _array(x)
    dtype, _ = _kind(x.dtype, "x.dtype", op.inputs)
    tiled = TensorSpec(x.shape, op.outputs(dtype)[0], _tiles(op, axes, tile, channels, x.ndim))
    params = _params(op, arguments)
    source, prepared = _admitted(op, x if x.flags.aligned else _dense(x), dtype, tiled, params)
    output = _aligned(prepared.plan.output.required_bytes)
    executor_of(op).execute(prepared, [_host(source, prepared.plan.input.required_bytes)], [output])
    return output


def unpack(
    op: Operation,
    tiled: np.ndarray,
    *,
    shape: Sequence[int],
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    dtype: DTypeLike | str | None = None,
    to: DTypeLike | str | None = None,
    out: np.ndarray | None = None,
    **arguments: Any,
) -> np.ndarray:
    """What `detess` and `detesscast` do, for any operation that unpacks; `arguments` are its parameters.

    `dtype` is the scalar type of the tiles where the operation reads several, `to` that of the result where it leaves a
    choice.
    """
    kind, numpy_dtype = _only_or_asked(dtype, "dtype", op.inputs)
    outputs = op.outputs(kind)
    target_kind, target_dtype = (kind, numpy_dtype) if outputs == (kind,) else _only_or_asked(to, "to", outputs)
    extents = entries("shape")(shape)
    spec = TensorSpec(extents, kind, _tiles(op, axes, tile, channels, len(extents)))
    linear = TensorSpec(extents, target_kind, _out_layout(out, extents, target_kind, target_dtype))
    request = requests_of(op).request(spec, linear, _params(op, arguments))
    prepared = executor_of(op).check_inference(request)
    source = _tile_bytes(tiled, prepared.plan.input.required_bytes)
    target = _empty(prepared.plan.shape, target_dtype) if out is None else out
    executor_of(op).execute(prepared, [source], [_host(target, prepared.plan.output.required_bytes)])
    return target


def _params(op: Operation, arguments: dict[str, Any]) -> Any:
    """The operation's Params; TypeError for an argument that is none of its parameters."""
    names = {parameter.argument: parameter.name for parameter in op.parameters}
    unknown = [argument for argument in arguments if argument not in names]
    if unknown:
        raise TypeError(f"{op.name}() got an unexpected keyword argument {unknown[0]!r}")
    given = {names[argument]: value for argument, value in arguments.items() if value is not None}
    return requests_of(op).Params(**given)


def _only_or_asked(asked: DTypeLike | str | None, where: str, admitted: tuple[DType, ...]) -> tuple[DType, np.dtype]:
    """The scalar type that is asked for, or the only one that there is."""
    if len(admitted) == 1:
        return admitted[0], np.dtype(SPOKEN[admitted[0]][0])
    return _kind(asked, where, admitted)


def _kind(dtype: DTypeLike | str | None, where: str, admitted: tuple[DType, ...]) -> tuple[DType, np.dtype]:
    """The scalar type, and the numpy dtype that the caller speaks; ml_dtypes is recognised, never imported."""
    kinds = {name: kind for kind in admitted for name in SPOKEN[kind]}
    numpy_dtype = _numpy_dtype(ALIASES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    plain = numpy_dtype is not None and numpy_dtype.isnative and numpy_dtype.subdtype is None
    name = numpy_dtype.name if numpy_dtype is not None and plain else None
    if numpy_dtype is None or name not in kinds:
        got = (
            shown(dtype)
            if numpy_dtype is None or dtype is None
            else shown(numpy_dtype)
            if numpy_dtype.names
            else str(numpy_dtype)
        )
        advice = ADVICE["x" if where == "x.dtype" else "result"].get(
            numpy_dtype.name if numpy_dtype is not None else "", ""
        )
        if numpy_dtype is not None and not numpy_dtype.isnative:
            advice = "turn its bytes with .astype(dtype.newbyteorder('='))"
        raise ContractError(
            "dtype_unsupported",
            where,
            f"got {got}, wanted one of {', '.join(kinds)}; {advice or 'BF16 words are uint16 or ml_dtypes.bfloat16'}",
        )
    return kinds[name], numpy_dtype


def _numpy_dtype(dtype: DTypeLike | str | None) -> np.dtype | None:
    """What numpy makes of `dtype`; None where it makes nothing of it, for which it has errors of many classes."""
    try:
        return np.dtype(dtype)
    except Exception:
        return None


def _checked_axes(axes: str, tile: Sequence[int], rank: int) -> dict[str, int]:
    """The tile extent of each mapped letter."""
    if not isinstance(axes, str) or len(axes) != rank:
        letters = f"{len(axes)} letters" if isinstance(axes, str) else "no text"
        raise ContractError(
            "axes_letters",
            "axes",
            f"got {shown(axes)}, {letters}, for a tensor of {rank} axes; wanted {rank} letters, one for each axis",
        )
    twice = [letter for letter in MAPPED if axes.count(letter) > 1]
    if twice or not all(letter.isalpha() and letter.isupper() for letter in axes):
        raise ContractError(
            "axes_letters", "axes", f"got {shown(axes)}, wanted capital letters with each of D, H, W, C at most once"
        )
    if rank and "C" not in axes:
        raise ContractError(
            "channel_axis_missing", "axes", f"got {shown(axes)}, wanted a C among them; the channel axis is required"
        )
    mapped = [letter for letter in axes if letter in MAPPED]
    extents = entries("tile")(tile)
    if len(extents) != len(mapped):
        raise ContractError(
            "tile_count",
            "tile",
            f"got {len(extents)} extents, {shown(extents)}, for axes {axes!r}; "
            f"wanted {len(mapped)}, one for each of {', '.join(mapped)}",
        )
    return dict(zip(mapped, extents, strict=True))


def _tiles(op: Operation, axes: str, tile: Sequence[int], channels: str, rank: int) -> MlaTiled | MlaCBlocked:
    if isinstance(channels, str) and channels == "cblocked" and _reads_blocks(op):
        return _blocks(axes, tile, rank)
    extents = _checked_axes(axes, tile, rank)
    if not isinstance(channels, str) or channels not in STORAGE:
        raise ContractError(
            "channel_storage",
            "channels",
            f"got {shown(channels)}, wanted 'compact' or 'pad16' ('cblocked' for {names_where(_reads_blocks)} only)",
        )
    return MlaTiled(
        [axes.find(letter) for letter in MAPPED], [extents.get(letter, 1) for letter in MAPPED], STORAGE[channels]
    )


def _reads_blocks(op: Operation) -> bool:
    return TileFormat.CBLOCKED in op.formats


def _blocks(axes: str, tile: Sequence[int], rank: int) -> MlaCBlocked:
    extents = _checked_axes(axes, tile, rank)
    if not axes.endswith("HWC") or "D" in axes:
        raise ContractError("axes_letters", "axes", f"got {axes!r}, wanted channel blocks to end with HWC, without D")
    return MlaCBlocked(extents["H"], extents["W"], extents["C"])


def _array(x: object) -> np.ndarray:
    """`x` as an array; numpy's many complaints about what is none become one."""
    try:
        return np.asarray(x)
    except (TypeError, ValueError, OverflowError, BufferError) as error:
        text = f"got {type(x).__name__} that numpy makes no array of ({error}), wanted an array"
        raise ContractError("not_an_array", "x", text) from error


def _layout(array: np.ndarray) -> Contiguous | Strided:
    """The array's strides; that of an axis of extent 1 means nothing, and numpy leaves anything there."""
    if array.flags.c_contiguous:
        return Contiguous()
    pairs = zip(array.shape, array.strides, strict=True)
    return Strided(tuple(array.itemsize if extent == 1 else stride for extent, stride in pairs))


def _check_memory(count: int, where: str) -> None:
    """Refuses what the machine could not hold: the system may grant the memory, and end the process that uses it."""
    if count >= ALWAYS_THERE_BYTES and count > MACHINE_BYTES:
        raise _no_memory(count, where)


def _no_memory(count: int, where: str) -> ContractError:
    return ContractError(
        "no_memory", where, f"got {count} bytes to allocate, wanted what this machine has; split the tensor"
    )


def _dense(x: np.ndarray) -> np.ndarray:
    """A dense copy of `x`, at an address that is aligned for its type."""
    _check_memory(x.nbytes, "x")
    try:
        return np.array(x, order="C", copy=True)
    except MemoryError as error:
        raise _no_memory(x.nbytes, "x") from error


def _empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A dense array whose content is still to be written."""
    count = prod(shape) * dtype.itemsize
    _check_memory(count, "shape")
    try:
        return np.empty(shape, dtype)
    except MemoryError as error:
        raise _no_memory(count, "shape") from error


def _admitted(
    op: Operation, x: np.ndarray, dtype: DType, tiled: TensorSpec, params: object
) -> tuple[np.ndarray, PreparedExecution]:
    """The array to read and the execution that reads it: `x` itself, or a dense copy where its strides are refused."""
    try:
        request = requests_of(op).request(tiled, TensorSpec(x.shape, dtype, _layout(x)), params)
        return x, executor_of(op).check_inference(request)
    except ContractError as error:
        if not error.code.startswith("stride"):
            raise
        executor_of(op).check_inference(requests_of(op).request(tiled, TensorSpec(x.shape, dtype), params))
        return _admitted(op, _dense(x), dtype, tiled, params)


def _out_layout(out: np.ndarray | None, shape: tuple[int, ...], kind: DType, dtype: np.dtype) -> Contiguous | Strided:
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
    layout = _layout(out)
    try:
        linear_strides(TensorSpec(shape, kind, layout), "out", shape)
    except ContractError as error:
        raise ContractError(error.code, error.where.replace("out.layout", "out"), error.text) from None
    return layout


def _host(array: np.ndarray, required_bytes: int) -> HostBuffer | None:
    """The storage that a strided view reaches; None where it is empty."""
    return HostBuffer(array.__array_interface__["data"][0], required_bytes) if required_bytes else None


def _tile_bytes(tiled: np.ndarray, required_bytes: int) -> np.ndarray:
    """The tiles as bytes at an aligned address, copied only where they are not aligned already."""
    flat = _flat_bytes(tiled)
    if flat.size < required_bytes:
        raise BindingError("capacity", "tiled", f"got {flat.size} bytes, wanted at least {required_bytes}")
    if flat.size == 0 or flat.__array_interface__["data"][0] % TILE_ALIGNMENT_BYTES == 0:
        return flat
    aligned = _aligned(flat.size)
    aligned[:] = flat
    return aligned


def _flat_bytes(tiled: np.ndarray) -> np.ndarray:
    try:
        array = tiled if isinstance(tiled, np.ndarray) else np.frombuffer(tiled, np.uint8)
        if array.dtype.hasobject:
            raise TypeError
        dense = array if array.flags.c_contiguous else _dense(array)
        return dense.reshape(-1).view(np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        if isinstance(error, ContractError):
            raise
        raise BindingError("type", "tiled", f"got {type(tiled).__name__}, wanted an array of plain bytes") from None


def _aligned(size_bytes: int) -> np.ndarray:
    _check_memory(size_bytes, "tiled")
    try:
        storage = np.empty(size_bytes + TILE_ALIGNMENT_BYTES, np.uint8)
    except MemoryError as error:
        raise _no_memory(size_bytes, "tiled") from error
    first = -storage.__array_interface__["data"][0] % TILE_ALIGNMENT_BYTES
    return storage[first : first + size_bytes]
