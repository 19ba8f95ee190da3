"""What the array functions' arguments mean: scalar types, axes and tiles, and the parameters of an operation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import BindingError, ContractError, shown
from tessbed.kernels.operations import Operation, TileFormat, names_where
from tessbed.kernels.ops.requests import requests_of
from tessbed.kernels.tensor import ChannelStorage, MlaCBlocked, MlaTiled, entries

MAPPED = "DHWC"
STORAGE = {"compact": ChannelStorage.COMPACT, "pad16": ChannelStorage.PAD16}
ARRAY_DTYPES = {DType.INT8: ("int8",), DType.BF16: ("uint16", "bfloat16"), DType.FP32: ("float32",)}
"""What numpy calls each scalar type."""
_FLOATS = "casttess rounds float32 to BF16, quanttess quantizes it to INT8"
_SMALL = "values are not converted here: .astype(np.int8) takes those from -128 to 127"
ADVICE = {
    "x": {
        "uint8": "its bytes as INT8 are x.view(np.int8)",
        "bool": "its bytes as INT8 are x.view(np.int8)",
        "int16": "its bits as BF16 words are x.view(np.uint16)",
        "float32": _FLOATS,
        **dict.fromkeys(("float16", "float64"), f"take .astype(np.float32): {_FLOATS}"),
        **dict.fromkeys(("uint32", "uint64", "int32", "int64"), _SMALL),
    },
    "result": {
        "uint8": "ask for int8 and take the result's bytes with .view(np.uint8)",
        "int16": "ask for uint16 and take the result's bits with .view(np.int16)",
        **dict.fromkeys(("float16", "float64"), "detesscast and detessdequant give float32: convert that with .astype"),
        "float32": "detesscast widens BF16 to float32, detessdequant dequantizes INT8",
    },
}
"""What to do about an array's scalar type, and about one that is asked for."""
ALIASES = {"bf16": "uint16", "fp32": "float32"}
_PORTS = {True: {"inputs[0]": "x", "outputs[0]": "tiles"}, False: {"inputs[0]": "tiled", "outputs[0]": "out"}}
"""What the functions that pack, and those that unpack, call the storage of a request."""
_TILE = re.compile(r"[a-z]+\[0]\.layout\.tile(?:_shape\.|_)([dhwc])")


def in_argument_names(op: Operation, error: ContractError | BindingError) -> ContractError | BindingError:
    """The error with the caller's arguments in the place of the request's ports and parameters."""
    return type(error)(error.code, _argument_names(op, error.where), error.text)


@contextmanager
def argument_names(op: Operation) -> Iterator[None]:
    """Whatever is refused inside is refused in the words of the caller's arguments."""
    try:
        yield
    except (ContractError, BindingError) as error:
        raise in_argument_names(op, error) from None


def _argument_names(op: Operation, where: str) -> str:
    if found := _TILE.fullmatch(where):
        return f"tile, extent of {found[1].upper()}"
    for parameter in op.parameters:
        if where == f"params.{parameter.name}":
            return parameter.argument
    if not op.packs:
        where = re.sub(r"[a-z]+\[0]\.shape", "shape", where)
    for port, name in _PORTS[op.packs].items():
        where = where.replace(port, name)
    return where


def parameters_of(op: Operation, arguments: Mapping[str, Any]) -> Any:
    """The operation's Params; TypeError for an argument that is none of its parameters."""
    names = {parameter.argument: parameter.name for parameter in op.parameters}
    unknown = [argument for argument in arguments if argument not in names]
    if unknown:
        raise TypeError(f"{op.name}() got an unexpected keyword argument {unknown[0]!r}")
    given = {names[argument]: value for argument, value in arguments.items() if value is not None}
    return requests_of(op).Params(**given)


def only_or_asked(asked: DTypeLike | str | None, where: str, admitted: tuple[DType, ...]) -> tuple[DType, np.dtype]:
    """The scalar type that is asked for, or the only one that there is."""
    if len(admitted) == 1:
        return admitted[0], np.dtype(ARRAY_DTYPES[admitted[0]][0])
    return scalar_type(asked, where, admitted)


def scalar_type(dtype: DTypeLike | str | None, where: str, admitted: tuple[DType, ...]) -> tuple[DType, np.dtype]:
    """The scalar type, and the numpy dtype that the caller speaks; ml_dtypes is recognised, never imported."""
    kinds = {name: kind for kind in admitted for name in ARRAY_DTYPES[kind]}
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


def tiled_layout(op: Operation, axes: str, tile: Sequence[int], channels: str, rank: int) -> MlaTiled | MlaCBlocked:
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
