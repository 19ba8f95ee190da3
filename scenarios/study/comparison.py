"""Comparison: which terms of the attribution make the difference between two runs; they sum to it.

A run is a run folder or a scenario. A folder's scenario holds every default, so its account is worked out again; where
its recorded ticks are others, another version made it, and that is said. The outputs that two folders keep are compared
byte by byte.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tessbed.scenarios.format.texts import RUN_SCENARIO
from tessbed.scenarios.library import load, read_source
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import basis_lines
from tessbed.scenarios.study.attribution_report import bar
from tessbed.scenarios.study.measurement import Measurement, provenance, studied
from tessbed.scenarios.study.output_difference import output_differences, output_lines
from tessbed.scenarios.study.tick_attribution import Term, attribute_ticks


def opened(name: str, settings: Sequence[str]) -> Scenario:
    """The scenario of a run folder, or of that name. Raises ScenarioError where it has nothing to study."""
    return studied(load(name, [*_any_inputs(name), *settings] if is_run(name) else settings))


def _any_inputs(name: str) -> list[str]:
    """Settings by which nobody needs to read a folder's input files: ticks do not depend on data."""
    jobs = read_source(name)[0].values.get("jobs", [])
    return [f'jobs.{number}.input={{pattern="golden"}}' for number, job in enumerate(jobs) if "kernel" not in job]


def stale(name: str, measured: Measurement) -> str | None:
    """What a run folder recorded differently, in words."""
    stats = Path(name) / "stats.json"
    if not stats.is_file():
        return None
    try:
        version, recorded = _recorded(json.loads(stats.read_text(encoding="utf-8")))
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"{stats} is not a record of a run, so whether this version has other ticks is unknown"
    for job in measured.jobs:
        ticks = recorded.get(job.job.name)
        if ticks is not None and ticks != job.stats.device_ticks:
            made = f"{name} recorded {ticks:,} ticks for {job.job.name} by tessbed {version}"
            return f"{made}; this version makes it {job.stats.device_ticks:,}"
    return None


def _recorded(document: Any) -> tuple[Any, dict[str, Any]]:
    """The version that made a run's document, and the device ticks of its EV74 jobs by name."""
    ticks = {job["name"]: job["results"].get("ev74", {}).get("ticks") for job in document["jobs"]}
    if not all(value is None or isinstance(value, int) for value in ticks.values()):
        raise TypeError(ticks)
    return document["tessbed"], ticks


def attribution_difference(before: Measurement, after: Measurement) -> list[dict[str, Any]]:
    """Each job of either run by name, with its terms: before, after, and their difference."""
    one, other = ({job.job.name: job for job in run.jobs} for run in (before, after))
    jobs = []
    for name in dict.fromkeys([*one, *other]):
        left = attribute_ticks(one[name]) if name in one else {}
        right = attribute_ticks(other[name]) if name in other else {}
        changes = Counter[Term](right)
        changes.subtract(left)
        terms = sorted(changes, key=lambda term: (-abs(changes[term]), term))
        jobs.append(
            {
                "name": name,
                "before_ticks": sum(left.values()),
                "after_ticks": sum(right.values()),
                "difference_ticks": sum(changes.values()),
                "terms": [
                    {
                        "resource": term.resource,
                        "reason": term.reason,
                        "tiles": term.tiles,
                        "before_ticks": left.get(term, 0),
                        "after_ticks": right.get(term, 0),
                        "difference_ticks": changes[term],
                    }
                    for term in terms
                    if changes[term]
                ],
            }
        )
    return jobs


def is_run(name: str) -> bool:
    """Whether that is a run folder."""
    return (Path(name) / RUN_SCENARIO).is_file()


def document(names: tuple[str, str], before: Measurement, after: Measurement) -> dict[str, Any]:
    """The comparison; the jobs' differences sum to the whole, the terms' to their job's."""
    jobs = attribution_difference(before, after)
    return {
        "schema_version": 1,
        "before": {"run": names[0], **provenance(before), "device_ticks": before.device_ticks},
        "after": {"run": names[1], **provenance(after), "device_ticks": after.device_ticks},
        "difference_ticks": after.device_ticks - before.device_ticks,
        "jobs": jobs,
        "outputs": output_differences(*map(Path, names)) if all(map(is_run, names)) else None,
    }


def lines(reported: dict[str, Any], top: int) -> Iterator[str]:
    """The comparison for a person."""
    one, other = reported["before"], reported["after"]
    yield f"{one['run']}: {one['device_ticks']:,} device ticks"
    yield from basis_lines(one)
    yield f"{other['run']}: {other['device_ticks']:,} device ticks, {reported['difference_ticks']:+,}"
    yield from basis_lines(other)
    for job in reported["jobs"]:
        yield ""
        yield f"{job['name']}: {job['before_ticks']:,} to {job['after_ticks']:,}, {job['difference_ticks']:+,}"
        terms = job["terms"]
        if not terms:
            continue
        yield ""
        largest = abs(terms[0]["difference_ticks"])
        rows = [_row(term, largest) for term in terms[:top]]
        rest = terms[top:]
        if rest:
            sums = [sum(term[key] for term in rest) for key in ("before_ticks", "after_ticks", "difference_ticks")]
            rows.append((f"{len(rest)} more terms", "", "", f"{sums[0]:,}", f"{sums[1]:,}", f"{sums[2]:+,}", ""))
        yield from aligned(("resource", "reason", "tiles", "before", "after", "change", ""), rows, numbers=(3, 4, 5))
    if reported["outputs"] is not None:
        yield ""
        yield from output_lines(reported["outputs"])


def _row(term: dict[str, Any], largest: int) -> tuple[str, ...]:
    change = term["difference_ticks"]
    return (
        term["resource"],
        term["reason"],
        term["tiles"],
        f"{term['before_ticks']:,}",
        f"{term['after_ticks']:,}",
        f"{change:+,}",
        bar(abs(change), largest),
    )
