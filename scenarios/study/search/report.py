"""Report: a search as a document, as the rows of its trials, and as lines for a person."""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.scenarios.format.option_values import OBJECTIVES
from tessbed.scenarios.output.text_table import aligned, sparkline
from tessbed.scenarios.provenance.basis_words import basis_lines
from tessbed.scenarios.study.search.trials import Memory, SearchResult
from tessbed.scenarios.study.sweep import table
from tessbed.scenarios.study.sweep.space import Space, plain

SHOWN = 5
WIDTH = 60


@attrs.frozen
class SearchRequest:
    """What a search was asked for. `within` is a percentage, or None."""

    name: str
    minimise: str
    sampler: str
    seed: int
    within: float | None = None

    @property
    def column(self) -> str:
        """The column of the rows that is minimised."""
        return OBJECTIVES[self.minimise]


def rows(found: SearchResult) -> list[table.Flat]:
    """One flat dict for each trial, in order, numbered from 1."""
    flat = table.flat([trial.point for trial in found.trials], [trial.row for trial in found.trials])
    return [{"trial": number, **row} for number, row in enumerate(flat, 1)]


def document(asked: SearchRequest, found: SearchResult, memory: Memory) -> dict[str, Any]:
    """Everything. `best` and `cheapest` are entries of `trials`, or null where no configuration could run."""
    space, flat = found.space, rows(found)
    trials = [_trial(row, space, asked.column) for row in flat]
    best = min((t for t in trials if t["ticks"] is not None), key=lambda t: t["ticks"], default=None)
    return {
        "schema_version": 1,
        "name": asked.name,
        **table.table_provenance([found.baseline, *(trial.row for trial in found.trials)], memory.bases),
        "minimise": asked.minimise,
        "sampler": asked.sampler,
        "seed": asked.seed,
        "space": {axis.key: [plain(value) for value in axis.values] for axis in space.axes},
        "space_points": space.size,
        "exhaustive": found.exhaustive,
        "counts": {
            "trials": len(trials),
            "without_result": sum(trial["ticks"] is None for trial in trials),
            "repeated": found.repeated,
            "simulated": memory.simulated,
            "remembered": memory.remembered,
        },
        "as_it_stands_ticks": found.baseline.get(asked.column),
        "best": best,
        "within_percent": asked.within,
        "cheapest": _cheapest(trials, best, asked.within, space),
        "trials": trials,
    }


def _trial(row: table.Flat, space: Space, column: str) -> dict[str, Any]:
    settings = {axis.key: row[axis.key] for axis in space.axes}
    return {"trial": row["trial"], "settings": settings, "ticks": row.get(column), "error": row["error"]}


def _cheapest(
    trials: list[dict[str, Any]], best: dict[str, Any] | None, within: float | None, space: Space
) -> dict[str, Any] | None:
    """Of the trials within a percentage of the best, the one with the earliest value of the first key, and so on."""
    if best is None or within is None:
        return None
    orders = {axis.key: [plain(value) for value in axis.values] for axis in space.axes}
    near = [t for t in trials if t["ticks"] is not None and t["ticks"] * 100 <= best["ticks"] * (100 + within)]
    return min(near, key=lambda trial: [orders[key].index(value) for key, value in trial["settings"].items()])


def lines(reported: dict[str, Any]) -> Iterator[str]:
    """The search for a person: the best configuration, how it was found, the next best."""
    count, size, base = reported["counts"]["trials"], reported["space_points"], reported["as_it_stands_ticks"]
    tried = f"all {size:,} configurations" if reported["exhaustive"] else f"{count:,} of {size:,} configurations"
    by = "" if reported["exhaustive"] else f" by {reported['sampler']}, seed {reported['seed']}"
    what = reported["minimise"].replace("_", " ")
    yield f"{reported['name']}: the least {what} of {tried}{by}; model ticks"
    yield from basis_lines(reported)
    failures = [trial["error"] for trial in reported["trials"] if trial["error"]]
    if failures:
        yield f"{len(failures):,} without a result:"
        yield from table.reasons(failures)
    yield ""
    if reported["best"] is None:
        yield "no configuration has a result"
        return
    yield f"best: {_words(reported['best'], base)}"
    if reported["cheapest"]:
        yield f"cheapest within {reported['within_percent']:g} % of it: {_words(reported['cheapest'], base)}"
    yield f"unchanged: {base:,}" if base is not None else "the scenario unchanged has no result"
    yield ""
    yield from _progress(reported)
    yield from _ranking(reported)


def _words(trial: dict[str, Any], base: int | None) -> str:
    settings = " ".join(f"{key}={value}" for key, value in trial["settings"].items())
    return (
        f"{trial['ticks']:,} ({_change(trial['ticks'], base)}) with {settings}"
        if base
        else f"{trial['ticks']:,} with {settings}"
    )


def _change(ticks: int, base: int | None) -> str:
    if not base:
        return "-"
    return "=" if ticks == base else f"{100 * (ticks - base) / base:+.1f} %"


def _progress(reported: dict[str, Any]) -> Iterator[str]:
    """The best so far after each trial, or after some of them where there are more than WIDTH."""
    course = [ticks for _, ticks in best_so_far([trial["ticks"] for trial in reported["trials"]])]
    shown = course[:: -(-len(course) // WIDTH)]
    best, trial = reported["best"]["ticks"], reported["best"]["trial"]
    yield f"best so far  {sparkline(shown, best)}  {course[0]:,} to {best:,}, found by trial {trial}"


def best_so_far(ticks: list[int | None]) -> Iterator[tuple[int, int]]:
    """(trial, least ticks up to it), from the first trial that has a result."""
    least = None
    for number, value in enumerate(ticks, 1):
        least = value if least is None else least if value is None else min(least, value)
        if least is not None:
            yield number, least


def _ranking(reported: dict[str, Any]) -> Iterator[str]:
    """The best few, and for each parameter the best by value."""
    good = sorted((t for t in reported["trials"] if t["ticks"] is not None), key=lambda trial: trial["ticks"])
    keys = list(reported["space"])
    cells = [
        (
            str(t["trial"]),
            *(str(t["settings"][key]) for key in keys),
            f"{t['ticks']:,}",
            _change(t["ticks"], reported["as_it_stands_ticks"]),
        )
        for t in good[:SHOWN]
    ]
    yield ""
    yield f"the best {len(cells)}:" if len(cells) > 1 else "the only one:"
    yield from aligned(
        ("trial", *keys, reported["minimise"].replace("_", " "), "change"), cells, numbers=range(len(keys) + 3)
    )
    flat = [{**trial["settings"], "ticks": trial["ticks"]} for trial in good]
    for key, values in reported["space"].items():
        yield from table.by_value(key, values, flat, "ticks", "of the tried")
