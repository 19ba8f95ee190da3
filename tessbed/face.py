"""The operations for a person with an array: numpy in, numpy out, on the A65 executor.

`axes` names the logical axes with letters: D, H, W and C are tiled (C is required), any other letter is an independent
outer axis. `tile` has one extent for each of D, H, W, C that `axes` names, in the same order.
BF16 is its 16-bit words: uint16, or ml_dtypes.bfloat16 taken by its bits. Nothing is converted on the way.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from tessbed.kernels.a65 import detess as a65_detess
from tessbed.kernels.a65 import detesscast as a65_detesscast
from tessbed.kernels.a65 import tess as a65_tess
from tessbed.kernels.a65.prepared import Prepared
from tessbed.kernels.binding import HostBuffer
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.ops import detess as detess_op
from tessbed.kernels.ops import detesscast as detesscast_op
from tessbed.kernels.ops import tess as tess_op
from tessbed.kernels.plan import TILE_ALIGNMENT_BYTES
from tessbed.kernels.tensor import ChannelStorage, Contiguous, MlaCBlocked, MlaTiled, Strided, TensorSpec

__all__ = ["detess", "detesscast", "tess"]
MAPPED = "DHWC"
STORAGE = {"compact": ChannelStorage.COMPACT, "pad16": ChannelStorage.PAD16}
KINDS = {"int8": DType.INT8, "uint16": DType.BF16, "bfloat16": DType.BF16, "float32": DType.FP32}
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
    Raises ContractError (a ValueError) for what the Tess document does not admit.
    """
    x = np.asarray(x)
    dtype, _ = _kind(x.dtype, "x.dtype", ("int8", "uint16", "bfloat16"))
    tiled = TensorSpec(x.shape, dtype, _tiles(axes, tile, channels, x.ndim))
    source, prepared = _admitted(x if x.flags.aligned else x.copy(), tiled, tess_op.Params(fill))
    output = _aligned(prepared.plan.output.required_bytes)
    a65_tess.execute(prepared, [_host(source, prepared.plan.input.required_bytes)], [output])
    return output


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
    and its gaps stay untouched. Raises ContractError, or BindingError where `tiled` is too small.
    """
    kind, numpy_dtype = _kind(dtype, "dtype", ("int8", "uint16", "bfloat16"))
    target = _target(out, shape, numpy_dtype)
    spec = TensorSpec(target.shape, kind, _tiles(axes, tile, channels, target.ndim))
    prepared = a65_detess.check_inference(detess_op.Request([spec], [_spec(target, kind)]))
    a65_detess.execute(prepared, [_tile_bytes(tiled)], [_host(target, prepared.plan.output.required_bytes)])
    return target


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
    kind, numpy_dtype = _kind(to, "to", ("float32", "uint16", "bfloat16"))
    target = _target(out, shape, numpy_dtype)
    layout = _blocks(axes, tile, target.ndim) if channels == "cblocked" else _tiles(axes, tile, channels, target.ndim)
    spec = TensorSpec(target.shape, DType.BF16, layout)
    prepared = a65_detesscast.check_inference(detesscast_op.Request([spec], [_spec(target, kind)]))
    a65_detesscast.execute(prepared, [_tile_bytes(tiled)], [_host(target, prepared.plan.output.required_bytes)])
    return target


def _kind(dtype: DTypeLike | str, where: str, admitted: tuple[str, ...]) -> tuple[DType, np.dtype]:
    """The scalar type, and the numpy dtype that the caller speaks; ml_dtypes is recognised, never imported."""
    if isinstance(dtype, str):
        dtype = ALIASES.get(dtype, dtype)
    try:
        numpy_dtype = np.dtype(dtype)
    except TypeError:
        numpy_dtype = None
    name = numpy_dtype.name if numpy_dtype is not None and numpy_dtype.isnative else None
    if numpy_dtype is None or name not in admitted:
        raise ContractError(
            "dtype_unsupported",
            where,
            f"got {dtype!r}, wanted one of {', '.join(admitted)}; BF16 words are uint16 or ml_dtypes.bfloat16",
        )
    return KINDS[name], numpy_dtype


def _checked_axes(axes: str, tile: Sequence[int], rank: int) -> dict[str, int]:
    """The tile extent of each mapped letter."""
    if not isinstance(axes, str) or len(axes) != rank:
        raise ContractError("axes_letters", "axes", f"got {axes!r}, wanted {rank} letters, one for each axis")
    twice = [letter for letter in MAPPED if axes.count(letter) > 1]
    if twice or not all(letter.isalpha() and letter.isupper() for letter in axes):
        raise ContractError(
            "axes_letters", "axes", f"got {axes!r}, wanted capital letters with each of D, H, W, C at most once"
        )
    mapped = [letter for letter in axes if letter in MAPPED]
    if len(tile) != len(mapped):
        raise ContractError(
            "tile_count", "tile", f"got {len(tile)} extents, wanted {len(mapped)}: one for each of {', '.join(mapped)}"
        )
    return dict(zip(mapped, tile, strict=True))


def _tiles(axes: str, tile: Sequence[int], channels: str, rank: int) -> MlaTiled:
    extents = _checked_axes(axes, tile, rank)
    if channels not in STORAGE:
        raise ContractError(
            "channel_storage",
            "channels",
            f"got {channels!r}, wanted 'compact' or 'pad16' ('cblocked' for detesscast only)",
        )
    return MlaTiled(
        [axes.find(letter) for letter in MAPPED], [extents.get(letter, 1) for letter in MAPPED], STORAGE[channels]
    )


def _blocks(axes: str, tile: Sequence[int], rank: int) -> MlaCBlocked:
    extents = _checked_axes(axes, tile, rank)
    if not axes.endswith("HWC") or "D" in axes:
        raise ContractError("axes_letters", "axes", f"got {axes!r}, wanted channel blocks to end with HWC, without D")
    return MlaCBlocked(extents["H"], extents["W"], extents["C"])


def _spec(array: np.ndarray, dtype: DType) -> TensorSpec:
    layout = Contiguous() if array.flags.c_contiguous else Strided(array.strides)
    return TensorSpec(array.shape, dtype, layout)


def _admitted(x: np.ndarray, tiled: TensorSpec, params: tess_op.Params) -> tuple[np.ndarray, Prepared]:
    """The array to read and the execution that reads it: `x` itself, or a dense copy where its strides are refused."""
    try:
        request = tess_op.Request([_spec(x, tiled.dtype)], [tiled], params)
        return x, a65_tess.check_inference(request)
    except ContractError as error:
        if not error.code.startswith("stride"):
            raise
        return _admitted(np.ascontiguousarray(x), tiled, params)


def _target(out: np.ndarray | None, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    if out is None:
        return np.empty(tuple(shape), dtype)
    if out.shape != tuple(shape) or out.dtype != dtype:
        raise ContractError(
            "out_mismatch",
            "out",
            f"got {out.dtype} {list(out.shape)}, wanted {dtype} {list(shape)}; pass such an array",
        )
    if not out.flags.writeable:
        raise ContractError("out_read_only", "out", "got a read-only array, wanted a writable one")
    return out


def _host(array: np.ndarray, required_bytes: int) -> HostBuffer | None:
    """The storage that a strided view reaches; None where it is empty."""
    return HostBuffer(array.__array_interface__["data"][0], required_bytes) if required_bytes else None


def _tile_bytes(tiled: np.ndarray) -> np.ndarray:
    """The tiles as bytes at an aligned address, copied only where they are not aligned already."""
    array = tiled if isinstance(tiled, np.ndarray) else np.frombuffer(tiled, np.uint8)
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if flat.size == 0 or flat.__array_interface__["data"][0] % TILE_ALIGNMENT_BYTES == 0:
        return flat
    aligned = _aligned(flat.size)
    aligned[:] = flat
    return aligned


def _aligned(size_bytes: int) -> np.ndarray:
    storage = np.empty(size_bytes + TILE_ALIGNMENT_BYTES, np.uint8)
    first = -storage.__array_interface__["data"][0] % TILE_ALIGNMENT_BYTES
    return storage[first : first + size_bytes]
