"""What a user of plain numpy would write, as strong as it gets: whole pixels transposed, planes by vector shifts.

A regular grid of tiles is one reshape and one transposition; boundary tiles are up to seven more of the same.
Whole pixels travel as 16-bit words, and the byte planes come from shifts and truncations over long contiguous arrays:
moving single bytes with strides is several times slower. Channel padding is a zeroed output. Values are converted where
numpy does it fastest: before the transposition where that makes them narrower, behind it where it makes them wider.
With einops or torch installed the transposition is theirs.

Where bytes are only moved, there is a shorter way: each byte plane by one copy between two strided views. It is slow
where words are long, and hard to beat where pixels have few channels; numpy's copy does it, and torch's.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from tessbed.bench.cases import BenchCase
from tessbed.kernels import ContractError, Plan, TileClass

Transposer = Callable[[np.ndarray, tuple[int, ...]], np.ndarray]


def numpy_transpose(array: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """A contiguous transposition."""
    return np.ascontiguousarray(array.transpose(order))


def einops_transpose(array: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """The same, spelt for einops."""
    names = "abcdefghij"[: array.ndim]
    pattern = f"{' '.join(names)} -> {' '.join(names[axis] for axis in order)}"
    return np.ascontiguousarray(import_module("einops").rearrange(array, pattern))


def torch_alone() -> Any:
    """torch on one thread: the time of its others would not be counted."""
    torch = import_module("torch")
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)
    return torch


def torch_transpose(array: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """The same in torch, whose signed integers have the same bits."""
    signed = array.view(f"i{array.itemsize}")
    return torch_alone().from_numpy(signed).permute(order).contiguous().numpy().view(array.dtype)


def transposers() -> dict[str, Transposer]:
    """numpy's, and those of the libraries that are installed."""
    optional = {"einops": einops_transpose, "torch": torch_transpose}
    return {"numpy": numpy_transpose} | {name: use for name, use in optional.items() if find_spec(name)}


CONVERSIONS = ("copy", "split", "join", "widen")
"""The conversions that `_pack` and `_unpack` do."""

Values = Callable[[np.ndarray, dict[str, int]], np.ndarray]


def _narrow(words: np.ndarray, parameters: dict[str, int]) -> np.ndarray:
    """FP32 words to BF16 words, NaNs kept."""
    made = words >> 16
    made &= 1
    made += 0x7FFF
    made += words
    made >>= 16
    nan = np.isnan(words.view(np.float32))
    if nan.any():
        made[nan] = (words[nan] >> 16) | 0x40
    return made.astype(np.uint16)


def _quantize(words: np.ndarray, parameters: dict[str, int]) -> np.ndarray:
    """FP32 words to INT8 codes; NaNs are the zero point."""
    values = words.view(np.float32) * np.uint32(parameters["scale"]).view(np.float32)
    np.rint(values, out=values)
    values += np.uint8(parameters["zero_point"]).view(np.int8)
    np.clip(values, -128, 127, out=values)
    nan = np.isnan(values)
    if nan.any():
        values[nan] = np.uint8(parameters["zero_point"]).view(np.int8)
    return values.astype(np.int8).view(np.uint8)


def _dequantize(codes: np.ndarray, parameters: dict[str, int]) -> np.ndarray:
    """INT8 codes to FP32 words."""
    values = codes.view(np.int8).astype(np.float32)
    values -= np.uint8(parameters["zero_point"]).view(np.int8)
    values /= np.uint32(parameters["scale"]).view(np.float32)
    return values.view(np.uint32)


def _torch_narrow(words: np.ndarray, parameters: dict[str, int]) -> np.ndarray:
    """FP32 words to BF16 words, in torch; of NaNs only that they are some."""
    torch = torch_alone()
    made = torch.from_numpy(words.view(np.float32)).to(torch.bfloat16)
    return made.view(torch.int16).numpy().view(np.uint16)


def _torch_quantize(words: np.ndarray, parameters: dict[str, int]) -> np.ndarray:
    """FP32 words to INT8 codes, in torch, for numbers."""
    torch = torch_alone()
    values = torch.from_numpy(words.view(np.float32)) * float(np.uint32(parameters["scale"]).view(np.float32))
    values.round_().add_(int(np.uint8(parameters["zero_point"]).view(np.int8))).clamp_(-128, 127)
    return values.to(torch.int8).numpy().view(np.uint8)


