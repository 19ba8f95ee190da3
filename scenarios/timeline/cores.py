"""Cores in a timeline: workers, their bands, and in each band what every tick went to; and the slots that bands fill.

A band is what a worker does up to the request of a drain. Its *steps* are issue, compute, and each kind of wait; a wait
has *parts*: what the transfer was doing that completed last of those waited for. A worker may be ahead of the clock, so
what it has spent is kept until the clock has reached it: a reset cuts it off there.

Flows lead from a gather to the band that computes on it, from there to the slot and its drain, and from a worker's last
drain to the completion record.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.scenarios.timeline.band_spans import BandSpans, CoreStep, Filled, WorkerSpans, anchor_of, arrivals, cut
from tessbed.scenarios.timeline.family import Family
from tessbed.scenarios.timeline.flows import Flows
from tessbed.scenarios.timeline.spans import (
    NOTHING,
    Fields,
    Sink,
    TimelineSpan,
    Value,
    argument_fields,
    fields_of,
    joined,
)
from tessbed.scenarios.timeline.tile_class import tile_class, tiled_ends
from tessbed.scenarios.timeline.transfers import OVERLAP, RESET, UNFINISHED, TransferSpans, resources
from tessbed.sim.transfer.descriptor import Descriptor

WORKER = argument_fields("worker", "job:text", "bands")
BAND = argument_fields(
    "worker", "band", "slot", "reads", "read_bytes", "drain:address", "drain_bytes", "drain_descriptors"
)
TILES = argument_fields("tiles:text", "tile", "last_tile")
WAIT = argument_fields("transfers", "last", "mostly:text")
IN_SLOT = argument_fields("worker", "band")
END = argument_fields("worker", "tiles:text")


@attrs.define(eq=False)
class CoreSpans:
    """The cores of a device."""

    sink: Sink
    flows: Flows
    transfers: TransferSpans
    slots: int
    geometry: PacketGeometry | None = attrs.field(default=None, init=False)
    job: str = attrs.field(default="", init=False)
    last_drains: list[int] = attrs.field(factory=list, init=False)
    _workers: dict[int, WorkerSpans] = attrs.field(factory=dict, init=False)
    _pauses: dict[int, TimelineSpan] = attrs.field(factory=dict, init=False)
    _lanes: dict[int, tuple[int, int]] = attrs.field(factory=dict, init=False)
    _slots: dict[tuple[int, int], Family] = attrs.field(factory=dict, init=False)

    def launched(self, job: str, geometry: PacketGeometry | None, cores: int) -> None:
        """A job begins, on so many cores."""
        self.job, self.geometry = job, geometry
        self.last_drains = []
        for core in range(cores):
            if core not in self._lanes:
                self._make_lanes(core)

    def _make_lanes(self, core: int) -> None:
        group = f"core {core}"
        worker = self.sink.lane((group, f"core {core} workers"), "one after the other, each to its end")
        about = "a band up to the request of its drain; in it, where each tick went"
        self._lanes[core] = worker, self.sink.lane((group, f"core {core} bands"), about)
        for slot in range(self.slots):
            about = "a slot, from the computation that fills it to the end of its drain"
            path = group, f"core {core} slot {slot}"
            self._slots[core, slot] = Family(self.sink, path, about, OVERLAP)

    def paused(self, core: int, reason: str, begin: int, end: int) -> None:
        """The core waits to start a worker."""
        self._pauses[core] = TimelineSpan(self._lanes[core][0], reason, begin, end)

    def started(self, worker: int, core: int, tick: int) -> None:
        """A worker begins."""
        self._write_pause(core, tick)
        self._workers[worker] = WorkerSpans(worker, core, tick)

    def _write_pause(self, core: int, until: int) -> None:
        pause = self._pauses.pop(core, None)
        if pause is not None and pause.begin < until:
            self.sink.span(pause._replace(end=min(pause.end, until)))

    def spent(self, worker: int, reason: str, begin: int, end: int) -> None:
        """Ticks of issue or of compute."""
        known = self._workers[worker]
        if begin < end or reason == "compute":
            known.steps.append(CoreStep(reason, begin, end, *known.notes))

    def waited(self, worker: int, reason: str, seqs: Sequence[int], begin: int, end: int, *, over: bool = True) -> None:
        """Ticks of a wait for transfers; all of them have landed unless it is not `over`."""
        known = self._workers[worker]
        awaited = [known.recent[seq] for seq in seqs if seq in known.recent]
        last = max(awaited, key=lambda transfer: transfer.done, default=None) if over else None
        parts: tuple[tuple[str, int, int], ...] = ()
        if last is not None:
            lack = self.transfers.lack(last) if last.grant > begin else ""
            parts = tuple(resources(last, lack, begin, end))
        mostly = max(parts, key=lambda part: part[2] - part[1])[0] if parts else ""
        values = len(seqs), (last.seq if last is not None else max(seqs)), mostly or "never ends"
        fields = (WAIT, values) if not known.notes[1] else (joined(WAIT, known.notes[0]), (*values, *known.notes[1]))
        known.steps.append(CoreStep(f"wait {reason}", begin, end, *fields, parts))
        if over:
            known.recent.clear()
            self._write_ready(known, end)

    def gathered(self, worker: int, descriptors: Sequence[Descriptor]) -> None:
        """Reads are requested."""
        self._workers[worker].reads += descriptors

    def noted(self, worker: int, words: Mapping[str, Value]) -> None:
        """The worker's own words for what comes."""
        fields = fields_of(tuple(words), tuple(map(type, words.values()))) if words else NOTHING
        self._workers[worker].notes = fields, tuple(words.values())

    def landed(self, transfer: Any, tick: int) -> int:
        """A transfer has landed: what it belongs to is written first, so that arrows lead forward; returns its flow."""
        known = self._workers.get(transfer.worker)
        if known is None:
            return 0
        known.recent[transfer.seq] = transfer
        filled = known.slots.pop(transfer.seq, None)
        if filled is None:
            known.gathers.append((tick, self.flows.new()))
            return known.gathers[-1][1]
        self._write_ready(known, tick)
        self._write_slot(known, filled, tick)
        return filled.flow

    def drained(self, worker: int, seq: int, slot: int, chain: Sequence[Descriptor], tick: int) -> None:
        """A drain is requested, which ends a band."""
        known = self._workers[worker]
        steps = known.steps
        begin = steps[0].begin if steps else tick
        anchor = anchor_of(steps)
        computed = steps[anchor].begin if steps else tick
        arrived, known.gathers = arrivals(steps, known.gathers, anchor, tick)
        flow = known.last_drain = self.flows.new()
        shown, values = self._band_values(known, slot, chain)
        known.ready.append(BandSpans(steps, begin, tick, shown, values, arrived, flow))
        known.slots[seq] = Filled(slot, known.bands, computed, tick, flow)
        known.steps, known.reads = [], []
        known.bands += 1

    def _band_values(
        self, known: WorkerSpans, slot: int, chain: Sequence[Descriptor]
    ) -> tuple[Fields, tuple[Value, ...]]:
        reads = known.reads
        sizes = [sum(d.rows * d.row_bytes for d in descriptors) for descriptors in (reads, chain)]
        drain = chain[0].address if chain else 0
        values = (known.number, known.bands, slot, len(reads), sizes[0], drain, sizes[1], len(chain))
        if self.geometry is None or not (reads or chain):
            return BAND, values
        known.tiles = tile_class(self.geometry, reads, chain)
        first, last = map(self.geometry.tile_number, tiled_ends(self.geometry, reads, chain))
        return joined(BAND, TILES), (*values, known.tiles, first, last)

    def _write_ready(self, known: WorkerSpans, now: int) -> None:
        """Write the bands that the clock has reached."""
        while known.ready and known.ready[0].end <= now:
            self._write_band(known, known.ready.pop(0))

    def _write_band(self, known: WorkerSpans, band: BandSpans) -> None:
        lane, sink = self._lanes[known.core][1], self.sink
        flow, arrived = (band.flow,) if band.flow else (), band.gathers
        anchor = anchor_of(band.steps)
        arrows = () if band.steps else (flow, arrived.get(anchor, ()))
        sink.span(TimelineSpan(lane, "band", band.begin, band.end, band.fields, band.values, *arrows))
        for number, step in enumerate(band.steps):
            self._write_step(lane, step, (flow if number == anchor else (), arrived.get(number, ())))

    def _write_step(self, lane: int, step: CoreStep, arrows: tuple[Sequence[int], Sequence[int]] = ((), ())) -> None:
        if step.begin < step.end or arrows[0] or arrows[1]:
            self.sink.span(TimelineSpan(lane, step.name, step.begin, step.end, step.fields, step.values, *arrows))
        for resource, begin, end in step.parts:
            self.sink.span(TimelineSpan(lane, resource, begin, end))

    def _write_slot(self, known: WorkerSpans, filled: Filled, until: int, unfinished: bool = False) -> None:
        begin, end = filled.begin, until
        fields: tuple[Fields, tuple[Value, ...]] = IN_SLOT, (known.number, filled.band)
        if unfinished:
            fields = joined(IN_SLOT, UNFINISHED), (*fields[1], RESET)
        lane = self._slots[known.core, filled.slot].take(begin, end)
        self.sink.span(TimelineSpan(lane, "band", begin, end, *fields, (filled.flow,)))
        for name, low, high in (("fill", begin, min(filled.arrival, end)), ("drain", filled.arrival, end)):
            if low < high:
                self.sink.span(TimelineSpan(lane, name, low, high))

    def ended(self, worker: int, tick: int) -> None:
        """A worker has ended."""
        known = self._workers.pop(worker)
        self._write_ready(known, tick)
        for step in known.steps:
            last = joined(step.fields, END), (*step.values, known.number, known.tiles)
            self._write_step(self._lanes[known.core][1], step._replace(fields=last[0], values=last[1]))
        self._write_worker(known, tick, "")
        if known.last_drain:
            self.last_drains.append(known.last_drain)

    def _write_worker(self, known: WorkerSpans, end: int, unfinished: str) -> None:
        fields: tuple[Fields, tuple[Value, ...]] = WORKER, (known.number, self.job, known.bands)
        if unfinished:
            fields = joined(WORKER, UNFINISHED), (*fields[1], unfinished)
        if known.start < end:
            self.sink.span(
                TimelineSpan(self._lanes[known.core][0], f"worker {known.number}", known.start, end, *fields)
            )

    def stop(self, tick: int, under_way: Sequence[Any]) -> None:
        """Nothing goes on after `tick`; `under_way` are the transfers that have not landed."""
        for core in sorted(self._pauses):
            self._write_pause(core, tick)
        for number in sorted(self._workers):
            known = self._workers.pop(number)
            if known.steps:
                values = (known.number, known.bands, RESET)
                rest = BandSpans(known.steps, known.steps[0].begin, tick, joined(IN_SLOT, UNFINISHED), values, {}, 0)
                known.ready.append(rest)
            for band in known.ready:
                if band.begin < tick:
                    self._write_band(known, cut(band, tick))
            for transfer in under_way:
                filled = known.slots.get(transfer.seq) if transfer.worker == number else None
                if filled is not None and filled.begin < tick:
                    self._write_slot(known, filled, tick, unfinished=True)
            self._write_worker(known, tick, RESET)
