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
    """One (H, W, C) tensor. `order` is how the linear side lies in memory; `pitch` adds that many scalars to a row.

    `family` groups cases for the summary: small; groups16 (full 16-channel groups); few (1 to 3 channels); odd;
    channel_first; pitched; identity (both sides are the same bytes); huge.
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

    @property
    def linear_dtype(self) -> DType:
        """The scalar type of the linear side."""
        return DType(self.to or self.dtype)

    @property
    def dense(self) -> bool:
        """True where the linear side is row-major without gaps."""
        return self.order == "hwc" and not self.pitch

    def strides(self) -> tuple[int, ...]:
        """Byte strides of H, W, C on the linear side."""
        step, strides = self.linear_dtype.width, {}
        for axis in reversed(self.order):
            strides[axis] = step
            step *= self.shape["hwc".index(axis)]
            step += self.pitch * self.linear_dtype.width if axis == self.order[1] else 0
        return tuple(strides[axis] for axis in "hwc")

    def request(self) -> AnyRequest:
        """The request of this case."""
        linear = TensorSpec(self.shape, self.linear_dtype, Contiguous() if self.dense else Strided(self.strides()))
        tiled = TensorSpec(self.shape, DType(self.dtype), self._layout())
        requests = requests_of(OPERATIONS[self.op])
        filled = self.dtype == "int8" and self.channels == "pad16"
        given = {**QUANTIZATION, **({"int8_channel_padding": 0} if filled else {})}
        held = [parameter.name for parameter in requests.operation.parameters if parameter.name in given]
        return requests.request(tiled, linear, requests.Params(**{name: given[name] for name in held}))

    def _layout(self) -> Layout:
        if self.channels == "cblocked":
            return MlaCBlocked(*self.tile)
        return MlaTiled((-1, 0, 1, 2), (1, *self.tile), ChannelStorage(self.channels))

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
    *_all("1280x1280x64", "bf16", (1280, 1280, 64), (16, 16, 16), "compact", "huge"),
)
