"""Channels: two pixels of eighteen channels in every tile format, byte by byte, by what Detess read where."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import attrs
import numpy as np

import tessbed
from tessbed.kernels import ChannelStorage, Contiguous, DType, MlaCBlocked, MlaTiled, TensorSpec
from tessbed.kernels.ops import detess, detesscast
from tests.docs.drawings.canvas import EMPTY, FILLS, QUIET, Canvas

SHAPE = (1, 2, 18)  # height, width, channels: one tile
COMPACT, PAD16 = (MlaTiled((-1, 0, 1, 2), (1, *SHAPE), ChannelStorage(name)) for name in ("compact", "pad16"))
FORMATS: tuple[tuple[str, DType, Any], ...] = (
    ("INT8, compact", DType.INT8, COMPACT),
    ("INT8, pad16", DType.INT8, PAD16),
    ("BF16, compact", DType.BF16, COMPACT),
    ("BF16, pad16", DType.BF16, PAD16),
    ("BF16, channel blocks", DType.BF16, MlaCBlocked(*SHAPE)),
)
BYTE, ROW, LEFT = 6.4, 56, 165


@attrs.frozen
class Place:
    """What a byte of a tile holds: of which channel, and in which stretch with how many words."""

    channel: int
    colour: int
    words: str


def drawing() -> str:
    """A row for each format, in it a box for each stretch of bytes of one pixel and one byte plane."""
    about = (
        "Five formats of a tile, each as a row of bytes: which pixel, which channels, low or high bytes, and padding."
    )
    canvas = Canvas(
        1000, 60 + ROW * len(FORMATS), "A tile of two pixels with eighteen channels, in every format", about
    )
    canvas.words(20, 30, canvas.title, size=13, bold=True)
    for row, (name, dtype, layout) in enumerate(FORMATS):
        y, places = 50 + ROW * row, places_of(dtype, layout)
        canvas.words(20, y + 15, name, size=12)
        canvas.words(20, y + 31, f"{len(places)} bytes", colour=QUIET)
        for first, run in _runs(places):
            head, last = run[0], run[-1]
            hint = f"bytes {first} to {first + len(run) - 1}: "
            if head and last:
                words, fill = head.words, FILLS[head.colour]
                hint += f"{words}, channels {head.channel} to {last.channel}"
            else:
                words, fill, hint = "", EMPTY, hint + "padding or alignment"
            canvas.box(LEFT + BYTE * first, y, BYTE * len(run), 34, fill, words, hint)
    return canvas.svg()


def places_of(dtype: DType, layout: Any) -> list[Place | None]:
    """What is in each byte of the tile; None is padding or alignment.

    Every byte holds its own offset, so what comes out says where it was read.
    """
    tile = np.arange(_required_bytes(dtype, layout), dtype=np.uint8)
    channels = "cblocked" if isinstance(layout, MlaCBlocked) else layout.channel_storage.value
    if dtype is DType.INT8:
        read = tessbed.detess(tile, shape=SHAPE, dtype="int8", tile=SHAPE, channels=channels)
    else:
        read = tessbed.detesscast(tile, shape=SHAPE, to="bf16", tile=SHAPE, channels=channels)
    places: list[Place | None] = [None] * len(tile)
    for _, pixel, channel in np.ndindex(SHAPE):
        offsets = read[0, pixel, channel].tobytes()  # little-endian, so the low byte's comes first
        planes = (" low", " high") if len(offsets) == 2 else ("",)
        for plane, (offset, word) in enumerate(zip(offsets, planes, strict=True)):
            places[offset] = Place(channel, 2 * pixel + plane, f"pixel {pixel}{word}")
    return places


def _required_bytes(dtype: DType, layout: Any) -> int:
    op = detess if dtype is DType.INT8 else detesscast
    request = op.Request([TensorSpec(SHAPE, dtype, layout)], [TensorSpec(SHAPE, dtype, Contiguous())])
    return op.check_inference(request).input.required_bytes


def _runs(places: list[Place | None]) -> Iterator[tuple[int, list[Place | None]]]:
    """Stretches of one pixel and plane, each with its offset."""
    first = 0
    for _, run in groupby(places, key=lambda place: place and place.words):
        found = list(run)
        yield first, found
        first += len(found)
