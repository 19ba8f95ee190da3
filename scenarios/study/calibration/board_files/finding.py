"""Finding: what is wrong, or doubtful, with the measurements of a board, and what to do about it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from tessbed.scenarios.format.diagnostics import Location
from tessbed.scenarios.study.calibration.board_data import Observation, Setup, Table
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.folder_files import SETUP_FILE, TABLE_FILE
from tessbed.sim.spec.device_spec import DeviceSpec

Severity = Literal["error", "warning"]


@attrs.frozen
class TableFinding:
    """One finding: of which kind, where, what was found and wanted, and what to do.

    An error makes a fit wrong; a warning is for whoever knows the board to judge. `count` is of how many rows or
    measurements it is said.
    """

    severity: Severity
    kind: str
    place: Location
    text: str
    count: int = 1

    def __str__(self) -> str:
        return f"{self.severity}: {self.place}: {self.text}"

    @property
    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        place = {"file": self.place.source, "line": self.place.line, "column": self.place.column}
        said = {"severity": self.severity, "kind": self.kind, "count": self.count, "text": self.text}
        return {**said, **place}


@attrs.frozen
class Group:
    """The repetitions of one observable of one experiment, in the order of their numbers, in nanoseconds or ticks."""

    experiment: str
    observable: str
    rows: tuple[Observation, ...]

    @property
    def name(self) -> str:
        """As messages call it."""
        return f"{self.experiment} {self.observable}"

    @property
    def place(self) -> Location:
        """Where its first value is."""
        return self.rows[0].place or Location("table")

    @property
    def values(self) -> tuple[float, ...]:
        """The values, in their unit."""
        return tuple(row.value for row in self.rows)


@attrs.frozen(eq=False)
class Board:
    """A folder of a calibration, read: what was planned and what was measured; messages call the files by their paths.

    `guesses` is the device of the setup's preset, `expected` are the ticks of each observable of each experiment as
    the guesses predict them. `unmeasured` are the lines without a value.
    """

    folder: Path
    setup: Setup
    table: Table
    experiments: dict[str, Experiment]
    guesses: DeviceSpec
    expected: dict[tuple[str, str], float]
    unmeasured: tuple[Location, ...] = ()

    @property
    def groups(self) -> list[Group]:
        """The measurements, in the order of the file, each with its repetitions in order."""
        found = self.table.groups().items()
        return [Group(*key, tuple(sorted(rows, key=lambda row: row.repeat))) for key, rows in found]

    @property
    def table_place(self) -> Location:
        """The table's file as a whole."""
        return Location(str(self.folder / TABLE_FILE))

    def setup_place(self, key: str) -> Location:
        """Where the setup says that; the file as a whole where it does not."""
        return self.setup.places.get(key, Location(str(self.folder / SETUP_FILE)))


def count_of(number: int, what: str) -> str:
    """As "1 line" and "2 lines"."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def named(names: Sequence[str], most: int = 3) -> str:
    """The first few of the names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
