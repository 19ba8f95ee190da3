"""Study report: the documents of sweeps, searches and loads as pages."""

from collections.abc import Callable, Iterator
from typing import Any

from tessbed.scenarios.html_report.drawing import line_chart, meter, strip
from tessbed.scenarios.html_report.markup import Markup, concat, count, element, note, percent, section, table
from tessbed.scenarios.html_report.page import Page
from tessbed.scenarios.html_report.units import microseconds
from tessbed.scenarios.provenance.basis_words import basis_words, model_ticks
from tessbed.scenarios.study.load.report import LATENCIES, TOO_FEW, verdict

MOST_ROWS = 5000
RESULTS = "device_ticks"
Document = dict[str, Any]


def sweep_page(document: Document) -> Page:
    """Every point of a sweep, the best first, and the best over each varied key; a sweep of loads is a table."""
    rows = document["rows"]
    if rows and "stable" in rows[0]:
        return _load_sweep_page(document)
    keys = _varied(rows)
    good = [row for row in rows if not row["error"]]
    ranked = sorted(good, key=lambda row: row[RESULTS]) + [row for row in rows if row["error"]]
    by_key = [_best_by(key, good) for key in keys] if good else []
    first = note(
        f"{len(rows):,} points, {len(rows) - len(good):,} without a result; engine {document['engine'] or 'none'}."
    )
    best = [first, _best(ranked[0], keys)] if good else [first]
    return Page(
        document["name"],
        f"A sweep; device ticks are model ticks, {basis_words(document)}.",
        (
            section("Verdict", *best, anchor="verdict"),
            section("Best by value", *by_key, anchor="by-value"),
            section("Points", _points(ranked), anchor="points"),
        ),
        "ok" if good else "failed",
    )


def _load_sweep_page(document: Document) -> Page:
    """The load at each value, in the order of the values."""
    rows = document["rows"]
    good = [row for row in rows if not row["error"]]
    stable = sum(row["stable"] for row in good)
    words = f"{len(rows):,} loads, {len(rows) - len(good):,} without a result, {stable:,} stable"
    return Page(
        document.get("name", "loads"),
        f"A sweep of loads; ticks are model ticks, {basis_words(document)}.",
        (section("Verdict", _main(words), anchor="verdict"), section("Points", _points(rows), anchor="points")),
        "ok" if good else "failed",
    )


def _varied(rows: list[Document]) -> list[str]:
    """The keys that were varied: they are ahead of the results."""
    names = list(rows[0]) if rows else []
    ends = [names.index(name) for name in (RESULTS, "error") if name in names]
    return names[: min(ends, default=0)]


def _best(row: Document, keys: list[str]) -> Markup:
    return _main(f"best: {', '.join(f'{key} = {row[key]}' for key in keys)}: {row[RESULTS]:,} device ticks")


def _main(text: str) -> Markup:
    """The line of a verdict that a reader looks for."""
    return element("p", text, class_="verdict")


def _best_by(key: str, good: list[Document]) -> Markup:
    """The best makespan for each value of a key, whatever the others are."""
    best: dict[Any, int] = {}
    for row in good:
        best[row[key]] = min(row[RESULTS], best.get(row[key], row[RESULTS]))
    top = max(best.values())
    rows = [(str(value), count(ticks), meter(ticks, top)) for value, ticks in best.items()]
    return table((key, "best device ticks", ""), rows, numbers=(0, 1))


def _points(rows: list[Document]) -> Markup:
    names = list(rows[0]) if rows else []
    shown = [tuple(_cell(row[name]) for name in names) for row in rows[:MOST_ROWS]]
    numbers = [place for place, name in enumerate(names) if name not in ("engine", "error")]
    left = note(f"{len(rows) - MOST_ROWS:,} slower points are left out.") if rows[MOST_ROWS:] else ""
    return concat((table(names, shown, numbers=numbers), left))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return count(value) if isinstance(value, int | float) else "" if value is None else str(value)


