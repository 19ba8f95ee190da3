"""Study report: the result of a study as a document, as rows, as arrays, and as the text of the command line."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from tessbed.interface.columns import arrays_of

Row = dict[str, Any]


@attrs.frozen
class StudyReport:
    """What a study found. `document` is what the command prints with --json, `rows` the same as a flat table.

    `report["key"]` is a part of the document, `print(report)` shows what the command shows.

    >>> import tessbed
    >>> report = tessbed.Scenario.load("luma").explain()
    >>> int(sum(report.to_arrays()["ticks"])) - report["device_ticks"]
    0
    """

    kind: str
    document: dict[str, Any] = attrs.field(repr=False)
    rows: list[Row] = attrs.field(repr=lambda rows: f"<{len(rows):,} rows>")
    text: str = attrs.field(repr=False)

    def __str__(self) -> str:
        return self.text

    def __getitem__(self, key: str) -> Any:
        return self.document[key]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The rows by column: int64, float64 with NaN where a number is missing, bool, or object."""
        return arrays_of(self.rows)


def study_report(kind: str, document: dict[str, Any], lines: Iterator[str]) -> StudyReport:
    """The report of a study by its kind, a key of ROWS."""
    return StudyReport(kind, document, list(ROWS[kind](document)), "\n".join(lines))


def _explain(document: Mapping[str, Any]) -> Iterator[Row]:
    for job in document["jobs"]:
        for term in job["account"]:
            yield {"job": job["name"], **term, "device_ticks": job["device_ticks"]}


def _bound(document: Mapping[str, Any]) -> Iterator[Row]:
    for job in document["jobs"]:
        for bound in job["bounds"]:
            found = {"resource": bound["resource"], "which": bound["which"], "bound_ticks": bound["ticks"]}
            yield {"job": job["name"], **found, "device_ticks": job["device_ticks"]}


def _advise(document: Mapping[str, Any]) -> Iterator[Row]:
    for job in document["jobs"]:
        for point in job["points"]:
            yield {"job": job["name"], **{key: value for key, value in point.items() if not isinstance(value, dict)}}


def _whatif(document: Mapping[str, Any]) -> Iterator[Row]:
    for row in document["rows"]:
        for step, cell in row["cells"].items():
            tried = {"step": step, "tried": cell["value"], "device_ticks": cell["ticks"], "anomaly": cell["anomaly"]}
            yield {"parameter": row["path"], "value": row["value"], **tried}


def _compare(document: Mapping[str, Any]) -> Iterator[Row]:
    for job in document["jobs"]:
        for term in job["terms"]:
            yield {"job": job["name"], **term}


def _sweep(document: Mapping[str, Any]) -> Iterator[Row]:
    yield from document["rows"]


def _load(document: Mapping[str, Any]) -> Iterator[Row]:
    plain = ("offered", "accepted", "dropped", "completed", "missed", "stable", "throughput_per_second")
    for stream in document["streams"]:
        latencies = {f"{name}_ticks": ticks for name, ticks in stream["latency_ticks"].items()}
        yield {"stream": stream["name"], **{name: stream[name] for name in plain}, **latencies}


ROWS: dict[str, Callable[[Mapping[str, Any]], Iterator[Row]]] = {
    "explain": _explain,
    "bound": _bound,
    "advise": _advise,
    "whatif": _whatif,
    "compare": _compare,
    "sweep": _sweep,
    "load": _load,
}
