"""Granule part: the map of an output as a picture, cell by cell, and its sums by worker."""

from collections.abc import Iterator

import numpy as np

from tessbed.scenarios.html_report.drawing import path
from tessbed.scenarios.html_report.granule_map import NOBODY, GranuleMap
from tessbed.scenarios.html_report.markup import Markup, concat, count, element, note, section, table

CELLS, ACROSS = 2048, 64


def granule_part(maps: list[GranuleMap], anchor: str) -> Markup:
    """Who wrote what of each output, and what was read, modified and written."""
    return section("Granules of the output", concat(map(_one, maps)), anchor=f"{anchor}-granules", level=3)


def _one(made: GranuleMap) -> Markup:
    granules = made.writer.size
    per_cell = -(-granules // CELLS)
    unit = f"{per_cell:,} granules" if per_cell > 1 else "one granule"
    text = (
        f"{made.name}: {granules:,} write granules of {made.granule_bytes} bytes, by address, row by row; "
        f"a cell is {unit}, in the colour of the first worker that wrote into it. A mark: granules in it were read, "
        "modified and written back."
    )
    return concat((note(text), _picture(made, per_cell), _sums(made)))


def _picture(made: GranuleMap, per_cell: int) -> Markup:
    runs = list(_runs(made, per_cell))
    cells = (made.writer.size + per_cell - 1) // per_cell
    rows = (cells + ACROSS - 1) // ACROSS
    drawn = []
    for row, first, end, worker, shared in runs:
        low, high = (row * ACROSS + first) * per_cell, min((row * ACROSS + end) * per_cell, made.writer.size)
        rewritten = int(np.count_nonzero(made.rewrites[low:high]))
        who = " and ".join(f"worker {one}" for one in np.unique(made.writer[low:high]) if one != NOBODY) or "nobody"
        words = f"granules {low:,} to {high - 1:,}: {who}; {rewritten:,} read, modified and written"
        kind = "g-shared" if shared else "g-none" if worker == NOBODY else f"w{worker % 8}"
        drawn.append(element("rect", element("title", words), x=first, y=row, width=end - first, height=1, class_=kind))
    marks = element("path", d=path(_marks(made, per_cell)), class_="rewritten")
    return element(
        "svg", concat(drawn), marks, viewbox=f"0 0 {ACROSS} {rows}", class_="granules", role="img",
        aria_label=f"the granules of {made.name} by worker",
    )  # fmt: skip


def _runs(made: GranuleMap, per_cell: int) -> Iterator[tuple[int, int, int, int, bool]]:
    """Cells of equal colour beside each other: row, first and end column, worker, whether it is of several."""
    cells = [_cell(made, start, per_cell) for start in range(0, made.writer.size, per_cell)]
    for row in range(0, len(cells), ACROSS):
        line, first = cells[row : row + ACROSS], 0
        for column in range(1, len(line) + 1):
            if column == len(line) or line[column] != line[first]:
                yield row // ACROSS, first, column, *line[first]
                first = column


def _cell(made: GranuleMap, start: int, size: int) -> tuple[int, bool]:
    writers = made.writer[start : start + size]
    known = writers[writers != NOBODY]
    first = int(known[0]) if known.size else NOBODY
    return first, bool(made.shared[start : start + size].any())


def _marks(made: GranuleMap, per_cell: int) -> Iterator[tuple[float, float, float]]:
    for cell, start in enumerate(range(0, made.writer.size, per_cell)):
        if made.rewrites[start : start + per_cell].any():
            yield cell % ACROSS + 0.3, cell // ACROSS, 0.4


def _sums(made: GranuleMap) -> Markup:
    workers = sorted({int(worker) for worker in np.unique(made.writer)} - {NOBODY})
    rows = []
    for worker in workers:
        mine = made.writer == worker
        sums = (mine.sum(), made.drained_bytes.get(worker, 0), np.count_nonzero(made.rewrites[mine]),
                made.rewrites[mine].sum(), made.shared[mine].sum())  # fmt: skip
        swatch = element("span", "", class_=f"swatch w{worker % 8}")
        rows.append((concat((swatch, f" worker {worker}")), *(count(int(value)) for value in sums)))
    nobody = int(np.count_nonzero(made.writer == NOBODY))
    rows.append(("nobody", count(nobody), "", "", "", "")) if nobody else None
    head = ("writer", "granules", "bytes", "granules rewritten", "rewrites", "of several workers")
    return table(head, rows, numbers=range(1, 6))
