"""The bench's report: runs the cases; prints a line for each and geometric means."""

from collections.abc import Callable, Iterable
from statistics import geometric_mean

import attrs

from tessbed.bench.cases import CASES, BenchCase
from tessbed.bench.measurement import BenchMeasurement, measure_case

SCHEMA_VERSION = 1
MOVING = ("tess", "detess", "detesscast")
DENSE, STRIDED = ("groups16", "few", "odd"), ("channel_first", "pitched")
SUMMARIES = {
    "bf16 dense": ("bf16", DENSE),
    "bf16 16-channel groups": ("bf16", ("groups16",)),
    "bf16 channel-first": ("bf16", ("channel_first",)),
    "bf16 channel-first and pitched": ("bf16", STRIDED),
    "int8 dense": ("int8", DENSE),
    "int8 16-channel groups": ("int8", ("groups16",)),
    "int8 channel-first": ("int8", ("channel_first",)),
    "int8 channel-first and pitched": ("int8", STRIDED),
    "narrow tiles": ("", ("narrow",)),
    "scalars apart": ("", ("sparse",)),
    "calls of 2 KiB": ("", ("small",)),
}
"""The geometric means of the report: scalar type (or any) and families, of operations that move bytes only."""


@attrs.frozen
class Summary:
    """Geometric means over a group of cases, and the worst case against the strongest user pipeline."""

    name: str
    cases: int
    copy_ratio: float
    user_ratio: float
    worst_user_ratio: float


@attrs.frozen
class BenchReport:
    """All measurements of one run, in order. Measurements only: no baseline of a real A65 was reviewed."""

    schema_version: int
    measurements: tuple[BenchMeasurement, ...]
    summaries: tuple[Summary, ...]


def run_bench(
    cases: Iterable[BenchCase] = CASES,
    *,
    match: str = "",
    rounds: int = 15,
    progress: Callable[[str], object] = lambda name: None,
) -> BenchReport:
    """Measures every case whose name contains `match`; about six minutes for all of them, and two gigabytes.

    `progress` is reported each case's name before it runs. Raises ArithmeticError where a rival's bytes differ.
    """
    found = []
    for case in cases:
        if match in case.name:
            progress(case.name)
            found.append(measure_case(case, rounds))
    groups = (
        (name, [one for one in found if dtype in ("", one.dtype) and one.family in families and one.op in MOVING])
        for name, (dtype, families) in SUMMARIES.items()
    )
    return BenchReport(SCHEMA_VERSION, tuple(found), tuple(_summary(name, group) for name, group in groups if group))


def _summary(name: str, group: list[BenchMeasurement]) -> Summary:
    return Summary(
        name=name,
        cases=len(group),
        copy_ratio=geometric_mean(entry.copy_ratio for entry in group),
        user_ratio=geometric_mean(entry.user_ratio for entry in group),
        worst_user_ratio=min(entry.user_ratio for entry in group),
    )


def bench_document(report: BenchReport) -> dict[str, object]:
    """The report for `--json`: schema_version, measurements, summaries."""
    return attrs.asdict(report)


def format_bench(report: BenchReport) -> str:
    """The report as a table: times in microseconds, and how many times faster than a copy and than the user.

    The means are of the operations that only move and widen bytes: a copy does not round or scale.
    """
    head = (
        f"{'case':<46}{'engine':>8}{'MiB':>8}{'call us':>10}{'x copy':>8}{'x user':>8}  {'user':<11}{'prepare us':>10}"
    )
    title = f"geometric means of {', '.join(MOVING)}"
    means = f"{title:<46}{'cases':>8}{'':>18}{'x copy':>8}{'x user':>8}  worst"
    return "\n".join([head, *map(_line, report.measurements), "", means, *map(_summary_line, report.summaries)])


def _line(entry: BenchMeasurement) -> str:
    return (
        f"{entry.name:<46}{entry.engine:>8}{entry.traffic_bytes / 2**20:>8.2f}{entry.call_ns / 1e3:>10.1f}"
        f"{entry.copy_ratio:>8.2f}{entry.user_ratio:>8.2f}  {entry.rival:<11}"
        f"{(entry.check_ns + entry.prepare_ns) / 1e3:>10.0f}"
    )


def _summary_line(entry: Summary) -> str:
    ratios = f"{entry.copy_ratio:>8.2f}{entry.user_ratio:>8.2f}  {entry.worst_user_ratio:.2f}"
    return f"{entry.name:<46}{entry.cases:>8}{'':>18}{ratios}"
