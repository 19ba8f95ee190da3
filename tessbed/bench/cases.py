"""The bench's cases: a table of tensors and tiles, most of them real ones, from 2 KiB to hundreds of MiB."""

from typing import Any

import attrs
import numpy as np

from tessbed.kernels import (
    OPERATIONS,
    ChannelStorage,
    Contiguous,
    DType,
    Layout,
    MlaCBlocked,
    MlaTiled,
    Strided,
    TensorSpec,
)
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.ops import AnyRequest, requests_of

QUANTIZATION: dict[str, Any] = {"scale": 8.0845, "zero_point": -56}
"""A real head's, for every operation that scales."""


@attrs.frozen
class BenchCase:
    """One tensor of (H, W, C), of rank `rank` where H or W is 1, and of more where there are `outer` slices of it.

    `order` is how the linear side of a slice lies in memory; `pitch` adds that many scalars to a row, and scalars
    that follow each other are `apart` of them from each other.

    `family` groups cases for the summary: small; groups16 (full 16-channel groups); few (1 to 3 channels); odd;
    channel_first; pitched; narrow (tiles cut the linear side into short runs); sparse (scalars apart); identity (both
    sides are the same bytes); huge.
    """

    name: str
    op: str
    dtype: str
    shape: tuple[int, int, int]
    tile: tuple[int, int, int]
    channels: str
    family: str
    to: str | None = None
    order: str = "hwc"
    pitch: int = 0
    apart: int = 1
    outer: tuple[int, ...] = ()
    rank: int = 3

    @property
    def linear_dtype(self) -> DType:
        """The scalar type of the linear side."""
        return DType(self.to or self.dtype)

    @property
    def dense(self) -> bool:
        """True where the linear side is row-major without gaps."""
        return self.order == "hwc" and not self.pitch and self.apart == 1

    def strides(self) -> tuple[int, ...]:
        """Byte strides of the outer axes and of H, W, C on the linear side."""
        step, strides = self.apart * self.linear_dtype.width, {}
        for axis in reversed(self.order):
            strides[axis] = step
            step *= self.shape["hwc".index(axis)]
            step += self.pitch * self.linear_dtype.width if axis == self.order[1] else 0
        around: list[int] = []
        for extent in reversed(self.outer):
            around.insert(0, step)
            step *= extent
        return (*around, *(strides[axis] for axis in "hwc"))

    @property
    def array_shape(self) -> tuple[int, ...]:
        """Extents of the outer axes and of H, W, C."""
        return (*self.outer, *self.shape)

    def request(self) -> AnyRequest:
        """The request of this case."""
        shape, strides = self.array_shape[3 - self.rank :], self.strides()[3 - self.rank :]
        linear = TensorSpec(shape, self.linear_dtype, Contiguous() if self.dense else Strided(strides))
        tiled = TensorSpec(shape, DType(self.dtype), self._layout())
        requests = requests_of(OPERATIONS[self.op])
        filled = self.dtype == "int8" and self.channels == "pad16"
        given = {**QUANTIZATION, **({"int8_channel_padding": 0} if filled else {})}
        held = [parameter.name for parameter in requests.operation.parameters if parameter.name in given]
        return requests.request(tiled, linear, requests.Params(**{name: given[name] for name in held}))

    def _layout(self) -> Layout:
        if self.channels == "cblocked":
            return MlaCBlocked(*self.tile)
        first = len(self.outer) - (3 - self.rank)
        axes = tuple(max(first + axis, -1) for axis in range(3))
        return MlaTiled((-1, *axes), (1, *self.tile), ChannelStorage(self.channels))

    def numpy_dtype(self) -> np.dtype:
        """The integers that represent the linear side's scalars."""
        return np.dtype({1: np.uint8, 2: np.uint16, 4: np.uint32}[self.linear_dtype.width])


def _all(name: str, dtype: str, *geometry: Any, **options: Any) -> tuple[BenchCase, ...]:
    """Every conversion of this tiled scalar type, each by the first operation that does it."""
    kinds = {
        (row.packs, pair.conversion): (row.name, None if pair.linear is pair.tiled else pair.linear.value)
        for row in reversed(OPERATIONS.values())
        for pair in reversed(row.scalars)
        if pair.tiled.value == dtype
    }
    ops = sorted(kinds.values(), key=lambda kind: tuple(OPERATIONS).index(kind[0]))
    return tuple(BenchCase(f"{op} {dtype} {name}", op, dtype, *geometry, to=to, **options) for op, to in ops)


