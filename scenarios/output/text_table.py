"""Text tables: rows of cells as aligned lines, and a row of numbers as bars."""

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> list[str]:
    """The lines of a table; the columns in `numbers` are aligned to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return [line(header), *map(line, rows)]


def sparkline(values: Sequence[float], floor: float = 0) -> str:
    """Bars from `floor` to the largest value, a character each."""
    span = max(values) - floor or 1
    return "".join(BARS[min(len(BARS) - 1, int(len(BARS) * (value - floor) / span))] for value in values)