def _torch_dequantize(codes: np.ndarray, parameters: dict[str, int]) -> np.ndarray:
    """INT8 codes to FP32 words, in torch."""
    torch = torch_alone()
    values = torch.from_numpy(codes.view(np.int8)).to(torch.float32)
    values.sub_(int(np.uint8(parameters["zero_point"]).view(np.int8)))
    values.div_(float(np.uint32(parameters["scale"]).view(np.float32)))
    return values.numpy().view(np.uint32)


NARROWING: dict[str, Values] = {"narrow": _narrow, "quantize": _quantize}
WIDENING: dict[str, Values] = {"dequantize": _dequantize}
"""What is done to the values, before `_pack` and behind `_unpack`."""
IN_TORCH: dict[str, Values] = {"narrow": _torch_narrow, "quantize": _torch_quantize, "dequantize": _torch_dequantize}
"""The same by torch, for the pipeline that transposes by torch."""

Competitor = Callable[[np.ndarray, np.ndarray], None]
"""(linear array of outer axes, H, W, C integers, tiled bytes) -> None"""


def competitor(case: BenchCase, plan: Plan, name: str) -> Competitor:
    """This library's pipeline for `case`: from the linear array into the tiled bytes, or back for other operations."""
    regions = tuple(_regions(plan))
    known = (*CONVERSIONS, *NARROWING, *WIDENING)
    if plan.conversion not in known:
        text = f"got {plan.conversion}, but numpy's pipelines have {', '.join(known)}"
        raise ContractError("conversion_unsupported", case.name, text)
    move = _pack if plan.packs else _unpack
    cblocked = case.channels == "cblocked"

    transpose, values = transposers()[name], IN_TORCH if name == "torch" else NARROWING | WIDENING
    narrow, widen = (values.get(plan.conversion if plan.conversion in kind else "") for kind in (NARROWING, WIDENING))
    parameters = dict(plan.parameters)

    def run(linear: np.ndarray, tiled: np.ndarray) -> None:
        if plan.packs and case.channels == "pad16":
            tiled.fill(0)
        for index in np.ndindex(*case.outer):
            first = sum(at * axis.tiled_stride_bytes for at, axis in zip(index, plan.outer, strict=True))
            run_slice(linear[index], tiled[first:])

    def run_slice(linear: np.ndarray, tiled: np.ndarray) -> None:
        source = narrow(linear, parameters) if narrow else linear
        for tiles, where in regions:
            if widen:
                region = np.empty(linear[where].shape, np.uint8)
                move(region, tiled, tiles, plan.tiled_dtype.width, cblocked, transpose)
                linear[where] = widen(region, parameters)
            else:
                move(source[where], tiled, tiles, plan.tiled_dtype.width, cblocked, transpose)

    return run


def competitors(case: BenchCase, plan: Plan) -> dict[str, Competitor]:
    """Every pipeline for `case`, by its name."""
    found = {name: competitor(case, plan, name) for name in transposers()}
    if plan.conversion in CONVERSIONS:
        found |= {name: view_competitor(case, plan, copy) for name, copy in copies().items()}
    return found


Copy = Callable[[np.ndarray, np.ndarray], object]
"""(to, from) -> None, between bytes at any strides"""


def torch_copy(to: np.ndarray, source: np.ndarray) -> None:
    """np.copyto, by torch."""
    torch = torch_alone()
    torch.from_numpy(to).copy_(torch.from_numpy(source))


def copies() -> Mapping[str, Copy]:
    """numpy's copy between views, and torch's where it is installed."""
    return {"views": np.copyto} | ({"torch views": torch_copy} if find_spec("torch") else {})


def view_competitor(case: BenchCase, plan: Plan, copy: Copy) -> Competitor:
    """The pipeline without a transposition: each byte plane of each tile class by one copy. For CONVERSIONS only."""
    regions, cblocked = tuple(_regions(plan)), case.channels == "cblocked"
    width, skipped = plan.tiled_dtype.width, plan.linear_dtype.width - plan.tiled_dtype.width

    def run(linear: np.ndarray, tiled: np.ndarray) -> None:
        if plan.packs and case.channels == "pad16":
            tiled.fill(0)
        if skipped:
            linear[...] = 0
        for index in np.ndindex(*case.outer):
            first = sum(at * axis.tiled_stride_bytes for at, axis in zip(index, plan.outer, strict=True))
            for tiles, where in regions:
                words = _tile_view(linear[index][where], tiles, cblocked)
                for number, plane in enumerate(_planes(tiled[first:], tiles, width, cblocked)):
                    scalars = _byte_view(words, skipped + number)
                    copy(*((plane, scalars) if plan.packs else (scalars, plane)))

    return run


