"""Account part: where the ticks of a job went, opened to the counts behind them, and how busy each resource was."""

from tessbed.scenarios.html_report.drawing import meter
from tessbed.scenarios.html_report.markup import Markup, count, element, note, percent, section, table
from tessbed.scenarios.html_report.units import microseconds, rate
from tessbed.scenarios.study.compute_counts import ComputePart, compute_parts
from tessbed.scenarios.study.measurement import MeasuredJob
from tessbed.scenarios.study.tick_attribution import attribute_ticks, last_core, utilisation


def account_part(measured: MeasuredJob, anchor: str) -> Markup:
    """The account of the core that ends last. Raises ScenarioError for a kernel at level body."""
    total, mhz = measured.stats.device_ticks, measured.spec.clock_mhz
    terms = attribute_ticks(measured)
    rows = [
        (term.resource, term.reason, term.tiles, count(ticks), microseconds(ticks, mhz), percent(ticks, total),
         meter(ticks, total, _kind(term.resource, term.reason)))
        for term, ticks in terms.items()
    ]  # fmt: skip
    text = (
        f"The timeline of core {last_core(measured)}, which ends last: every tick is issue, compute, or a wait for one "
        f"transfer, named by what that transfer was doing. The {len(terms)} terms sum to {total:,} ticks."
    )
    return section(
        "Account of ticks",
        note(text),
        table(("resource", "reason", "tiles", "ticks", "time", "part", ""), rows, numbers=(3, 4, 5)),
        _opened(compute_parts(measured, last_core(measured)), total),
        anchor=f"{anchor}-account",
        level=3,
    )


def _opened(parts: list[ComputePart], total: int) -> Markup:
    """The terms of computation, as counts times parameters."""
    rows = [
        (part.parameter, part.tiles, f"{part.count:,}", part.unit, count(part.unit_ticks), count(part.ticks),
         percent(part.ticks, total), meter(part.ticks, total, "k-compute"))
        for part in parts
    ]  # fmt: skip
    summed = sum(part.ticks for part in parts)
    head = ("parameter", "tiles", "count", "of", "ticks each", "ticks", "part", "")
    opened = table(head, rows, numbers=(2, 4, 5, 6))
    return element(
        "details", element("summary", f"Core compute, {summed:,} ticks, opened to what was counted"), opened, open=True
    )


def utilisation_part(measured: MeasuredJob, anchor: str) -> Markup:
    """How busy each resource was, and what moved."""
    stats, mhz = measured.stats, measured.spec.clock_mhz
    busy = [(name, percent(part), meter(part, 1)) for name, part in utilisation(measured).items()]
    moved = [
        (what, count(t.transfers), count(t.descriptors), count(t.payload_bytes), count(t.port_bytes),
         count(t.rmw_granules), rate(t.payload_bytes, stats.device_ticks, mhz))
        for what, t in (("read", stats.reads), ("written", stats.writes))
    ]  # fmt: skip
    head = ("", "transfers", "descriptors", "payload bytes", "port bytes", "granules rewritten", "payload rate")
    return section(
        "Utilisation",
        table(("busy", "of the makespan", ""), busy, numbers=(1,)),
        table(head, moved, numbers=range(1, 7)),
        anchor=f"{anchor}-utilisation",
        level=3,
    )


def _kind(resource: str, reason: str) -> str:
    return f"k-{reason}" if resource == "core" else f"k-wait-{reason}"
