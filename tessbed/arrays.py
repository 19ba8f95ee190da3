"""Array functions, the operations on arrays: numpy in, numpy out, on the A65 executor.

`axes` names the logical axes with letters: D, H, W and C are tiled (C is required), any other letter is an independent
outer axis. `tile` has one extent for each of D, H, W, C that `axes` names, in the same order.
BF16 is its 16-bit words: uint16, or ml_dtypes.bfloat16 taken by its bits. Values change only where an operation says.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tessbed.array_arguments import in_argument_names
from tessbed.array_requests import admitted_pack, unpack_request
from tessbed.array_storage import aligned_bytes, empty_array, host_buffer, tile_bytes
from tessbed.kernels.a65.executor import executor_of
from tessbed.kernels.errors import BindingError, ContractError
from tessbed.kernels.operations import OPERATIONS, Operation

__all__ = ["casttess", "detess", "detesscast", "detessdequant", "quanttess", "tess"]


def tess(
    x: np.ndarray,
    *,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    fill: int | None = None,
) -> np.ndarray:
    """Packs `x` into tiles: a 1-D uint8 array of the tiled side's required bytes.

    `x` is int8, or BF16 as uint16 words or ml_dtypes.bfloat16. `axes` has one letter for each axis of `x`: D, H, W and
    C are tiled (C is required), any other capital letter is an outer axis, whose slices are tiled one by one. `tile`
    has the elements of a full tile along each of D, H, W, C that `axes` names, in the same order; what is left over at
    an end makes a smaller tile. `channels` is "compact", or "pad16": each pixel stores a multiple of 16 channels.
    A strided view is read in place where its strides are admitted, and copied first where they are not (negative,
    broadcast). `fill` is the raw INT8 byte of padded channels, required for INT8 with "pad16".
    Raises ContractError (a ValueError) for what is no array, what the Tess document does not admit, and what this
    machine has no memory for. Source: Tess document.

    >>> import numpy as np, tessbed
    >>> image = np.arange(24, dtype=np.int8).reshape(2, 4, 3)
    >>> tessbed.tess(image, tile=(2, 2, 3), axes="HWC")[:12].tolist()
    [0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17]
    >>> tessbed.tess(np.zeros((5, 2, 4, 3), np.int8), tile=(2, 2, 3), axes="NHWC").nbytes
    160
    >>> tessbed.tess(image, tile=(2, 2), axes="HWC")
    Traceback (most recent call last):
    ...
    tessbed.kernels.errors.ContractError: tile: got 2 extents, (2, 2), for axes 'HWC'; wanted 3, one for each of H, ...
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

    `tiled` is at least the tiled side's required bytes. `shape` is that of the array, `tile`, `axes` and `channels` are
    as in `tess`. `out`, if given, receives the result in its own strides,
    and its gaps stay untouched. Raises ContractError as in `tess`, and BindingError (a ValueError too) where the memory
    of `tiled` or `out` does not fit: too small, not plain bytes, not aligned for its type, shared by both.
    Source: Detess document.

    >>> import numpy as np, tessbed
    >>> image = np.arange(24, dtype=np.int8).reshape(2, 4, 3)
    >>> tiles = tessbed.tess(image, tile=(2, 2, 3), axes="HWC")
    >>> bool((tessbed.detess(tiles, shape=(2, 4, 3), dtype="int8", tile=(2, 2, 3), axes="HWC") == image).all())
    True
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

    `channels` is "compact", "pad16" or "cblocked"; the last needs axes that end with HWC. `tiled`, `shape` and `out`
    are as in `detess`, `tile` and `axes` as in `tess`. Source: DetessCast document.

    >>> import numpy as np, tessbed
    >>> words = np.array([[[0x3F80, 0xC000]]], np.uint16)  # 1.0 and -2.0 as BF16
    >>> tiles = tessbed.tess(words, tile=(1, 1, 2), axes="HWC")
    >>> tessbed.detesscast(tiles, shape=(1, 1, 2), tile=(1, 1, 2), axes="HWC").tolist()
    [[[1.0, -2.0]]]
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

    Rounds to nearest, ties to even; a NaN stays a NaN. `tile` and `axes` are as in `tess`. Source: docs/operations.md.

    >>> import numpy as np, tessbed
    >>> tiles = tessbed.casttess(np.full((1, 1, 2), 1.001, np.float32), tile=(1, 1, 2), axes="HWC")
    >>> tessbed.detesscast(tiles, shape=(1, 1, 2), tile=(1, 1, 2)).tolist()
    [[[1.0, 1.0]]]
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
    or "down". `fill` is the code of padded channels, the zero point if it is None. `tile` and `axes` are as in `tess`.
    Source: docs/operations.md.

    >>> import numpy as np, tessbed
    >>> x = np.array([[[-1.0, 0.26, 100.0]]], np.float32)
    >>> tessbed.quanttess(x, tile=(1, 1, 3), scale=10, zero_point=5)[:3].view(np.int8).tolist()
    [-5, 8, 127]
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

    `channels` is "compact", "pad16" or "cblocked"; the last needs axes that end with HWC. `tiled`, `shape` and `out`
    are as in `detess`, `tile` and `axes` as in `tess`. Source: docs/operations.md.

    >>> import numpy as np, tessbed
    >>> tiles = np.array([0xFB, 8, 127] + [0] * 13, np.uint8)  # -5, 8 and 127, and the bytes to the tile's end
    >>> tessbed.detessdequant(tiles, shape=(1, 1, 3), tile=(1, 1, 3), scale=10, zero_point=5).tolist()
    [[[-1.0, 0.30000001192092896, 12.199999809265137]]]
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
    executor = executor_of(op)
    try:
        source, prepared = admitted_pack(op, executor.check_inference, x, tile, axes, channels, arguments)
        output = aligned_bytes(prepared.plan.output.required_bytes)
        executor.execute(prepared, [host_buffer(source, prepared.plan.input.required_bytes)], [output])
    except (ContractError, BindingError) as error:
        raise in_argument_names(op, error) from None
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
    executor = executor_of(op)
    try:
        request, target_dtype = unpack_request(op, shape, tile, axes, channels, dtype, to, out, arguments)
        prepared = executor.check_inference(request)
        source = tile_bytes(tiled, prepared.plan.input.required_bytes)
        target = empty_array(prepared.plan.shape, target_dtype) if out is None else out
        executor.execute(prepared, [source], [host_buffer(target, prepared.plan.output.required_bytes)])
    except (ContractError, BindingError) as error:
        raise in_argument_names(op, error) from None
    return target