def search_page(document: Document) -> Page:
    """The best of a search, how it was reached, and every trial."""
    what, best, base = document["minimise"].replace("_", " "), document["best"], document["as_it_stands_ticks"]
    tried = [trial for trial in document["trials"] if trial["ticks"] is not None]
    texts = [
        f"{document['counts']['trials']:,} of {document['space_points']:,} configurations, "
        f"sampler {document['sampler']}, seed {document['seed']}"
        + ("; exhaustive" if document["exhaustive"] else "; no proof of a minimum"),
        f"best: {_settings(best)}: {best['ticks']:,} {what}" if best else "no configuration has a result",
        f"unchanged: {base:,}" if base is not None else "the scenario unchanged has no result",
    ]
    keys = list(document["space"])
    rows = [
        (
            count(t["trial"]),
            *(str(t["settings"][key]) for key in keys),
            count(t["ticks"]),
            _against(t["ticks"], base),
            t["error"],
        )
        for t in document["trials"]
    ]
    head = ("trial", *keys, what, "against unchanged", "error")
    space = [(key, ", ".join(map(str, values))) for key, values in document["space"].items()]
    course = [section("Best so far", _course(tried, what), anchor="course")] if len(tried) > 1 else []
    return Page(
        document["name"],
        f"A search for the least {what}; model ticks, {basis_words(document)}.",
        (
            section("Verdict", note(texts[0]), _main(texts[1]), note(texts[2]), anchor="verdict"),
            *course,
            section("Trials", table(head, rows, numbers=range(len(keys) + 3)), anchor="trials"),
            section("Space", table(("key", "values"), space), anchor="space"),
        ),
        "ok" if best else "failed",
    )


def _settings(trial: Document) -> str:
    return ", ".join(f"{key} = {value}" for key, value in trial["settings"].items())


def _against(ticks: int | None, base: int | None) -> str:
    return f"{100 * (ticks - base) / base:+.1f} %" if ticks is not None and base else ""


def _course(tried: list[Document], what: str) -> Markup:
    """The best up to each trial."""
    points, least = [], tried[0]["ticks"]
    for trial in tried:
        least = min(least, trial["ticks"])
        points.append((trial["trial"], least))
    words = [f"trial {trial['trial']}: {trial['ticks']:,}; {_settings(trial)}" for trial in tried]
    dots = [(trial["trial"], trial["ticks"]) for trial in tried]
    most = max(trial["ticks"] for trial in tried)
    text = f"Each trial is a dot, the line the least {what} so far; from 0 at the bottom to {most:,} at the top."
    return concat((note(text), line_chart(points, f"least {what} so far", steps=True, words=words, dots=dots)))


def load_page(document: Document) -> Page:
    """A load: its streams, servers and parts."""
    stable = all(stream["stable"] for stream in document["streams"])
    idle = any(not fault["struck"] for fault in document.get("faults", {}).get("faults", ()))
    wrong = bool(document.get("verification", {}).get("disagreement"))
    return Page(
        document["name"],
        f"A load, seed {document['seed']}; {model_ticks(document['clock_mhz'], basis_words(document))}.",
        (section("Verdict", _main(verdict(document["streams"])), anchor="verdict"), *load_sections(document)),
        "ok" if stable and not idle and not wrong else "failed",
    )


def load_sections(document: Document) -> Iterator[Markup]:
    """The sections of a load."""
    mhz = document["clock_mhz"]
    yield section("Load: streams", _streams(document), _latencies(document, mhz), anchor="streams")
    yield section(
        "Load: where the latency goes", *(_parts(stream, mhz) for stream in document["streams"]), anchor="latency-parts"
    )
    yield section("Load: servers", _servers(document), anchor="servers")
    if "faults" in document:
        yield section("Load: faults", _faults(document["faults"]), _fault_costs(document["faults"]), anchor="faults")
    if document.get("relief"):
        yield section("Load: with one more server", _relief(document), anchor="relief")
    audit = document["audit"]
    text = f"{audit['frames']:,} frames conserved; Little's law and busy times hold to the tick"
    rows = [(name.replace("_", " "), count(value)) for name, value in audit.items()]
    yield section(
        "Load: audit", note(f"{text}."), table(("sum", "of both sides"), rows, numbers=(1,)), anchor="load-audit"
    )


