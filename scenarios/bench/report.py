"""The bench's report: one line a case, and geometric means of the families that have a floor."""

from collections.abc import Iterable
from statistics import geometric_mean

import attrs

from tessbed.scenarios.bench.cases import CASES, BenchCase
from tessbed.scenarios.bench.measure import Measurement, measure

SCHEMA_VERSION = 1
EXEMPT = ("small", "identity", "huge")
SUMMARIES = {
    "bf16 dense": ("bf16", ("groups16", "few", "odd")),
    "bf16 16-channel groups": ("bf16", ("groups16",)),
    "bf16 channel-first and pitched": ("bf16", ("channel_first", "pitched")),
    "int8 dense": ("int8", ("groups16", "few", "odd")),
    "int8 channel-first and pitched": ("int8", ("channel_first", "pitched")),
}


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
    """All measurements of one run, in order."""

    schema_version: int
    measurements: tuple[Measurement, ...]
    summaries: tuple[Summary, ...]


def run_bench(cases: Iterable[BenchCase] = CASES, *, match: str = "", rounds: int = 15) -> BenchReport:
    """Measures every case whose name contains `match`; takes about a minute for all of them."""
    found = tuple(measure(case, rounds) for case in cases if match in case.name)
    summaries = tuple(
        summary for name, (dtype, families) in SUMMARIES.items() if (summary := _summary(name, dtype, families, found))
    )
    return BenchReport(SCHEMA_VERSION, found, summaries)


def _summary(name: str, dtype: str, families: tuple[str, ...], found: tuple[Measurement, ...]) -> Summary | None:
    group = [entry for entry in found if entry.dtype == dtype and entry.family in families]
    if not group:
        return None
    return Summary(
        name=name,
        cases=len(group),
        copy_ratio=geometric_mean(entry.copy_ratio for entry in group),
        user_ratio=geometric_mean(entry.user_ratio for entry in group),
        worst_user_ratio=min(entry.user_ratio for entry in group),
    )


def to_mapping(report: BenchReport) -> dict[str, object]:
    """The report for `--json`."""
    return attrs.asdict(report)


def format_bench(report: BenchReport) -> str:
    """The report as a table."""
    lines = [
        f"{'case':<46}{'engine':>8}{'MiB':>8}{'call us':>10}{'x copy':>8}{'x user':>8}  {'rival':<7}{'prepare us':>10}"
    ]
    lines += [
        f"{entry.name:<46}{entry.engine:>8}{entry.traffic_bytes / 2**20:>8.2f}{entry.call_ns / 1e3:>10.1f}"
        f"{entry.copy_ratio:>8.2f}{entry.user_ratio:>8.2f}  {entry.rival:<7}"
        f"{(entry.check_ns + entry.prepare_ns) / 1e3:>10.0f}"
        for entry in report.measurements
    ]
    lines += ["", f"{'geometric means':<46}{'cases':>8}{'':>18}{'x copy':>8}{'x user':>8}  {'worst':<7}"]
    lines += [
        f"{entry.name:<46}{entry.cases:>8}{'':>18}{entry.copy_ratio:>8.2f}{entry.user_ratio:>8.2f}  {entry.worst_user_ratio:<7.2f}"
        for entry in report.summaries
    ]
    return "\n".join(lines)