def _tile_view(region: np.ndarray, tiles: TileClass, cblocked: bool) -> np.ndarray:
    """The scalars of a class in the order of its planes."""
    if not cblocked:
        return _split(region, tiles).transpose(4, 0, 2, 1, 3, 5)
    (cn, _, hn, wn), (c, _, h, w) = tiles.counts, tiles.extents
    height, width, channel = region.strides
    shape = (cn, hn, wn, c // 16, h, w, 16)
    strides = (c * channel, h * height, w * width, 16 * channel, height, width, channel)
    return np.lib.stride_tricks.as_strided(region, shape, strides)


def _byte_view(words: np.ndarray, number: int) -> np.ndarray:
    """One byte of each of them."""
    size = words.itemsize
    return words if size == 1 else words.view([(f"b{at}", np.uint8) for at in range(size)])[f"b{number}"]


def _regions(plan: Plan) -> Iterator[tuple[TileClass, tuple[slice, ...]]]:
    """Each tile class with the part of the (H, W, C) array that it covers."""
    parts = product(plan.c.parts, plan.d.parts, plan.h.parts, plan.w.parts)
    for tiles, (c, _, h, w) in zip(plan.classes, parts, strict=True):
        yield tiles, tuple(slice(first, first + count * extent) for first, count, extent in (h, w, c))


def _split(region: np.ndarray, tiles: TileClass) -> np.ndarray:
    """(H tiles, tile H, W tiles, tile W, C tiles, tile C): a view."""
    (cn, _, hn, wn), (c, _, h, w) = tiles.counts, tiles.extents
    return region.reshape(hn, h, wn, w, cn, c)


def _planes(tiled: np.ndarray, tiles: TileClass, width: int, cblocked: bool) -> tuple[np.ndarray, ...]:
    """One view for each byte plane: C tiles, H tiles, W tiles, [blocks,] tile H, tile W, channels."""
    (cn, _, hn, wn), (c, _, h, w) = tiles.counts, tiles.extents
    stored = 16 if cblocked else tiles.stored_channels
    pixel = stored * width
    grid = (tiles.tiled_steps[0], tiles.tiled_steps[2], tiles.tiled_steps[3])
    blocks, block_steps = ((c // 16,), (h * w * pixel,)) if cblocked else ((), ())
    shape = (cn, hn, wn, *blocks, h, w, 16 if cblocked else c)
    strides = (*grid, *block_steps, w * pixel, pixel, 1)
    offsets = (tiles.tiled_offset + plane * stored for plane in range(width))
    return tuple(np.ndarray(shape, np.uint8, tiled, offset, strides) for offset in offsets)  # pyright: ignore[reportCallIssue, reportArgumentType]


def _pack(
    region: np.ndarray, tiled: np.ndarray, tiles: TileClass, width: int, cblocked: bool, transpose: Transposer
) -> None:
    words = transpose(_split(region, tiles), (4, 0, 2, 1, 3, 5))
    low, *high = _planes(tiled, tiles, width, cblocked)
    np.copyto(low, words, casting="unsafe")
    if high:
        np.copyto(high[0], words >> 8, casting="unsafe")


def _unpack(
    region: np.ndarray, tiled: np.ndarray, tiles: TileClass, width: int, cblocked: bool, transpose: Transposer
) -> None:
    low, *high = _planes(tiled, tiles, width, cblocked)
    if high:
        words = high[0].astype(np.uint16)
        words <<= 8
        words |= low
    else:
        words = low
    if cblocked:
        words = words.transpose(0, 1, 2, 4, 5, 3, 6).reshape(*words.shape[:3], *words.shape[4:6], -1)
    pixels = transpose(words, (1, 3, 2, 4, 0, 5)).reshape(region.shape)
    if region.itemsize == 4:
        np.left_shift(pixels, 16, out=region, dtype=np.uint32)
    else:
        region[...] = pixels
