"""Table file: measurements as CSV, one line for each repetition, every error with its line and column.

    experiment,observable,repeat,value,unit,split,note
    luma.w4,device,0,231.4,us,fit,

Columns may come in any order, `split` and `note` may be absent. Lines that are empty or begin with # are passed over.
A field in double quotes may hold commas. A line without a value is one that was not measured: it is counted, no more.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, nearest, shortened
from tessbed.scenarios.format.texts import read_text
from tessbed.scenarios.study.calibration.board_data import COLUMNS, FIT, SPLITS, Observation, Table
from tessbed.scenarios.study.calibration.observables import OBSERVABLES, UNITS

FIELD = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*')
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
OPTIONAL = ("split", "note")
MOST_VALUE = 1e18
NO_OTHERS: Mapping[str, str] = {}
# What people write for a unit, and what it is called here.
OTHER_NAMES = {
    "µs": "us", "μs": "us", "usec": "us", "usecs": "us", "microsecond": "us", "microseconds": "us", "nsec": "ns",
    "nanoseconds": "ns", "msec": "ms", "milliseconds": "ms", "sec": "s", "seconds": "s", "cycles": "ticks",
    "tick": "ticks", "cycle": "ticks", "clk": "ticks",
}  # fmt: skip


@attrs.frozen
class TableField:
    """A field of a line: its text, and where it is; `closed` unless it begins with a quote that has no end."""

    text: str
    place: Location
    closed: bool = True


@attrs.define
class TableReader:
    """Reads the lines of a table; every problem of the file is found before it is refused."""

    problems: list[Problem] = attrs.field(factory=list)
    first: dict[tuple[str, str, int], Location] = attrs.field(factory=dict, init=False)
    alike: dict[tuple[str, ...], TableField] = attrs.field(factory=dict, init=False)
    unmeasured: list[Location] = attrs.field(factory=list, init=False)

    def table(self, text: str, name: str) -> Table:
        """The rows of the text. Raises ScenarioError with every problem."""
        lines = list(_lines(text, name))
        columns = self._columns(lines[0] if lines else [], name)
        rows = [row for cells in lines[1:] if columns and (row := self._row(columns, cells))]
        if columns and not lines[1:]:
            self._refuse(Location(name, 1, 1), "got a header alone, wanted a line for each repetition", "missing_key")
        if columns and self.unmeasured and not rows and not self.problems:
            text = f"none of {len(self.unmeasured):,} lines has a value: write what was measured into them"
            self._refuse(self.unmeasured[0], text, "missing_key")
        if self.problems:
            raise ScenarioError(self.problems)
        return Table(tuple(rows))

    def _refuse(self, place: Location, text: str, code: str = "invalid_value") -> None:
        self.problems.append(Problem(place, text, code))

    def _columns(self, header: Sequence[TableField], name: str) -> tuple[str, ...]:
        """The names of the columns; none where the header is wrong."""
        known = len(self.problems)
        names = [cell.text for cell in header]
        wanted = ",".join(COLUMNS)
        if not header:
            self._refuse(Location(name, 1, 1), f"got an empty file, wanted the header {wanted}", "missing_key")
        elif len(names) == 1 and re.search(r"[;\t]", names[0]):
            text = f"got columns that ; or a tab separates, wanted commas: {wanted}"
            self._refuse(header[0].place, text, "syntax")
        else:
            self._judge_header(header, names, wanted)
        return () if len(self.problems) > known else tuple(names)

    def _judge_header(self, header: Sequence[TableField], names: list[str], wanted: str) -> None:
        for number, cell in enumerate(header):
            if cell.text not in COLUMNS:
                text = f'got the column "{_short(cell.text)}", wanted {wanted}{nearest(cell.text, COLUMNS)}'
                self._refuse(cell.place, text, "unknown_key")
            elif cell.text in names[:number]:
                self._refuse(cell.place, f'got the column "{cell.text}" twice, wanted it once')
        for column in COLUMNS:
            if column not in names and column not in OPTIONAL:
                text = f'no column "{column}", wanted the header {wanted}'
                self._refuse(header[0].place, text, "missing_key")

    def _row(self, columns: tuple[str, ...], cells: Sequence[TableField]) -> Observation | None:
        """The row of a line; None where something is wrong with it."""
        known = len(self.problems)
        if len(cells) != len(columns):
            text = f"got {len(cells)} fields, wanted {len(columns)}: {','.join(columns)}"
            hint = "; write a decimal point, not a comma, and put text with commas in quotes"
            self._refuse(cells[0].place, text + (hint if len(cells) > len(columns) else ""), "syntax")
            return None
        for cell in cells:
            if not cell.closed:
                self._refuse(cell.place, f"got {_short(cell.text)}, wanted a quote around the whole field, or none")
        given = dict(zip(columns, cells, strict=True))
        if not given["value"].text:
            self.unmeasured.append(given["value"].place)
            return None
        row = Observation(
            experiment=self._name(given["experiment"]),
            observable=self._one_of(given["observable"], "observable", tuple(OBSERVABLES)),
            repeat=self._count(given["repeat"]),
            value=self._value(given["value"]),
            unit=self._one_of(given["unit"], "unit", UNITS, OTHER_NAMES),
            split=self._one_of(given["split"], "split", SPLITS) if given.get("split", NONE).text else FIT,
            note=given.get("note", NONE).text,
            place=given["value"].place,
        )
        if len(self.problems) > known:
            return None
        self._judge_together(row, given)
        return row if len(self.problems) == known else None

    def _name(self, cell: TableField) -> str:
        if not cell.text or not cell.text.isprintable() or set("/\\") & set(cell.text):
            self._refuse(cell.place, f'experiment: got "{_short(cell.text)}", wanted the name of a planned scenario')
        return cell.text

    def _one_of(
        self, cell: TableField, what: str, names: tuple[str, ...], others: Mapping[str, str] = NO_OTHERS
    ) -> str:
        if cell.text not in names:
            meant = others.get(cell.text.lower()) or next((n for n in names if n == cell.text.lower()), None)
            hint = f"; write {meant}" if meant else nearest(cell.text, names)
            got = f'got "{_short(cell.text)}"' if cell.text else "got nothing"
            self._refuse(cell.place, f"{what}: {got}, wanted {', '.join(names)}{hint}")
        return cell.text

    def _count(self, cell: TableField) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", cell.text):
            self._refuse(cell.place, f'repeat: got "{_short(cell.text)}", wanted 0, 1, ...: the repetition\'s number')
            return 0
        return int(cell.text)

    def _value(self, cell: TableField) -> float:
        value = float(cell.text) if NUMBER.fullmatch(cell.text) else None
        if value is None or not isfinite(value) or not 0 < value <= MOST_VALUE:
            self._refuse(cell.place, f'value: got "{_short(cell.text)}", wanted a number above 0')
        return value or 0.0

    def _judge_together(self, row: Observation, given: Mapping[str, TableField]) -> None:
        """A repetition is there once; those of one measurement have one unit, those of an experiment one split."""
        key = (row.experiment, row.observable, row.repeat)
        place = given["repeat"].place
        if self.first.setdefault(key, place) is not place:
            text = f"repeat: got {row.repeat} of {row.experiment} {row.observable} again, as in line"
            self._refuse(place, f"{text} {self.first[key].line}; number the repetitions 0, 1, ...")
        same = (("unit", (row.experiment, row.observable)), ("split", (row.experiment,)))
        for what, group in same:
            cell = TableField(getattr(row, what), given.get(what, given["value"]).place)
            before = self.alike.setdefault((what, *group), cell)
            if before.text != cell.text:
                text = f"{what}: got {cell.text}, line {before.place.line} has {before.text}"
                self._refuse(cell.place, f"{text}; wanted one {what} for all of {' '.join(group)}")


NONE = TableField("", Location(""))


def read_table(path: Path) -> Table:
    """The table of a file: its lines with a value. Raises ScenarioError with every problem of it."""
    return read_lines(path)[0]


def read_lines(path: Path) -> tuple[Table, tuple[Location, ...]]:
    """The table of a file, and the places of its lines without a value. Raises as `read_table`."""
    reader = TableReader()
    table = reader.table(read_text(path, str(path), "save it as CSV in UTF-8"), str(path))
    return table, tuple(reader.unmeasured)


def table_text(table: Table) -> str:
    """A table as the text of a file, which reads back as the same table."""
    lines = [",".join(COLUMNS)]
    for row in table.observations:
        cells = (
            row.experiment,
            row.observable,
            row.repeat,
            repr(row.value).removesuffix(".0"),
            row.unit,
            row.split,
            row.note,
        )
        lines.append(",".join(_quoted(str(cell)) for cell in cells))
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    plain = not set(',"') & set(text) and text == text.strip() and not text.startswith("#")
    return text if plain else '"' + text.replace('"', '""') + '"'


def _lines(text: str, name: str) -> Iterator[list[TableField]]:
    """The fields of each line that holds something."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield list(_cells(line.rstrip("\r"), name, number))


def _cells(line: str, name: str, number: int) -> Iterator[TableField]:
    at = 0
    while at <= len(line):
        found = FIELD.match(line, at)
        assert found is not None
        if found.end() < len(line) and line[found.end()] != ",":  # text behind a closing quote
            end = line.find(",", found.end())
            end = len(line) if end < 0 else end
            content, start, quoted = line[at:end].strip(), at, False
        else:
            quoted = found[1] is not None
            content = found[1].replace('""', '"') if quoted else found[2].strip()
            end, start = found.end(), found.start(1) - 1 if quoted else found.start(2)
        yield TableField(content, Location(name, number, start + 1), quoted or not content.startswith('"'))
        at = end + 1


def _short(text: str) -> str:
    return shortened(text, 40)
