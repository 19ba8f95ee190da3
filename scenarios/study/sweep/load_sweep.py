"""Load sweep: a load as a row of a sweep or a search: the worst latencies of all streams, frames dropped and missed.

What runs a load is imported when one runs: every sweep asks here whether a row is that of a load.
Whatever is random is drawn alike at every point, as long as streams and jobs keep their numbers. An error of a point is
its row's `error`; the others go on.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import KEY, basis_lines
from tessbed.scenarios.provenance.tick_basis import TickBasis, tick_basis
from tessbed.scenarios.study.sweep.space import Setting, Space, plain, settings_of

COLUMNS = ("mean", "p50", "p90", "p95", "p99", "max")
LOAD = "load"
"""What stands for the engine of a point whose load is run."""
COUNTED = ("offered", "dropped", "failed", "missed")
LATENCY_COLUMNS = tuple(f"{name}_ticks" for name in COLUMNS)
LOAD_COLUMNS = (
    *("stable", *COUNTED, *LATENCY_COLUMNS),
    *("frames_per_second", "ticks_per_frame", "busiest", "utilisation"),
)

SHOWN = ("mean", "p99", "max")
REFUSED = ("-", "-", "-", "-", "", "refused")

LoadRow = dict[str, Any]


def sweep_load(
    file: str, settings: Sequence[str], seed: int | None, space: Space, bases: dict[TickBasis, None]
) -> Iterator[LoadRow]:
    """One row for each point, in order; adds what their ticks rest on to `bases`.

    Raises ScenarioError where even the scenario as it is can not be read.
    """
    from tessbed.scenarios.library import load

    load(file, settings, seed)
    for number in range(space.size):
        point = space.point(number)
        try:
            scenario = load(file, [*settings, *settings_of(point)], seed)
            yield {**_said(point), **load_row(scenario), "error": None}
            bases.setdefault(tick_basis(scenario))
        except ScenarioError as error:
            yield {**_said(point), **dict.fromkeys(LOAD_COLUMNS), "error": str(error)}


def _said(point: Sequence[Setting]) -> LoadRow:
    return {key: plain(value) for key, value in point}


def load_row(scenario: Scenario) -> LoadRow:
    """The results of a load. Raises ScenarioError."""
    from tessbed.scenarios.load.simulation import simulate_load
    from tessbed.scenarios.study.load.compilation import compile_load
    from tessbed.scenarios.study.load.report import document

    reported = document(scenario, simulate_load(compile_load(scenario)), relief=False)
    streams = reported["streams"]
    counts = {name: sum(stream[name] for stream in streams) for name in COUNTED}
    rates = [stream["throughput_per_second"] for stream in streams]
    clock_hz = scenario.device.clock_mhz * 10**6
    busiest = max(reported["servers"], key=lambda server: server["utilisation"])
    return {
        "stable": all(stream["stable"] for stream in streams),
        **counts,
        **{f"{name}_ticks": _worst([stream["latency_ticks"][name] for stream in streams]) for name in COLUMNS},
        "frames_per_second": None if None in rates else round(sum(rates), 6),
        "ticks_per_frame": None if None in rates else round(clock_hz / sum(rates), 3),
        "busiest": busiest["name"],
        "utilisation": busiest["utilisation"],
    }


def is_load_row(row: LoadRow) -> bool:
    """True for what `load_row` may return, as a store has kept it."""
    if set(row) != {*LOAD_COLUMNS, "engine"} or not isinstance(row["stable"], bool):
        return False
    counts = all(type(row[name]) is int and row[name] >= 0 for name in COUNTED)
    measured = (*LATENCY_COLUMNS, "frames_per_second", "ticks_per_frame", "utilisation")
    return counts and isinstance(row["busiest"], str) and all(_is_measure(row[name]) for name in measured)


def _is_measure(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value < float("inf"))


def _worst(ticks: Sequence[float | None]) -> float | None:
    """The longest of all streams; None where one has too few frames."""
    known = [each for each in ticks if each is not None]
    return max(known) if len(known) == len(ticks) else None


def load_sweep_lines(space: Space, rows: Sequence[LoadRow], basis: Mapping[str, Any]) -> Iterator[str]:
    """The rows for a person. `basis` is what the document says of its ticks."""
    keys = [axis.key for axis in space.axes]
    cells = [(*(str(row[key]) for key in keys), *(REFUSED if row["error"] else _shown(row))) for row in rows]
    header = (*keys, *SHOWN, "missed", "busiest", "")
    yield from aligned(header, cells, numbers=range(len(keys) + 4))
    yield from basis_lines({KEY: basis})
    for row in rows:
        if row["error"]:
            place = ", ".join(f"{key} = {row[key]}" for key in keys)
            yield from (f"{place}: {problem}" for problem in row["error"].splitlines())


def _shown(row: LoadRow) -> tuple[str, ...]:
    """The cells of a point that has a result."""
    return (
        *("too few" if row[f"{name}_ticks"] is None else f"{row[f'{name}_ticks']:,.0f}" for name in SHOWN),
        f"{row['missed']:,}",
        f"{row['busiest']} {100 * row['utilisation']:.1f} %",
        "stable" if row["stable"] else "saturated",
    )