def _blocks(
    name: str, shape: tuple[int, int, int], tile: tuple[int, int, int], to: str, dtype: str = "bf16"
) -> BenchCase:
    """The first operation that unpacks channel blocks of `dtype` to this scalar type."""
    op = next(
        row.name
        for row in OPERATIONS.values()
        if TileFormat.CBLOCKED in row.formats and DType(to) in row.outputs(DType(dtype))
    )
    return BenchCase(f"{op} {name} to {to}", op, dtype, shape, tile, "cblocked", "groups16", to)


CHW: dict[str, Any] = {"family": "channel_first", "order": "chw"}
CWH: dict[str, Any] = {"family": "channel_first", "order": "cwh"}
NARROW: dict[str, Any] = {"family": "narrow"}
SPARSE: dict[str, Any] = {"family": "sparse", "apart": 2}
PITCHED: dict[str, Any] = {"family": "pitched", "pitch": 32}
IMAGE = (640, 640, 3)
DETECTOR = (60, 80, 65)

CASES: tuple[BenchCase, ...] = (
    *_all("2 KiB, 8x8x16", "bf16", (8, 8, 16), (4, 4, 16), "compact", "small"),
    *_all("80x80x64, 16 channels a tile", "bf16", (80, 80, 64), (16, 16, 16), "compact", "groups16"),
    *_all("320x320x64, whole pixels", "bf16", (320, 320, 64), (16, 16, 64), "compact", "groups16"),
    *_all("640x640x64, 16 channels a tile", "bf16", (640, 640, 64), (16, 16, 16), "compact", "groups16"),
    _blocks("80x80x64 blocks", (80, 80, 64), (16, 16, 16), "fp32"),
    _blocks("80x80x80 blocks", (80, 80, 80), (16, 4, 80), "fp32"),
    _blocks("80x80x80 blocks", (80, 80, 80), (16, 4, 80), "bf16"),
    _blocks("80x80x64 blocks", (80, 80, 64), (1, 80, 64), "fp32", "int8"),
    _blocks("20x20x80 blocks", (20, 20, 80), (1, 20, 80), "fp32", "int8"),
    *_all("image 640x640x3", "bf16", IMAGE, (640, 32, 3), "compact", "few"),
    *_all("image 640x640x3 padded", "bf16", IMAGE, (640, 32, 3), "pad16", "few"),
    *_all("chroma 192x832x2", "bf16", (192, 832, 2), (39, 42, 2), "compact", "few"),
    *_all("luma 384x1664x1", "bf16", (384, 1664, 1), (384, 17, 1), "compact", "few"),
    *_all("160x160x24", "bf16", (160, 160, 24), (16, 16, 24), "compact", "odd"),
    *_all("detector 60x80x65", "bf16", DETECTOR, (12, 4, 65), "compact", "odd"),
    *_all("detector 60x80x65 padded", "bf16", DETECTOR, (12, 4, 65), "pad16", "odd"),
    *_all("320x320x12", "bf16", (320, 320, 12), (32, 32, 12), "compact", "odd"),
    *_all("channel-first 640x640x3", "bf16", IMAGE, (32, 32, 3), "compact", **CHW),
    *_all("channel-first 160x160x64", "bf16", (160, 160, 64), (16, 16, 16), "compact", **CHW),
    *_all("width-first 160x160x64", "bf16", (160, 160, 64), (16, 16, 16), "compact", **CWH),
    *_all("pitched 320x320x64", "bf16", (320, 320, 64), (16, 16, 16), "compact", **PITCHED),
    *_all("image 640x640x3", "int8", IMAGE, (32, 128, 3), "compact", "few"),
    *_all("image 640x640x3 padded", "int8", IMAGE, (32, 128, 3), "pad16", "few"),
    *_all("80x80x64, a row a tile", "int8", (80, 80, 64), (1, 80, 64), "pad16", "identity"),
    *_all("320x320x64, 16 channels a tile", "int8", (320, 320, 64), (16, 16, 16), "compact", "groups16"),
    *_all("320x320x64, whole pixels", "int8", (320, 320, 64), (16, 16, 64), "compact", "groups16"),
    *_all("detector 60x80x65 padded", "int8", DETECTOR, (1, 80, 65), "pad16", "odd"),
    *_all("head 40x40x243", "int8", (40, 40, 243), (1, 20, 243), "pad16", "odd"),
    *_all("channel-first 640x640x3", "int8", IMAGE, (32, 32, 3), "compact", **CHW),
    *_all("channel-first 160x160x64", "int8", (160, 160, 64), (16, 16, 16), "compact", **CHW),
    *_all("pitched 320x320x64", "int8", (320, 320, 64), (16, 16, 16), "compact", **PITCHED),
    *_all("7x7x512 channel-first", "bf16", (7, 7, 512), (7, 7, 512), "compact", **CHW),
    *_all("56x56x64 channel-first", "bf16", (56, 56, 64), (16, 16, 16), "compact", **CHW),
    *_all("112x112x32 channel-first", "bf16", (112, 112, 32), (16, 16, 32), "compact", **CHW),
    *_all("112x112x32 width-first", "bf16", (112, 112, 32), (16, 16, 32), "compact", **CWH),
    *_all("sequence 1x197x768 channel-first", "bf16", (1, 197, 768), (1, 197, 64), "compact", **CHW),
    *_all("7x7x512 channel-first", "int8", (7, 7, 512), (7, 7, 512), "compact", **CHW),
    *_all("56x56x64 channel-first", "int8", (56, 56, 64), (14, 14, 64), "compact", **CHW),
    *_all("112x112x32 channel-first", "int8", (112, 112, 32), (16, 16, 32), "compact", **CHW),
    *_all("sequence 1x197x768 channel-first", "int8", (1, 197, 768), (1, 197, 64), "compact", **CHW),
    *_all("7x7x512", "bf16", (7, 7, 512), (7, 7, 512), "compact", "groups16"),
    *_all("56x56x64", "bf16", (56, 56, 64), (14, 14, 64), "compact", "groups16"),
    *_all("112x112x32", "bf16", (112, 112, 32), (16, 16, 32), "compact", "groups16"),
    *_all("sequence 1x197x768", "bf16", (1, 197, 768), (1, 197, 64), "compact", "groups16"),
    *_all("56x56x64, 16 channels a tile", "int8", (56, 56, 64), (16, 16, 16), "compact", "groups16"),
    *_all("112x112x32, 16 channels a tile", "int8", (112, 112, 32), (16, 16, 16), "compact", "groups16"),
    *_all("rank 1, 4096", "bf16", (1, 1, 4096), (1, 1, 64), "compact", "groups16", rank=1),
    *_all("rank 2, 197x768", "bf16", (1, 197, 768), (1, 197, 64), "compact", "groups16", rank=2),
    *_all("rank 4, 4x56x56x64", "bf16", (56, 56, 64), (14, 14, 64), "compact", "groups16", outer=(4,)),
    *_all("rank 5, 2x3x28x28x64", "bf16", (28, 28, 64), (14, 14, 16), "compact", "groups16", outer=(2, 3)),
    *_all("rank 1, 4096", "int8", (1, 1, 4096), (1, 1, 64), "compact", "groups16", rank=1),
    *_all("rank 4, 4x56x56x64", "int8", (56, 56, 64), (14, 14, 64), "compact", "groups16", outer=(4,)),
    *_all("2 KiB, 8x16x16", "int8", (8, 16, 16), (4, 8, 16), "compact", "small"),
    *_all("2 KiB, 8x8x16 channel-first", "bf16", (8, 8, 16), (8, 8, 16), "compact", "small", order="chw"),
    *_all("2 KiB, 8x16x16 channel-first", "int8", (8, 16, 16), (8, 16, 16), "compact", "small", order="chw"),
    *_all("28x28x64 in tiles of 7", "bf16", (28, 28, 64), (7, 7, 64), "compact", order="chw", **NARROW),
    *_all("28x28x64 in tiles of 4", "int8", (28, 28, 64), (4, 4, 16), "compact", order="chw", **NARROW),
    *_all("56x56x64 in tiles of 5", "int8", (56, 56, 64), (8, 5, 64), "compact", order="hcw", **NARROW),
    *_all("200x300x2 in tiles of 6", "int8", (200, 300, 2), (20, 6, 2), "compact", order="wch", **NARROW),
    *_all("200x300x2 in tiles of 6", "bf16", (200, 300, 2), (20, 6, 2), "compact", order="chw", **NARROW),
    *_all("luma 384x832x1 in tiles of 5", "int8", (384, 832, 1), (48, 5, 1), "compact", **NARROW),
    *_all("160x160x3, every second scalar", "int8", (160, 160, 3), (32, 32, 3), "compact", **SPARSE),
    *_all("160x160x3, every second scalar", "bf16", (160, 160, 3), (32, 32, 3), "compact", **SPARSE),
    *_all("80x80x33 channel-first, every second", "int8", (80, 80, 33), (16, 16, 33), "compact", order="chw", **SPARSE),
    *_all("1280x1280x64", "bf16", (1280, 1280, 64), (16, 16, 16), "compact", "huge"),
)
