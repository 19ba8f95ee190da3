"""Tensors as the caller describes them: shape, scalar type, one explicit physical layout, and the span of its bytes."""

from collections.abc import Callable, Iterable
from enum import Enum
from itertools import islice
from typing import TypeVar

import attrs

from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError, shown

Entry = TypeVar("Entry")
MOST_ENTRIES = 256
"""As many entries of a sequence are looked at: far more than any rank, and an iterator may have no end."""


class ChannelStorage(Enum):
    """How many channels each pixel of a tile stores: those it has, or that number rounded up to 16."""

    COMPACT = "compact"
    PAD16 = "pad16"


def entries(where: str) -> Callable[[Iterable[Entry]], tuple[Entry, ...]]:
    """Copies a sequence; ContractError at `where` for what is none, or has an order that nobody chose."""

    def copied(values: Iterable[Entry]) -> tuple[Entry, ...]:
        if isinstance(values, Iterable) and not isinstance(values, set | frozenset | dict):
            try:
                return tuple(islice(values, MOST_ENTRIES))
            except TypeError:  # a numpy scalar array says that it is iterable
                pass
        raise ContractError("not_a_sequence", where, f"got {shown(values)}, wanted a sequence; put it in a list")

    return copied


@attrs.frozen
class Contiguous:
    """Dense row-major storage."""


@attrs.frozen
class Strided:
    """Storage with one stride in bytes for each logical axis."""

    strides: tuple[int, ...] = attrs.field(converter=entries("strides"))


@attrs.frozen
class MlaTiled:
    """Pixel-major tiles of the matrix engine.

    `axes` is (d, h, w, c): the logical axis of each, or -1 where it is omitted; c is required.
    `tile_shape` is the tile's extent in the same order. Source: DetessCast document, "Contract".
    """

    axes: tuple[int, ...] = attrs.field(converter=entries("axes"))
    tile_shape: tuple[int, ...] = attrs.field(converter=entries("tile_shape"))
    channel_storage: ChannelStorage = ChannelStorage.COMPACT


@attrs.frozen
class MlaCBlocked:
    """The compiler's channel-block tiles over trailing H, W, C axes.

    Source: DetessCast document, "Compiler channel-block input". Not interchangeable with MlaTiled.
    """

    tile_h: int
    tile_w: int
    tile_c: int


Layout = Contiguous | Strided | MlaTiled | MlaCBlocked


@attrs.frozen
class TensorSpec:
    """One port of a request: logical shape, scalar type, physical layout. Nothing here is checked yet."""

    shape: tuple[int, ...] = attrs.field(converter=entries("shape"))
    dtype: DType
    layout: Layout = attrs.field(factory=Contiguous)


def dense_strides(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Row-major strides in bytes of a shape of scalars of `width` bytes; an extent of 0 counts as 1."""
    strides = [width]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * max(extent, 1))
    return tuple(reversed(strides))


def span_bytes(shape: tuple[int, ...], strides: tuple[int, ...], width: int) -> int:
    """Bytes from the first to behind the last scalar, holes included; 0 for an empty tensor."""
    if 0 in shape:
        return 0
    return sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) + width
