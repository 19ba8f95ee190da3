"""Attribution report: attributions and utilisations as a document, and as lines for a person."""

from collections.abc import Iterator
from typing import Any

from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import basis_lines
from tessbed.scenarios.study.compute_counts import compute_parts
from tessbed.scenarios.study.measurement import MeasuredJob, Measurement, provenance
from tessbed.scenarios.study.tick_attribution import attribute_ticks, last_core, utilisation

SCHEMA_VERSION = 1
BAR = 24


def document(measurement: Measurement) -> dict[str, Any]:
    """The accounts of all jobs; in each, `ticks` sum to `device_ticks`, and `compute` to its terms of computation."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": measurement.scenario.name,
        **provenance(measurement),
        "kind": "account",
        "device_ticks": measurement.device_ticks,
        "jobs": [
            {
                "name": measured.job.name,
                "workers": measured.workers,
                "device_ticks": measured.stats.device_ticks,
                "written_bytes": measured.stats.writes.payload_bytes,
                "account": [
                    {"resource": term.resource, "reason": term.reason, "tiles": term.tiles, "ticks": ticks}
                    for term, ticks in attribute_ticks(measured).items()
                ],
                "compute": _compute(measured),
                "utilisation": utilisation(measured),
            }
            for measured in measurement.jobs
        ],
    }


def _compute(measured: MeasuredJob) -> list[dict[str, Any]]:
    """What stands behind the compute ticks of the core that ends last."""
    return [
        {"parameter": part.parameter, "tiles": part.tiles, "count": part.count, "unit": part.unit}
        | {"unit_ticks": part.unit_ticks, "ticks": part.ticks}
        for part in compute_parts(measured, last_core(measured))
    ]


def lines(reported: dict[str, Any], top: int) -> Iterator[str]:
    """The accounts for a person; beyond `top` terms the rest of a job is one line."""
    yield f"{reported['name']}: an attribution of this run, not a prediction; engine {reported['engine']}, model ticks"
    yield from basis_lines(reported)
    for job in reported["jobs"]:
        total = job["device_ticks"]
        yield ""
        yield f"{job['name']}: {total:,} device ticks, {job['workers']} workers"
        yield ""
        terms = [(t["resource"], t["reason"], t["tiles"], t["ticks"]) for t in job["account"]]
        rest = sum(ticks for *_, ticks in terms[top:])
        shown = terms[:top] + ([(f"{len(terms) - top} more terms", "", "", rest)] if rest else [])
        rows = [
            (resource, reason, tiles, f"{ticks:,}", f"{100 * ticks / max(1, total):.1f} %", bar(ticks, total))
            for resource, reason, tiles, ticks in shown
        ]
        rows.append(("makespan", "", "", f"{total:,}", "100.0 %", ""))
        yield from aligned(("resource", "reason", "tiles", "ticks", "part", ""), rows, numbers=(3, 4))
        yield ""
        yield from _opened(job, top)
        busy = [(name, f"{100 * part:.1f} %", bar(part, 1)) for name, part in job["utilisation"].items()]
        yield from aligned(("busy", "of the makespan", ""), busy, numbers=(1,))


def _opened(job: dict[str, Any], top: int) -> Iterator[str]:
    """The terms of computation, opened to what was counted."""
    parts, total = job["compute"], job["device_ticks"]
    if not parts:
        return
    rest = sum(part["ticks"] for part in parts[top:])
    rows = [
        (part["parameter"], part["tiles"], _product(part), f"{part['ticks']:,}", *_of(part["ticks"], total))
        for part in parts[:top]
    ]
    rows += [(f"{len(parts) - top} more parts", "", "", f"{rest:,}", *_of(rest, total))] if parts[top:] else []
    yield from aligned(("core compute", "tiles", "of it", "ticks", "part", ""), rows, numbers=(2, 3, 4))
    yield ""


def _product(part: dict[str, Any]) -> str:
    """As "1,536 runs x 6"."""
    counted = f"{part['count']:,} {part['unit'] if part['count'] != 1 else part['unit'].removesuffix('s')}"
    return counted if part["unit_ticks"] is None else f"{counted} x {part['unit_ticks']:,}"


def _of(ticks: int, total: int) -> tuple[str, str]:
    return f"{100 * ticks / max(1, total):.1f} %", bar(ticks, total)


def bar(value: float, whole: float) -> str:
    """A bar as long as the part that `value` is of `whole`."""
    eighths = round(8 * BAR * value / whole) if whole else 0
    return "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
