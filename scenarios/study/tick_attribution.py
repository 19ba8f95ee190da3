"""Tick attribution: where every tick of a makespan went, for one run; not a prediction of another.

The makespan is the timeline of the core that ends last: its launch, then each of its workers. A worker's tick is
issue, compute, or a wait for one transfer, the last to complete of those it waits for; such a wait is named by what
that transfer was doing: queueing for a channel or a credit, being set up, queueing for the memory port, moving data, or
its latency. These parts touch and do not overlap, so they sum to the makespan exactly.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from tessbed.firmware_models import image
from tessbed.firmware_models.worker_loop import in_order, wait_groups
from tessbed.scenarios.study.kernel_work import KernelWork
from tessbed.scenarios.study.measurement import MeasuredJob, planned_alike
from tessbed.scenarios.timeline.tile_class import tile_class
from tessbed.scenarios.timeline.wait_parts import Credits, clipped, transfer_parts
from tessbed.sim.stats import TransferRecord
from tessbed.sim.transfer.cost import TransferCost, cost_table


@attrs.frozen(order=True)
class Term:
    """What a tick can go to: the resource, why the worker was there, the class of tiles, or a kernel's own line."""

    resource: str
    reason: str
    tiles: str


Attribution = dict[Term, int]


@attrs.frozen
class AwaitedTransfer:
    """A transfer that a worker waits for, with its cost."""

    record: TransferRecord
    cost: TransferCost


def attribute_ticks(measured: MeasuredJob) -> Attribution:
    """The terms of a job's makespan, the timeline of the core that ends last; they sum to its device ticks.

    Raises ScenarioError for a kernel at level body.
    """
    planned_alike(measured)
    stats = measured.stats
    found = attribute_core(measured, last_core(measured))
    if sum(found.values()) != stats.device_ticks:
        raise ArithmeticError(f"the account of {measured.job.name} sums to {sum(found.values())}")
    return found


def last_core(measured: MeasuredJob) -> int:
    """The core that ends last, whose timeline is the makespan."""
    last = max(measured.stats.workers, key=lambda worker: (worker.finish_ticks, worker.worker)).worker
    return last % measured.spec.cores


def attribute_core(measured: MeasuredJob, core: int) -> Attribution:
    """The terms of a core's ticks, from the launch to the end of its last worker."""
    stats, spec = measured.stats, measured.spec
    pools = credits_by_pool(spec.dma.outstanding, stats.trace)
    walk = _Walk(measured, {(r.worker, r.seq): r for r in stats.trace}, pools)
    clock = 0
    for worker in range(core, measured.workers, spec.cores):
        start = stats.workers[worker].start_ticks
        walk.terms[Term("launch", "relaunch" if worker != core else "stagger", "")] += start - clock
        clock = walk.worker(worker, start)
    found = {term: ticks for term, ticks in walk.terms.items() if ticks}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def credits_by_pool(limit: int, records: Sequence[TransferRecord]) -> dict[str, Credits]:
    """When the transfers of each pool held its credits, of which there are `limit`."""
    pools: dict[str, list[TransferRecord]] = {}
    for record in records:
        pools.setdefault(record.pool, []).append(record)
    return {pool: Credits.of(limit, mine) for pool, mine in pools.items()}


@attrs.define
class _Walk:
    """The timeline of one core under way."""

    measured: MeasuredJob
    records: dict[tuple[int, int], TransferRecord]
    credits: dict[str, Credits]
    terms: Counter[Term] = attrs.Factory(Counter)

    def worker(self, worker: int, clock: int) -> int:
        """Account for a worker from its start at `clock`; returns its end."""
        spec, asked = self.measured.spec, self.measured.asked
        if isinstance(asked, KernelWork):
            bands: Iterator[Any] = asked.bands(spec, self.measured.workers, worker)
        else:
            bands = image.band_program(asked, spec, self.measured.workers)(worker)
        costs, seq, tiles = cost_table(spec), 0, ""
        drains: list[AwaitedTransfer] = []
        for band, ordered in in_order(bands, spec):
            if isinstance(asked, KernelWork):
                tiles = str(band.planned.line or "")
            else:
                tiles = tile_class(asked, band.reads, band.chain)
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
        """Wait for all of `awaited`, named by the last of them."""
        last = max(awaited, key=lambda a: a.record.done, default=None)
        if last is None or last.record.done <= clock:
            return clock
        record = last.record
        lack = self.credits[record.pool].lack(record.grant)
        for resource, begin, end in clipped(transfer_parts(record, last.cost, lack), clock, record.done):
            self.terms[Term(resource, reason, tiles)] += end - begin
        return record.done


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
