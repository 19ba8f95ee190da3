"""Sensitivity: each parameter one step down and up, halved, doubled, infinitely good; exact re-runs, ranked by gain.

A cell is the makespan of a whole new run, planning included, and not an estimate. A better resource that makes the run
slower, or a worse one that makes it faster, is flagged: schedules have such anomalies, and a study must not hide them.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import attrs

from tessbed.scenarios.model import Scenario
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import basis_lines
from tessbed.scenarios.study.measurement import Measurement, measure_scenario, on_device, provenance, whole
from tessbed.scenarios.study.parallel_runs import SERIAL, ParallelRuns
from tessbed.scenarios.study.parameters import STEPS, Knob, knobs
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec


@attrs.frozen
class Cell:
    """One re-run: the value tried, the makespan, and whether it is an anomaly."""

    value: int
    ticks: int
    anomaly: bool


@attrs.frozen
class Row:
    """One knob and its cells by step; steps that a limit forbids are missing."""

    knob: Knob
    cells: dict[str, Cell]

    def gain(self, base: int) -> int:
        """The most ticks that a better value saves."""
        saved = [base - cell.ticks for cell in self.cells.values() if self.knob.better(cell.value)]
        return max(saved, default=0)

    def swing(self, base: int) -> int:
        """The largest change, either way."""
        return max((abs(base - cell.ticks) for cell in self.cells.values()), default=0)


def run_count(scenario: Scenario) -> int:
    """How many runs that takes."""
    return 1 + len(_devices(scenario))


def sensitivities(scenario: Scenario, engine: str, runs: ParallelRuns = SERIAL) -> tuple[Measurement, list[Row]]:
    """The run as it is, and a row for each knob, the largest gain first. Raises ScenarioError where a job fails."""
    measured = whole(measure_scenario(scenario, engine, trace=False))
    runs.progress(1)
    devices = _devices(scenario)
    ticks = dict(zip(devices, runs.run(_ticks, scenario, engine, list(devices.values())), strict=True))
    base = measured.device_ticks
    rows = [Row(knob, _cells(knob, ticks, base)) for knob in knobs(scenario.device)]
    return measured, sorted(rows, key=lambda row: (-row.gain(base), -row.swing(base)))


def _devices(scenario: Scenario) -> dict[tuple[str, int], DeviceSpec]:
    """The device with each knob at each of its values, by both; without those that the device as a whole forbids."""
    found = {}
    for knob in knobs(scenario.device):
        for value in dict.fromkeys(knob.steps.values()):
            with suppress(SpecError):
                found[knob.path, value] = on_device(scenario, **knob.changes(value)).device
    return found


def _ticks(scenario: Scenario, engine: str, device: DeviceSpec) -> int | None:
    """The makespan; None where a job fails."""
    measured = measure_scenario(attrs.evolve(scenario, device=device), engine, trace=False)
    return None if measured.failed else measured.device_ticks


def _cells(knob: Knob, ticks: Mapping[tuple[str, int], int | None], base: int) -> dict[str, Cell]:
    cells = {}
    for step, value in knob.steps.items():
        found = ticks.get((knob.path, value))
        if found is not None:
            cells[step] = Cell(value, found, found > base if knob.better(value) else found < base)
    return cells


def document(measured: Measurement, rows: list[Row]) -> dict[str, Any]:
    """All cells."""
    base = measured.device_ticks
    return {
        "schema_version": 1,
        "name": measured.scenario.name,
        **provenance(measured),
        "device_ticks": base,
        "rows": [
            {
                "path": f"device.{row.knob.path}",
                "value": row.knob.value,
                "better": "higher" if row.knob.higher else "lower",
                "gain_ticks": row.gain(base),
                "cells": {step: attrs.asdict(cell) for step, cell in row.cells.items()},
            }
            for row in rows
        ],
    }


def lines(reported: dict[str, Any], top: int | None = None) -> Iterator[str]:
    """The table for a person: percent of the makespan, and the parameters that change nothing in one line.

    Beyond `top` parameters the rest of those that change something are a number, and so are those that change nothing.
    """
    base = reported["device_ticks"]
    yield f"{reported['name']}: {base:,} device ticks; each cell is a whole exact run, as a change of the makespan"
    yield from basis_lines(reported)
    yield ""
    moving = [row for row in reported["rows"] if any(cell["ticks"] != base for cell in row["cells"].values())]
    table = [
        (row["path"], f"{row['value']:,}", *(_cell(row["cells"].get(step), base) for step in STEPS))
        for row in moving[:top]
    ]
    yield from aligned(("parameter", "value", *STEPS), table, numbers=range(1, 2 + len(STEPS)))
    yield ""
    strange = [
        f"{row['path']} = {cell['value']:,}: {cell['ticks'] - base:+,} ticks"
        for row in moving[:top]
        for cell in {c["value"]: c for c in row["cells"].values()}.values()
        if cell["anomaly"]
    ]
    if strange:
        yield "! an anomaly: a better resource and a slower run, or a worse one and a faster run"
        yield from (f"  {line}" for line in strange)
    still = [row["path"] for row in reported["rows"] if row not in moving]
    if top is not None:
        yield f"{len(moving[top:])} more parameters change it, {len(still)} do not"
    elif still:
        yield f"no effect on the makespan: {', '.join(still)}"


def _cell(cell: dict[str, Any] | None, base: int) -> str:
    if cell is None:
        return "-"
    if cell["ticks"] == base:
        return "="
    return f"{100 * (cell['ticks'] - base) / max(1, base):+.1f} %{' !' if cell['anomaly'] else ''}"
