"""Tick attribution: where every tick of a makespan went, for one run; not a prediction of another.

The makespan is the timeline of the core that ends last: its launch, then each of its workers. A worker's tick is
issue, compute, or a wait for one transfer, the last to complete of those it waits for; such a wait is named by what
that transfer was doing: queueing for a channel or a credit, being set up, queueing for the memory port, moving data, or
its latency. These parts touch and do not overlap, so they sum to the makespan exactly.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

import attrs

from tessbed.firmware_models import image
from tessbed.firmware_models.band import Band
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.worker_loop import in_order, wait_groups
from tessbed.scenarios.study.measurement import MeasuredJob
from tessbed.sim.stats import TransferRecord
from tessbed.sim.transfer.cost import TransferCost, cost_table

AXES = "CDHW"


@attrs.frozen(order=True)
class Term:
    """What a tick can go to: the resource, why the worker was there, the class of tiles."""

    resource: str
    reason: str
    tiles: str


Attribution = dict[Term, int]


@attrs.frozen
class AwaitedTransfer:
    """A transfer that a worker waits for, with its cost."""

    record: TransferRecord
    cost: TransferCost

    def parts(self, low: int, high: int, history: "PoolHistory") -> Iterator[tuple[str, int]]:
        """(resource, ticks) of what it was doing in [low, high)."""
        record, kind = self.record, self.record.kind
        set_up = record.grant + self.cost.s
        data = "memory port: data" if self.cost.c == self.cost.m else f"{kind} channel: data"
        intervals = (
            (record.arrival, record.grant, f"{kind} {history.lacks(record)}: queue"),
            (record.grant, set_up, f"{kind} channel: set-up"),
            (set_up, record.start, "memory port: queue"),
            (record.start, record.end, data),
            (record.end, record.done, f"{kind} latency"),
        )
        for start, end, resource in intervals:
            ticks = min(end, high) - max(start, low)
            if ticks > 0:
                yield resource, ticks


@attrs.define(eq=False)
class PoolHistory:
    """When transfers of each pool took and gave back a credit, to distinguish a lack of credits from a lack of
    channels."""

    limit: int
    _taken: dict[str, list[int]] = attrs.field(factory=dict, init=False)
    _given: dict[str, list[int]] = attrs.field(factory=dict, init=False)

    def learn(self, records: Sequence[TransferRecord]) -> None:
        """Take all transfers of a job."""
        for record in records:
            self._taken.setdefault(record.pool, []).append(record.grant)
            self._given.setdefault(record.pool, []).append(record.done)
        for ticks in (*self._taken.values(), *self._given.values()):
            ticks.sort()

    def lacks(self, record: TransferRecord) -> str:
        """What a transfer queued for just before its grant."""
        before = record.grant - 1
        held = bisect_right(self._taken[record.pool], before) - bisect_right(self._given[record.pool], before)
        return "credit" if held >= self.limit else "channel"


def attribute_ticks(measured: MeasuredJob) -> Attribution:
    """The terms of a job's makespan; they sum to its device ticks."""
    stats, spec = measured.stats, measured.spec
    history = PoolHistory(spec.dma.outstanding)
    history.learn(stats.trace)
    walk = _Walk(measured, {(r.worker, r.seq): r for r in stats.trace}, history)
    last = max(stats.workers, key=lambda worker: (worker.finish_ticks, worker.worker)).worker
    line = range(last % spec.cores, last + 1, spec.cores)
    clock = 0
    for worker in line:
        start = stats.workers[worker].start_ticks
        walk.terms[Term("launch", "relaunch" if clock else "stagger", "")] += start - clock
        clock = walk.worker(worker, start)
    found = {term: ticks for term, ticks in walk.terms.items() if ticks}
    if sum(found.values()) != stats.device_ticks:
        raise ArithmeticError(f"the account of {measured.job.name} sums to {sum(found.values())}")
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


@attrs.define
class _Walk:
    """The timeline of one core under way."""

    measured: MeasuredJob
    records: dict[tuple[int, int], TransferRecord]
    history: PoolHistory
    terms: Counter[Term] = attrs.Factory(Counter)

    def worker(self, worker: int, clock: int) -> int:
        """Account for a worker from its start at `clock`; returns its end."""
        spec, geometry = self.measured.spec, self.measured.geometry
        program = image.band_program(geometry, spec, self.measured.workers)
        costs, seq, tiles = cost_table(spec), 0, ""
        drains: list[AwaitedTransfer] = []
        for band, ordered in in_order(program(worker), spec):
            tiles = tile_class(geometry, band)
            for group in wait_groups(band, spec):
                reads = [AwaitedTransfer(self.records[worker, seq + i], costs.read(d)) for i, d in enumerate(group)]
                seq += len(reads)
                clock = self._spend("issue", tiles, clock, reads[0].record.arrival)
                clock = self._wait("gather", tiles, clock, reads)
            clock = self._wait("slot", tiles, clock, drains[-spec.slots :][: len(drains) >= spec.slots])
            clock = self._spend("compute", tiles, clock, clock + band.ticks)
            if ordered:
                clock = self._wait("order", tiles, clock, drains)
            drain = AwaitedTransfer(self.records[worker, seq], costs.chain(band.chain))
            clock = self._spend("issue", tiles, clock, drain.record.arrival)
            drains, seq = [*drains[-spec.slots :], drain], seq + 1
        return self._wait("end", tiles, clock, drains)

    def _spend(self, reason: str, tiles: str, clock: int, until: int) -> int:
        self.terms[Term("core", reason, tiles)] += until - clock
        return until

    def _wait(self, reason: str, tiles: str, clock: int, awaited: list[AwaitedTransfer]) -> int:
        """Wait for all of `awaited`, told by the last of them."""
        last = max(awaited, key=lambda a: a.record.done, default=None)
        if last is None or last.record.done <= clock:
            return clock
        for resource, ticks in last.parts(clock, last.record.done, self.history):
            self.terms[Term(resource, reason, tiles)] += ticks
        return last.record.done


def tile_class(geometry: PacketGeometry, band: Band) -> str:
    """Which boundary tiles a band touches: "full", or the axes along which a tile of it is partial, as "edge HW"."""
    packs = geometry.packs
    base = geometry.output_address if packs else geometry.input_address
    ends = (band.chain or band.reads) if packs else (band.reads or band.chain)
    edges = {edge for descriptor in (ends[0], ends[-1]) for edge in _edges(geometry, descriptor.address - base)}
    return f"edge {''.join(sorted(edges))}" if edges else "full"


def _edges(geometry: PacketGeometry, offset: int) -> Iterator[str]:
    extents = geometry.tile(geometry.tile_number(offset)).extents
    for name, axis, extent in zip(AXES, geometry.axes, extents, strict=True):
        if axis.tiles > 1 and extent < axis.tile:
            yield name


def utilisation(measured: MeasuredJob) -> dict[str, float]:
    """The part of the makespan for which each resource was busy, 0 to 1; cores are those that ran a worker."""
    stats, ticks = measured.stats, max(1, measured.stats.device_ticks)
    cores = min(measured.spec.cores, measured.workers)
    working = sum(worker.stalls["compute"] + worker.stalls["issue"] for worker in stats.workers)
    found = {"cores (compute and issue)": working / (cores * ticks)}
    for pool in stats.pools:
        name = f"{pool.kind} channels" + (f" of core {pool.core}" if pool.core >= 0 else "")
        found[name] = pool.busy_ticks / (pool.channels * ticks)
    for port in stats.ports:
        found["memory port" if port.name == "memory" else f"{port.name} port"] = port.busy_ticks / ticks
    return found
