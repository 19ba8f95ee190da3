"""Board data: what was measured on a board and how: Observation, Table, Setup. Values alone; readers are elsewhere."""

from collections.abc import Mapping
from typing import Literal

import attrs

from tessbed.scenarios.format.diagnostics import Location

FIT, VALIDATE = SPLITS = ("fit", "validate")
"""What a row is for. The rows of one shape are all for the same: whole shapes are held out."""
COLUMNS = ("experiment", "observable", "repeat", "value", "unit", "split", "note")
"""The columns of a table file, in order."""
CLOCK_SOURCES = ("measured", "documented", "assumed")
"""How a clock is known. With one that is only assumed no time determines ticks, but for their ratios."""

ClockSource = Literal["measured", "documented", "assumed"]


@attrs.frozen
class Observation:
    """One repetition of one measurement: a row of the table.

    `experiment` names a scenario (experiment.Experiment), `observable` is one of observables.OBSERVABLES, `repeat`
    counts from 0, `value` is above 0 and in `unit`, one of observables.UNITS. `place` is where the row was written.
    """

    experiment: str
    observable: str
    repeat: int
    value: float
    unit: str
    split: str = FIT
    note: str = ""
    place: Location | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class Table:
    """All observations, in the order of the file."""

    observations: tuple[Observation, ...]

    @property
    def experiments(self) -> tuple[str, ...]:
        """The names of the experiments, each once, in the order of their first rows."""
        return tuple(dict.fromkeys(row.experiment for row in self.observations))

    def part(self, split: str) -> "Table":
        """The rows that are for fitting, or for validation."""
        return Table(tuple(row for row in self.observations if row.split == split))

    def groups(self) -> dict[tuple[str, str], tuple[Observation, ...]]:
        """The repetitions of each (experiment, observable), in the order of the file."""
        found: dict[tuple[str, str], list[Observation]] = {}
        for row in self.observations:
            found.setdefault((row.experiment, row.observable), []).append(row)
        return {key: tuple(rows) for key, rows in found.items()}


@attrs.frozen
class Setup:
    """How a board was measured.

    `preset` names the device of the guesses: the preset of every experiment's scenario. `ranges` are the lowest and the
    highest value of parameters by their paths, where more is known than `parameter_space.PARAMETERS` says; equal ones
    make a parameter known. `choices` are the values to try of parameters that are no quantities.
    """

    board: str
    clock_mhz: int
    clock_source: ClockSource = "assumed"
    firmware_sha256: str = ""
    timer: str = ""
    timer_resolution_ns: float = 0.0
    preset: str = "ev74-4core"
    ranges: Mapping[str, tuple[int, int]] = attrs.field(factory=dict)
    choices: Mapping[str, tuple[int | bool | str, ...]] = attrs.field(factory=dict)
    note: str = ""
    places: Mapping[str, Location] = attrs.field(factory=dict, eq=False, repr=False)
    """Where the keys of the file are."""