def _streams(document: Document) -> Markup:
    names = ("offered", "accepted", "dropped", "completed", "failed", "missed")
    rows = [
        (stream["name"], *(count(stream[name]) for name in names), count(stream["throughput_per_second"]),
         count(stream["deadline_ticks"]), "stable" if stream["stable"] else "saturated")
        for stream in document["streams"]
    ]  # fmt: skip
    return table(("stream", *names, "frames/s", "deadline in ticks", ""), rows, numbers=range(1, 9))


def _faults(faults: Document) -> Markup:
    rows = [
        (fault["stream"], count(fault["frame"]), fault["job"], fault["kinds"],
         "ends well" if fault["loaded"]["ends_well"] else "fails", count(fault["loaded"]["over_ticks"]),
         count(fault["loaded"]["free_ticks"]), "yes" if fault["struck"] else "struck nothing")
        for fault in faults["faults"]
    ]  # fmt: skip
    names = ("stream", "frame", "job", "fault", "the job", "after ticks", "device free after", "struck")
    return table(names, rows, numbers=(1, 5, 6))


def _fault_costs(faults: Document) -> Markup:
    names = ("failed", "delayed", "mean_delay_ticks", "most_delay_ticks", "more_dropped", "more_missed")
    rows = [(stream["name"], *(count(stream[name]) for name in names)) for stream in faults["streams"]]
    return table(("stream", *(name.replace("_", " ") for name in names)), rows, numbers=range(1, 7))


def _latencies(document: Document, mhz: int) -> Markup:
    rows = [
        (stream["name"], name, TOO_FEW if value is None else f"{value:,.0f}",
         "" if value is None else microseconds(value, mhz), meter(value or 0, stream["latency_ticks"]["max"] or 1))
        for stream in document["streams"]
        for name in LATENCIES
        for value in (stream["latency_ticks"][name],)
    ]  # fmt: skip
    return table(("stream", "latency", "ticks", "time", ""), rows, numbers=(2, 3))


def _parts(stream: Document, mhz: int) -> Markup:
    parts = stream["parts_ticks"]
    if not parts:
        return note(f"{stream['name']}: no frame was measured")
    named = [("waiting to enter", parts["entry"], "k-other")]
    named += [(f"waiting for {name}", ticks, "k-wait-gather") for name, ticks in parts["waits"].items()]
    named += [(name, ticks, "k-compute") for name, ticks in parts["served"].items()]
    named = sorted((part for part in named if part[1]), key=lambda part: -part[1])
    total = sum(ticks for _, ticks, _ in named)
    rows = [
        (name, f"{ticks:,.0f}", microseconds(ticks, mhz), percent(ticks, total), meter(ticks, total, kind))
        for name, ticks, kind in named
    ]
    label = f"the mean latency of {stream['name']}"
    words = [(f"{name}: {ticks:,.0f} ticks", ticks, kind) for name, ticks, kind in named]
    return concat(
        (strip(words, label), table((stream["name"], "mean ticks", "time", "part", ""), rows, numbers=(1, 2, 3)))
    )


def _servers(document: Document) -> Markup:
    rows = [
        (server["name"], server["kind"], count(server["count"]), count(server["jobs"]), percent(server["utilisation"]),
         meter(server["utilisation"], 1), f"{server['mean_queue']:,.3f}")
        for server in document["servers"]
    ]  # fmt: skip
    return table(("server", "kind", "count", "jobs", "busy", "", "mean queue"), rows, numbers=(2, 3, 4, 6))


def _relief(document: Document) -> Markup:
    rows = [
        (f"{relief['count']} {relief['server']}", stream["name"],
         *map(_ticks, [stream["latency_ticks"][name] for name in ("mean", "p99", "max")]),
         count(stream["missed"]), "stable" if stream["stable"] else "saturated")
        for relief in document["relief"]
        for stream in relief["streams"]
    ]  # fmt: skip
    return table(("with", "stream", "mean ticks", "p99", "max", "missed", ""), rows, numbers=range(2, 6))


def _ticks(value: float | None) -> str:
    return TOO_FEW if value is None else f"{value:,.0f}"


PAGES: dict[str, Callable[[Document], Page]] = {"rows": sweep_page, "trials": search_page, "streams": load_page}
"""The page of a document, by the key that no other document has."""
