"""Lower bounds: ticks that no schedule of the planned transfers can beat, each with a proof in a sentence.

Nothing of a run is used: only what the firmware plans, what each transfer costs, and the rules. So every simulated time
is at or above every bound, and the gap to the largest is what waiting cost. A different plan may have other bounds.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import gcd
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.custom.outline import kernel_outline
from tessbed.firmware_models.launch_outline import Outline
from tessbed.firmware_models.planning.launch_program import exact_program
from tessbed.firmware_models.planning.launch_summary import outline
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import basis_lines
from tessbed.scenarios.study.kernel_work import KernelWork
from tessbed.scenarios.study.measurement import MeasuredJob, Measurement, planned_alike, provenance
from tessbed.sim.exact.program import BandRun, Cost, TimedBand, unrolled
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec

PROOFS = {
    "read channels": "each read holds a channel from its grant to its data's end; a band follows the last one",
    "write channels": "each drain holds a channel from its grant to its data's end; its latency follows",
    "read credits": "each read holds a credit from its grant to its completion; a band follows the last one",
    "write credits": "each drain holds a credit from its grant to its completion",
    "memory port": "one transfer's port ticks at a time; the last one's latency follows",
    "launch": "cores start one after the other, and a core its workers",
    "serial worker": "a worker gathers, computes and issues in sequence, on a core after its earlier workers",
    "slots": "a slot is packed, issued and drained again and again, never two at a time",
}


@attrs.frozen
class LowerBound:
    """A lower bound of device ticks by a resource of PROOFS, and which one of several it is."""

    ticks: int
    resource: str
    which: str = ""


@attrs.frozen(eq=False)
class PlannedWorker:
    """The bands of a worker by how often each is taken, in all and in each slot; the first ones, and the last."""

    bands: Sequence[TimedBand]
    taken: Counter[int]
    by_slot: tuple[Counter[int], ...]
    runs: Sequence[BandRun]

    @classmethod
    def of(cls, bands: Sequence[TimedBand], runs: Sequence[BandRun], slots: int) -> "PlannedWorker":
        """A worker that takes these runs of bands of a table. A band's slot is its number modulo the slots, so a run
        has the same ones again after a few turns, of which each is counted as often as it comes."""
        by_slot, number = tuple(Counter[int]() for _ in range(slots)), 0
        for run in runs:
            order = np.asarray(run.bands)
            cycle = slots // gcd(slots, len(order))
            for turn in range(min(cycle, run.times)):
                first = number + turn * len(order)
                for slot, counted in enumerate(by_slot):
                    found, counts = np.unique(order[(slot - first) % slots :: slots], return_counts=True)
                    times = -(-(run.times - turn) // cycle)
                    counted.update(dict(zip(found.tolist(), (counts * times).tolist(), strict=True)))
            number += len(order) * run.times
        return cls(bands, sum(by_slot, Counter()), by_slot, runs)

    def __iter__(self) -> Iterator[TimedBand]:
        return (self.bands[band] for band in unrolled(self.runs))

    def sum_of(self, ticks: Callable[[TimedBand], int], slot: int | None = None) -> int:
        """The sum over all bands, or those of a slot."""
        taken = self.taken if slot is None else self.by_slot[slot]
        return sum(times * ticks(self.bands[band]) for band, times in taken.items())

    @property
    def last(self) -> TimedBand:
        """The last band of a worker that has any."""
        return self.bands[self.runs[-1].bands[-1]]


@attrs.define(eq=False)
class PlannedLaunch:
    """The bands of each worker, priced for a device, and the first ticks at which they can start."""

    spec: DeviceSpec
    workers: list[PlannedWorker]

    def __attrs_post_init__(self) -> None:
        self.latency = self.spec.memory.read_latency_ticks, self.spec.memory.write_latency_ticks
        self.channels = self.spec.dma.read_channels, self.spec.dma.write_channels

    latency: tuple[int, int] = attrs.field(init=False)
    channels: tuple[int, int] = attrs.field(init=False)

    def start(self, worker: int) -> int:
        """The earliest start of a worker: the stagger of its core, and its earlier workers there."""
        core = worker % self.spec.cores
        earlier_workers = range(core, worker, self.spec.cores)
        serial = sum(self.serial(earlier) + self.spec.relaunch_ticks for earlier in earlier_workers)
        return core * self.spec.launch_stagger_ticks + serial

    def drain(self, band: TimedBand) -> int:
        """From a drain's request to its completion, at the least."""
        return band.chain[0].s + band.chain[0].c + self.latency[1]

    def gather(self, group: Sequence[Cost]) -> int:
        """From the issue of a wait group to its end, at the least."""
        held = [cost.s + cost.c for cost in group]
        ticks = max(max(held), -(-sum(held) // self.channels[0]))
        return self.spec.dma.issue_ticks * len(group) + ticks + self.latency[0]

    def reads(self, band: TimedBand) -> int:
        """All wait groups of a band."""
        return sum(map(self.gather, band.groups))

    def tail(self, band: TimedBand) -> int:
        """Computing and issuing the drain."""
        return band.ticks + self.spec.dma.issue_ticks * band.descriptors

    def serial(self, worker: int) -> int:
        """A worker alone: everything it does itself, and its last drain."""
        of = self.workers[worker]
        own = of.sum_of(lambda band: self.reads(band) + self.tail(band))
        return own + (self.drain(of.last) if of.taken else 0)

    def slot(self, worker: int, slot: int) -> int:
        """One slot of a worker: its bands, and the reads before the first of them."""
        of = self.workers[worker]
        if not of.by_slot[slot]:
            return 0
        *earlier, first = islice(of, slot + 1)
        before = sum(self.reads(band) + self.tail(band) for band in earlier) + self.reads(first)
        return before + of.sum_of(lambda band: self.tail(band) + self.drain(band), slot)


def bounds(measured: MeasuredJob) -> list[LowerBound]:
    """All bounds of a job, the largest first; the first is the binding one."""
    planned_alike(measured)
    asked, spec = measured.asked, measured.spec
    if isinstance(asked, KernelWork):
        return bounds_of(kernel_outline(asked.kernel, asked.call, spec, measured.workers), spec)
    return bounds_of(outline(asked, spec, measured.workers), spec)


def bounds_of(drawn: Outline, spec: DeviceSpec) -> list[LowerBound]:
    """The same for a launch that has been planned."""
    launched = exact_program(drawn, spec)
    workers = [PlannedWorker.of(launched.bands, tuple(runs), spec.slots) for runs in launched.workers]
    planned = PlannedLaunch(spec, workers)
    found = [*_serial(planned), *_pools(planned), *_ports(planned)]
    return sorted(found, key=lambda bound: (-bound.ticks, list(PROOFS).index(bound.resource), bound.which))


def _serial(planned: PlannedLaunch) -> Iterator[LowerBound]:
    """What one worker does; the stagger of its core and the earlier workers on it come first."""
    numbers = range(len(planned.workers))
    cores, spec = min(planned.spec.cores, len(planned.workers)), planned.spec
    turns = (len(planned.workers) - 1) // spec.cores
    yield LowerBound(max((cores - 1) * spec.launch_stagger_ticks, turns * spec.relaunch_ticks), "launch")
    ticks, worker = max((planned.start(w) + planned.serial(w), -w) for w in numbers)
    yield LowerBound(ticks, "serial worker", f"worker {-worker}")
    slots = [(w, slot) for w in numbers for slot in range(planned.spec.slots)]
    ticks, worker, slot = max((planned.start(w) + planned.slot(w, slot), -w, -slot) for w, slot in slots)
    yield LowerBound(ticks, "slots", f"slot {-slot} of worker {-worker}")


def _pools(planned: PlannedLaunch) -> Iterator[LowerBound]:
    """Channels and credits of each pool."""
    shared = planned.spec.dma.channel_scope == "shared"
    cores = (-1,) if shared else range(planned.spec.cores)
    for core in cores:
        members = [w for w in range(len(planned.workers)) if shared or w % planned.spec.cores == core]
        for kind, name in enumerate(DIRECTIONS):
            workers = [planned.workers[w] for w in members]
            transfers = _total(workers, kind, lambda cost: 1)
            if transfers:
                first = min(_first_request(planned, w, kind) for w in members if planned.workers[w].taken)
                after = _after(planned, members, kind)
                held = _total(workers, kind, lambda cost: cost.s + cost.c)
                latency = planned.latency[kind]
                which = f"of core {core}" if core >= 0 else ""
                channels = first + -(-held // planned.channels[kind]) + latency + after
                yield LowerBound(channels, f"{name} channels", which)
                in_flight = first + -(-(held + latency * transfers) // planned.spec.dma.outstanding) + after
                yield LowerBound(in_flight, f"{name} credits", which)


def _ports(planned: PlannedLaunch) -> Iterator[LowerBound]:
    """Each memory port."""
    ports: list[list[int]] = [[0], [1]] if planned.spec.memory.split_port else [[0, 1]]
    for served in ports:
        costs = [cost for kind in served for band in _taken(planned.workers) for cost in _costs(band, kind)]
        if costs:
            active = [w for w, worker in enumerate(planned.workers) if worker.taken]
            first = min(_first_request(planned, w, kind) for w in active for kind in served)
            busy = sum(_total(planned.workers, kind, lambda cost: cost.m) for kind in served)
            latency = min(planned.latency[kind] for kind in served)
            which = "" if len(served) > 1 else DIRECTIONS[served[0]]
            yield LowerBound(first + min(cost.s for cost in costs) + busy + latency, "memory port", which)


def _taken(workers: Sequence[PlannedWorker]) -> list[TimedBand]:
    """The different bands of these workers."""
    return [worker.bands[band] for worker in workers for band in worker.taken]


def _total(workers: Sequence[PlannedWorker], kind: int, amount: Callable[[Cost], int]) -> int:
    """The sum over all transfers of a kind."""
    return sum(worker.sum_of(lambda band: sum(map(amount, _costs(band, kind)))) for worker in workers)


def _costs(band: TimedBand, kind: int) -> Iterator[Cost]:
    if kind == 0:
        return (cost for group in band.groups for cost in group)
    return iter(band.chain)


def _first_request(planned: PlannedLaunch, worker: int, kind: int) -> int:
    """The earliest arrival of a worker's first transfer of a kind; a worker that never asks asks late enough."""
    clock, issue = planned.start(worker), planned.spec.dma.issue_ticks
    for band in planned.workers[worker]:
        if kind == 0 and band.groups:
            return clock + issue * len(band.groups[0])
        clock += planned.reads(band) + planned.tail(band)
        if kind == 1:
            return clock
    return clock


def _after(planned: PlannedLaunch, members: Sequence[int], kind: int) -> int:
    """What still follows the last completed transfer of a kind: for a read, packing and draining its band."""
    if kind:
        return 0
    bands = [band for band in _taken([planned.workers[w] for w in members]) if band.groups]
    return min(planned.tail(band) + planned.drain(band) for band in bands)


def document(measurement: Measurement) -> dict[str, Any]:
    """The bounds of all jobs beside their ticks."""
    return {
        "schema_version": 1,
        "name": measurement.scenario.name,
        **provenance(measurement),
        "jobs": [_job_document(measured, bounds(measured)) for measured in measurement.jobs],
    }


def _job_document(measured: MeasuredJob, found: list[LowerBound]) -> dict[str, Any]:
    ticks = measured.stats.device_ticks
    return {
        "name": measured.job.name,
        "workers": measured.workers,
        "device_ticks": ticks,
        "bound_ticks": found[0].ticks,
        "binding": found[0].resource,
        "gap_ticks": ticks - found[0].ticks,
        "bounds": [{**attrs.asdict(bound), "proof": PROOFS[bound.resource]} for bound in found],
    }


def lines(reported: dict[str, Any]) -> Iterator[str]:
    """The bounds for a person."""
    yield f"{reported['name']}: lower bounds for these bands on this device; model ticks"
    yield from basis_lines(reported)
    for job in reported["jobs"]:
        ticks, gap = job["device_ticks"], job["gap_ticks"]
        yield ""
        yield (
            f"{job['name']}: {ticks:,} device ticks with {job['workers']} workers, none can be below"
            f" {job['bound_ticks']:,}: {job['binding']}; gap {gap:,} ({100 * gap / max(1, ticks):.1f} %)"
        )
        yield ""
        rows = [
            (b["resource"], b["which"], f"{b['ticks']:,}", f"{100 * b['ticks'] / max(1, ticks):.1f} %", b["proof"])
            for b in job["bounds"]
        ]
        yield from aligned(("resource", "which", "bound", "of the run", "because"), rows, numbers=(2, 3))
