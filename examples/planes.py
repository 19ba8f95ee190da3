"""Two inputs: NV12, a plane of luma and one of chroma at half the height, into YUY2: one word of both a pixel."""

from functools import partial

import numpy as np

import tessbed


@tessbed.kernel(
    inputs={"luma": "uint8[rows, columns]", "chroma": "uint8[(rows + 1) // 2, columns]"},
    outputs={"pixels": "uint16[rows, columns]"},
    api=1,
)
def planes(w, luma, chroma, pixels, *, rows=240, columns=320):
    for box in w.own(pixels):
        over, along = box
        halves = slice(over.start // 2, (over.stop + 1) // 2)
        join = partial(joined, first=over.start % 2)
        ticks = w.cost("join", nbytes=pixels[box].nbytes, runs=over.stop - over.start)
        yield w.band([luma[box], chroma[halves, along]], pixels[box], join, ticks=ticks)


def joined(luma, chroma, pixels, first):
    rows = (first + np.arange(len(luma))) // 2
    pixels[...] = luma + chroma[rows].astype(np.uint16) * 256


@planes.reference
def expected(luma, chroma, *, rows, columns):
    doubled = np.repeat(chroma, 2, axis=0)[:rows]
    return luma + doubled.astype(np.uint16) * 256
