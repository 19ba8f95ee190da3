"""Tiles: an image of five by seven pixels, and the bytes of its tiles in storage, by what Tess did with it."""

import numpy as np

import tessbed
from tests.docs.drawings.canvas import EMPTY, FILLS, QUIET, Canvas

SHAPE, TILE = (5, 7, 3), (2, 4, 3)
CELL, BYTE, ROW = 40, 33, 26
ALIGNED = 16
STORAGE = 400


def drawing() -> str:
    """Left the tensor, right its storage; one colour for each tile."""
    image = np.arange(1, 1 + np.prod(SHAPE), dtype=np.int8).reshape(SHAPE)
    stored = tessbed.tess(image, tile=TILE, axes="HWC", channels="compact")
    rows = len(stored) // ALIGNED
    about = (
        f"A tensor of {SHAPE[0]} rows of {SHAPE[1]} pixels with {SHAPE[2]} channels is cut into tiles of {TILE[0]} "
        f"rows of {TILE[1]} pixels. In storage tiles follow each other; each begins at a multiple of {ALIGNED} bytes."
    )
    canvas = Canvas(970, 70 + ROW * rows + 20, "Tiles of an image, and their bytes in storage", about)
    canvas.words(20, 30, f"{SHAPE[0]} rows of {SHAPE[1]} pixels, tiles of {TILE[0]} by {TILE[1]}", size=13, bold=True)
    for y, x in np.ndindex(SHAPE[:2]):
        canvas.box(20 + CELL * x, 60 + CELL * y, CELL, CELL, _colour(y, x), str(_pixel(y, x)))
    canvas.words(20, 60 + CELL * SHAPE[0] + 24, "each pixel has the channels r, g, b", colour=QUIET)
    canvas.words(STORAGE, 30, f"{len(stored)} bytes of storage, {ALIGNED} in a row", size=13, bold=True)
    for offset, value in enumerate(stored.tolist()):
        row, column = divmod(offset, ALIGNED)
        if column == 0:
            canvas.words(STORAGE - 8, 77 + ROW * row, str(offset), anchor="end", colour=QUIET)
        at = (STORAGE + BYTE * column, 60 + ROW * row, BYTE, ROW)
        if value:
            y, x, c = (int(place) for place in np.unravel_index(value - 1, SHAPE))
            canvas.box(*at, _colour(y, x), f"{_pixel(y, x)}{'rgb'[c]}", f"byte {offset}: scalar [{y}, {x}, {c}]")
        else:
            canvas.box(*at, EMPTY, "", f"byte {offset}: alignment")
    return canvas.svg()


def _pixel(y: int, x: int) -> int:
    return SHAPE[1] * y + x


def _colour(y: int, x: int) -> str:
    """That of the tile of a pixel."""
    across = -(-SHAPE[1] // TILE[1])
    return FILLS[across * (y // TILE[0]) + x // TILE[1]]
