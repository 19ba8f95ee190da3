"""Calibration: the geometries whose calls are counted, so that each step of the cost model occurs, in changing numbers.

Three lists: every row path at every channel count, loops of every depth, and random geometries. Each is run as a small
output, and as one that passes the caches where that makes a difference.
"""

from collections.abc import Iterator
from itertools import product

from tests.geometries import FAMILY, KINDS, Kind, random_geometries
from tests.kernels.a65.test_qualification import hwc, scalar_bytes, strides_in
from tests.oracle import Geometry

CHANNELS = (*range(1, 19), 24, 25, 31, 32, 33, 40, 41, 48, 63, 64, 65, 80, 92, 96, 100, 128, 130, 136, 192, 200)
WIDTHS = (1, 2, 3, 5, 9, 15, 16, 17, 33, 47, 64)
ORDERS = ("dense", "gapped", "pitched", "chw", "cwh")
MOST_SCALARS = 3000
SEED = 65


def geometries() -> Iterator[Geometry]:
    """All of them, the same on every machine."""
    for number, (kind, channels, order, pad16) in enumerate(
        product((*KINDS, *FAMILY), CHANNELS, ORDERS, (False, True))
    ):
        for turn in range(2):
            width = WIDTHS[(number * 3 + turn * 5) % len(WIDTHS)]
            if width * channels <= MOST_SCALARS:
                yield row_path(kind, channels, width, 1 + (number + turn) % 3, order, pad16=pad16)
    yield from short_rows()
    yield from blocked()
    yield from random_geometries(720, SEED)
    yield from random_geometries(480, SEED, FAMILY)


def row_path(kind: Kind, channels: int, width: int, height: int, order: str, *, pad16: bool) -> Geometry:
    """`height` rows of `width` pixels; the linear side is dense, has gaps behind rows or pixels, or another order."""
    shape = height, width, channels
    bytes_each = scalar_bytes(kind)
    strides = None
    if order == "pitched":
        pixel = (channels + 5) * bytes_each
        strides = pixel * width + 3 * bytes_each, pixel, bytes_each
    elif order == "gapped":
        strides = (channels * width + 3) * bytes_each, channels * bytes_each, bytes_each
    elif order != "dense":
        strides = strides_in(order, shape, bytes_each, gap=2)
    return hwc(kind, shape, shape, pad16=pad16, strides_bytes=strides)


def short_rows() -> Iterator[Geometry]:
    """Rows of few bytes, with gaps behind them."""
    for kind, channels, width, height in product((*KINDS, *FAMILY), range(1, 9), (1, 2, 3, 4, 6, 7), (1, 4, 9)):
        yield row_path(kind, channels, width, height, "gapped", pad16=False)


def blocked() -> Iterator[Geometry]:
    """Channel blocks, and tiles of 16 channels side by side."""
    for kind, channels, width in product((*KINDS, *FAMILY), (16, 18, 32, 40, 48, 64, 80, 120), (1, 4, 7, 20)):
        shape = 3, width, channels
        if kind[0] in ("detesscast", "detessdequant"):
            yield Geometry(kind[0], shape, kind[1], cblocked=(2, width, channels), to=kind[2])
            yield Geometry(kind[0], shape, kind[1], cblocked=(2, width, 33), to=kind[2])
        yield hwc(kind, shape, (2, width, 16))
