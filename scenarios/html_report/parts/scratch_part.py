"""Scratch part: how a worker's scratch is divided, how much of it bands use, and how long each slot is held."""

from tessbed.scenarios.html_report.drawing import meter, strip
from tessbed.scenarios.html_report.granule_map import bands_of
from tessbed.scenarios.html_report.markup import Markup, count, note, percent, section, table
from tessbed.scenarios.html_report.span_table import LaneSpans
from tessbed.scenarios.study.measurement import MeasuredJob
from tessbed.sim.transfer.descriptor import Descriptor

Extent = tuple[int, int]


def scratch_part(measured: MeasuredJob, slots: list[LaneSpans], window: Extent, anchor: str) -> Markup:
    """Scratch and slots. `slots` are the lanes of slots, `window` the ticks of the launch."""
    areas = scratch_areas(measured)
    return section(
        "Scratch and slots",
        note("What the gathers and drains of all bands touch, in bytes from the start of the scratch of a worker."),
        _layout(measured, areas),
        _held(slots, window),
        anchor=f"{anchor}-scratch",
        level=3,
    )


def scratch_areas(measured: MeasuredJob) -> dict[str, Extent]:
    """The bytes of scratch that gathers fill, and that the drains of each slot read: from the first to the last."""
    found: dict[str, Extent] = {}
    for _, number, band in bands_of(measured):
        slot = f"slot {number % measured.spec.slots}"
        for name, descriptors in (("gather", band.reads), (slot, band.chain)):
            for descriptor in descriptors:
                low, high = _extent(descriptor)
                before = found.get(name, (low, high))
                found[name] = min(low, before[0]), max(high, before[1])
    return dict(sorted(found.items(), key=lambda area: area[1]))


def _extent(descriptor: Descriptor) -> Extent:
    reach = (descriptor.rows - 1) * descriptor.scratch_pitch + descriptor.row_bytes
    return descriptor.scratch, descriptor.scratch + reach


def _layout(measured: MeasuredJob, areas: dict[str, Extent]) -> Markup:
    spec, parts, reached, rows = measured.spec, [], 0, []
    for name, (low, high) in areas.items():
        if low > reached:
            parts.append((f"not touched: {low - reached:,} bytes", low - reached, "free"))
        kind = "k-read" if name == "gather" else "k-drain"
        parts.append((f"{name}: bytes {low:,} to {high - 1:,}", max(0, high - max(low, reached)), kind))
        rows.append((name, count(low), count(high), count(high - low), percent(high - low, spec.usable_scratch_bytes)))
        reached = max(reached, high)
    parts.append(
        (
            f"not touched: {spec.usable_scratch_bytes - reached:,} bytes",
            max(0, spec.usable_scratch_bytes - reached),
            "free",
        )
    )
    parts.append((f"reserved: {spec.scratch_reserved_bytes:,} bytes", spec.scratch_reserved_bytes, "reserved"))
    rows.append(
        (
            "reserved",
            count(spec.usable_scratch_bytes),
            count(spec.scratch_bytes),
            count(spec.scratch_reserved_bytes),
            "",
        )
    )
    head = ("area", "from byte", "to before", "bytes", "of the usable")
    return Markup(strip(parts, "the scratch of a worker, from its first byte") + table(head, rows, numbers=range(1, 5)))


def _held(slots: list[LaneSpans], window: Extent) -> Markup:
    """The ticks for which each slot holds a band, from its computation to the end of its drain."""
    low, high = window
    held: dict[str, tuple[int, int]] = {}
    for lane in slots:
        inside = [span for span in lane.spans if low <= span.begin < high]
        name = lane.name.partition(" (")[0]
        bands, ticks = held.get(name, (0, 0))
        held[name] = bands + len(inside), ticks + sum(min(span.end, high) - span.begin for span in inside)
    rows = [
        (name, count(bands), count(ticks), percent(ticks, high - low), meter(ticks, high - low, "k-drain"))
        for name, (bands, ticks) in sorted(held.items())
        if bands
    ]
    return table(("slot", "bands", "ticks held", "of the launch", ""), rows, numbers=(1, 2, 3))
