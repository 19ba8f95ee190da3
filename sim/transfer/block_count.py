"""Counts of blocks under a pitched rectangle of bytes, in closed form.

`rows` rows of `row_bytes` bytes start at `address`, `pitch` apart; memory is cut in aligned blocks of `unit`
bytes. Nothing here loops over rows: sums of floors go by the Euclid-like `floor_sum`. Rows do not step
backwards (pitch >= 0).
"""


def floor_sum(count: int, step: int, start: int, unit: int) -> int:
    """The sum of (start + i * step) // unit over i in range(count), for step and start >= 0, unit >= 1."""
    total = 0
    while count > 0:
        total += (step // unit) * (count * (count - 1) // 2) + (start // unit) * count
        step, start = step % unit, start % unit
        top = step * count + start
        count, start = top // unit, top % unit
        step, unit = unit, step
        if unit == 0:
            break
    return total


def touched_by_rows(address: int, rows: int, row_bytes: int, pitch: int, unit: int) -> int:
    """Blocks that the rows touch, each row counted by itself."""
    if rows == 1:
        return (address + row_bytes - 1) // unit - address // unit + 1
    last = floor_sum(rows, pitch, address + row_bytes - 1, unit)
    return last - floor_sum(rows, pitch, address, unit) + rows


def touched(address: int, rows: int, row_bytes: int, pitch: int, unit: int) -> int:
    """Blocks that the rectangle touches; one that two rows share counts once.

    A gap shorter than a block skips none, so the rectangle touches its whole span; a gap of a block or more
    keeps any two rows out of one block.
    """
    if pitch - row_bytes >= unit:
        return touched_by_rows(address, rows, row_bytes, pitch, unit)
    return touched_by_rows(address, 1, (rows - 1) * pitch + row_bytes, 0, unit)


def covered(address: int, rows: int, row_bytes: int, pitch: int, unit: int) -> int:
    """Blocks of which the rectangle covers every byte; its rows must not overlap (pitch >= row_bytes)."""
    if rows == 1 or pitch == row_bytes:
        rows, row_bytes = 1, rows * row_bytes
        return max(0, (address + row_bytes) // unit - -(-address // unit))
    if row_bytes < unit:
        return 0
    ends = floor_sum(rows, pitch, address + row_bytes, unit)
    return ends - floor_sum(rows, pitch, address + unit - 1, unit)
