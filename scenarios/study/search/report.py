"""Report: a search as a document, as the rows of its trials, and as lines for a person."""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.scenarios.option_values import OBJECTIVES
from tessbed.scenarios.study.advise import spark
from tessbed.scenarios.study.search.search import Found, Memory
from tessbed.scenarios.study.sweep import table
from tessbed.scenarios.study.sweep.space import Space, plain
from tessbed.scenarios.text_table import aligned

SHOWN = 5
WIDTH = 60


@attrs.frozen
class Asked:
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


def rows(found: Found) -> list[table.Flat]:
    """One flat dict for each trial, in order, numbered from 1."""
    flat = table.flat([trial.point for trial in found.trials], [trial.row for trial in found.trials])
    return [{"trial": number, **row} for number, row in enumerate(flat, 1)]


def document(asked: Asked, found: Found, memory: Memory) -> dict[str, Any]:
    """Everything. `best` and `cheapest` are entries of `trials`, or null where no configuration could run."""
    space, flat = found.space, rows(found)
    trials = [_trial(row, space, asked.column) for row in flat]
    best = min((t for t in trials if t["ticks"] is not None), key=lambda t: t["ticks"], default=None)
    return {
        "schema_version": 1,
        "name": asked.name,
        **table.provenance([found.as_it_stands, *(trial.row for trial in found.trials)]),
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
        "as_it_stands_ticks": found.as_it_stands.get(asked.column),
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


def lines(told: dict[str, Any]) -> Iterator[str]:
    """The search for a person: the best configuration, how it was found, the next best."""
    count, size, base = told["counts"]["trials"], told["space_points"], told["as_it_stands_ticks"]
    tried = f"all {size:,} configurations" if told["exhaustive"] else f"{count:,} of {size:,} configurations"
    by = "" if told["exhaustive"] else f" by {told['sampler']}, seed {told['seed']}"
    what = told["minimise"].replace("_", " ")
    yield f"{told['name']}: the least {what} of {tried}{by}; model ticks"
    failures = [trial["error"] for trial in told["trials"] if trial["error"]]
    if failures:
        yield f"{len(failures):,} without a result:"
        yield from table.reasons(failures)
    yield ""
    if told["best"] is None:
        yield "no configuration has a result"
        return
    yield f"best: {_words(told['best'], base)}"
    if told["cheapest"]:
        yield f"cheapest within {told['within_percent']:g} % of it: {_words(told['cheapest'], base)}"
    yield f"as it stands: {base:,}" if base is not None else "as it stands, the scenario has no result"
    yield ""
    yield from _progress(told)
    yield from _ranking(told)


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


def _progress(told: dict[str, Any]) -> Iterator[str]:
    """The best so far after each trial, or after some of them where there are more than WIDTH."""
    course = [ticks for _, ticks in best_so_far([trial["ticks"] for trial in told["trials"]])]
    shown = course[:: -(-len(course) // WIDTH)]
    best, trial = told["best"]["ticks"], told["best"]["trial"]
    yield f"best so far  {spark(shown, best)}  {course[0]:,} to {best:,}, found by trial {trial}"


def best_so_far(ticks: list[int | None]) -> Iterator[tuple[int, int]]:
    """(trial, least ticks up to it), from the first trial that has a result."""
    least = None
    for number, value in enumerate(ticks, 1):
        least = value if least is None else least if value is None else min(least, value)
        if least is not None:
            yield number, least


def _ranking(told: dict[str, Any]) -> Iterator[str]:
    """The best few, and for each parameter the best by value."""
    good = sorted((t for t in told["trials"] if t["ticks"] is not None), key=lambda trial: trial["ticks"])
    keys = list(told["space"])
    cells = [
        (
            str(t["trial"]),
            *(str(t["settings"][key]) for key in keys),
            f"{t['ticks']:,}",
            _change(t["ticks"], told["as_it_stands_ticks"]),
        )
        for t in good[:SHOWN]
    ]
    yield ""
    yield f"the best {len(cells)}:" if len(cells) > 1 else "the only one:"
    yield from aligned(
        ("trial", *keys, told["minimise"].replace("_", " "), "change"), cells, numbers=range(len(keys) + 3)
    )
    flat = [{**trial["settings"], "ticks": trial["ticks"]} for trial in good]
    for key, values in told["space"].items():
        yield from table.by_value(key, values, flat, "ticks", "of the tried")
