"""Turns: dense pixels become rows of channels, and how long that and the copies around it take.

Theory. numpy copies scalars of a pixel to rows one by one, and an item of four bytes as quickly as a byte. So four
bytes of each pixel go as one item, whose rows are columns of pixels: 4 channels of bytes or 2 of words. Each channel
is then cast out of its columns, from the byte on where it lies in them, a register at a time; a word that becomes the
upper half of another is shifted or masked. Channels that are left over have a smaller item. Pixels of as many bytes as
an item are columns as they are.

Which way is quicker is said by costs. Of single scalars every row reads all pixels again, from a cache while they fit.
An inner loop takes as long to begin as twenty scalars; an item whose size is no register's takes a call of `memcpy`;
a call of numpy, with the views that it needs, takes as long as thousands of scalars. Measured on an x86-64 server; what
matters is how they compare.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tessbed.kernels.a65.numpy_engine.layout import Layout, PixelTurn
from tessbed.kernels.a65.numpy_engine.steps import SCRATCH
from tessbed.kernels.a65.numpy_engine.values import COLUMNS, LONG, SCALARS, SIXTEEN, Change

LAST_OF_FOUR = 3
UPPER_HALF = np.array(0xFFFF0000, LONG)
Take = Callable[[np.ndarray, np.ndarray], object]
"""(rows, columns): sets the rows of channels."""
NEAR_PS, FAR_PS, GATHERED_PS, NEAR_BYTES = 400, 900, 300, 300_000
"""Picoseconds of a scalar, or an item as large as a register, of pixels that stay in a cache and of others; and
of rows that are read in turns."""
LOOP_PS, CALL_PS, BOX_PS = 10_000, 1_500_000, 10_000_000
CAST_PS, CAST_LOOP_PS, JOIN_PS = 170, 15_000, 500
REGISTER_PS, ITEM_PS, ITEM_BYTE_PS, REGISTER_BYTES = 1_500, 5_000, 20, (1, 2, 4, 8, 16)
COLUMN_BYTES, UNEVEN_PS = 4, 250
"""Bytes of a column, and what one takes longer where pixels are no whole columns."""


class ColumnRows(NamedTuple):
    """Every so many channels: their place in rows, and where their first bytes are in columns."""

    rows: tuple[slice, ...]
    columns: np.ndarray
    take: Take


class Columns(NamedTuple):
    """Some channels of dense pixels as items: the pixels are copied to `target`, if they are no columns yet."""

    target: np.ndarray | None
    pixels: np.ndarray
    channels: list[ColumnRows]


def rows_of_columns(layout: Layout, scalars: np.ndarray, raised: bool) -> Change:
    """What makes rows of channels, in the order of the linear side, of dense pixels; of words their upper halves, if
    `raised`."""
    turns = [(turn, [*_columns_of(turn, scalars, raised)]) for turn in layout.turns(scalars)]

    def change(linear: np.ndarray) -> None:
        for turn, found in turns:
            rows = turn.of(linear)
            for target, pixels, channels in found:
                if target is not None:
                    target[...] = pixels
                for place, columns, take in channels:
                    take(rows[place], columns)

    return change


def one_by_one(layout: Layout, scalars: np.ndarray) -> Change:
    """The same without columns."""
    turns = layout.turns(scalars)

    def change(linear: np.ndarray) -> None:
        for turn in turns:
            turn.of(linear)[...] = turn.dense

    return change


def _columns_of(turn: PixelTurn, scalars: np.ndarray, raised: bool) -> Iterator[Columns]:
    """Items of four bytes, then what is left of each pixel, which may end in the next one."""
    width, channels = scalars.itemsize, turn.shape[turn.axis]
    together = LONG.itemsize // width
    full, rest = divmod(channels, together)
    if full:
        yield _columns(turn, scalars, slice(0, full * together), LONG, raised)
    if rest:
        item = LONG if raised or rest == LAST_OF_FOUR else SCALARS[rest * width]
        yield _columns(turn, scalars, slice(full * together, channels), item, raised)


def _columns(turn: PixelTurn, scalars: np.ndarray, part: slice, item: np.dtype, raised: bool) -> Columns:
    axis, width, start = turn.axis, scalars.itemsize, turn.place + part.start * scalars.itemsize
    together = item.itemsize // width
    shape, steps = [*turn.shape], [*turn.steps]
    shape[axis], steps[axis] = -(-(part.stop - part.start) // together), item.itemsize
    pixels = columns = np.ndarray(shape, item, scalars.base, start, steps)  # pyright: ignore[reportArgumentType]
    if together > 1 and not pixels.flags.c_contiguous:
        columns, start = SCRATCH.array(COLUMNS, tuple(shape), item), 0
    found = []
    for lane in range(min(together, part.stop - part.start)):
        rows = (*[slice(None)] * axis, slice(part.start + lane, part.stop, together))
        at = start if raised else start + lane * width
        source = np.ndarray(shape, item, columns.base, at, columns.strides)  # pyright: ignore[reportArgumentType]
        found.append(ColumnRows(rows, source, RAISED[lane] if raised else _cast))
    return Columns(None if columns is pixels else columns, pixels, found)


def _cast(rows: np.ndarray, columns: np.ndarray) -> None:
    rows[...] = columns


def _raise(rows: np.ndarray, columns: np.ndarray) -> None:
    np.left_shift(columns, SIXTEEN, rows)


def _mask(rows: np.ndarray, columns: np.ndarray) -> None:
    np.bitwise_and(columns, UPPER_HALF, rows)


RAISED: tuple[Take, Take] = (_raise, _mask)
"""What makes words the upper halves of others: of the low words of columns, and of the high ones."""


def scattered_ps(scalars: int, row: int, dense_bytes: int) -> int:
    """Scalars of pixels of so many bytes that are copied one by one, in inner loops of `row` each."""
    return scalars * ((NEAR_PS if dense_bytes <= NEAR_BYTES else FAR_PS) + LOOP_PS // row)


def gathered_ps(scalars: int, channels: int) -> int:
    """Scalars of rows that are put together to pixels, one pixel at a time."""
    return scalars * (GATHERED_PS + LOOP_PS // channels)


def item_ps(size_bytes: int) -> int:
    """An item, besides its bytes."""
    return REGISTER_PS if size_bytes in REGISTER_BYTES else ITEM_PS


def contiguous_ps(scalars: int, run: int) -> int:
    """Bytes that are copied as items of `run` each, between two sides that have them apart."""
    return scalars * ITEM_BYTE_PS + scalars // run * 2 * item_ps(run)


def columns_ps(scalars: int, channels: int, row: int, width: int, dense_bytes: int) -> int:
    """Dense pixels that become rows of channels by way of columns."""
    together = COLUMN_BYTES // width
    whole, rest = divmod(channels, together)
    items = scalars // channels * (whole + min(rest, 1))
    moved = scattered_ps(items, row, dense_bytes) + (items * UNEVEN_PS if rest and whole else 0)
    return moved + scalars * (CAST_PS + CAST_LOOP_PS // row) + (min(together, channels) + 2) * CALL_PS
