"""Load sweep: a load at every combination of varied keys, as rows: the worst latencies of all streams, frames missed.

Whatever is random is drawn alike at every point, as long as streams and jobs keep their numbers. An error of a point is
its row's `error`; the others go on.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tessbed.kernels.errors import NotRepresentable
from tessbed.runtime.errors import HeapExhausted
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.library import load
from tessbed.scenarios.load.simulation import simulate_load
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import KEY, basis_lines
from tessbed.scenarios.provenance.tick_basis import TickBasis, tick_basis
from tessbed.scenarios.study.load.compilation import compile_load
from tessbed.scenarios.study.load.report import document
from tessbed.scenarios.study.sweep.space import Setting, Space, plain, settings_of

COLUMNS = ("mean", "p50", "p90", "p95", "p99", "max")

LoadRow = dict[str, Any]


def sweep_load(
    file: str, settings: Sequence[str], seed: int | None, space: Space, bases: dict[TickBasis, None]
) -> Iterator[LoadRow]:
    """One row for each point, in order; adds what their ticks rest on to `bases`.

    Raises ScenarioError where even the scenario as it is can not be read.
    """
    load(file, settings, seed)
    for number in range(space.size):
        point = space.point(number)
        try:
            scenario = load(file, [*settings, *settings_of(point)], seed)
            yield {**_said(point), **_row(scenario), "error": None}
            bases.setdefault(tick_basis(scenario))
        except (ScenarioError, HeapExhausted, NotRepresentable) as error:
            yield {**_said(point), **dict.fromkeys(_names()), "error": str(error)}


def _said(point: Sequence[Setting]) -> LoadRow:
    return {key: plain(value) for key, value in point}


def _names() -> tuple[str, ...]:
    latencies = tuple(f"{name}_ticks" for name in COLUMNS)
    return ("stable", "offered", "dropped", "failed", "missed", *latencies, "busiest", "utilisation")


def _row(scenario: Scenario) -> LoadRow:
    reported = document(scenario, simulate_load(compile_load(scenario)), relief=False)
    streams = reported["streams"]
    counts = {name: sum(stream[name] for stream in streams) for name in ("offered", "dropped", "failed", "missed")}
    busiest = max(reported["servers"], key=lambda server: server["utilisation"])
    return {
        "stable": all(stream["stable"] for stream in streams),
        **counts,
        **{f"{name}_ticks": _worst([stream["latency_ticks"][name] for stream in streams]) for name in COLUMNS},
        "busiest": busiest["name"],
        "utilisation": busiest["utilisation"],
    }


def _worst(ticks: Sequence[float | None]) -> float | None:
    """The longest of all streams; None where one has too few frames."""
    known = [each for each in ticks if each is not None]
    return max(known) if len(known) == len(ticks) else None


def load_sweep_lines(space: Space, rows: Sequence[LoadRow], basis: Mapping[str, Any]) -> Iterator[str]:
    """The rows for a person. `basis` is what the document says of its ticks."""
    keys = [axis.key for axis in space.axes]
    shown = ("mean_ticks", "p99_ticks", "max_ticks")
    cells = [
        (
            *(str(row[key]) for key in keys),
            *("too few" if row[name] is None else f"{row[name]:,.0f}" for name in shown),
            f"{row['missed']:,}",
            f"{row['busiest']} {100 * row['utilisation']:.1f} %",
            "stable" if row["stable"] else "saturated",
        )
        for row in rows
        if not row["error"]
    ]
    header = (*keys, "mean", "p99", "max", "missed", "busiest", "")
    yield from aligned(header, cells, numbers=range(len(keys) + 4))
    yield from basis_lines({KEY: basis})
    for row in rows:
        if row["error"]:
            yield f"{', '.join(f'{key} = {row[key]}' for key in keys)}: {row['error']}"
