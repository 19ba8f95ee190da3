"""Outline of a custom kernel: from its call and worker count to the timed bands that the exact engine takes."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import attrs

from tessbed.firmware_models.custom.band_worker import KernelBand
from tessbed.firmware_models.custom.launches import Footprints, KernelLaunch, LaunchKey, launch_of
from tessbed.firmware_models.custom.planning import KernelFailure, planned_bands
from tessbed.firmware_models.custom.step_limit import band_steps, endless_text, most_steps_of
from tessbed.firmware_models.launch_outline import BandShape, Outline, add_traffic
from tessbed.firmware_models.worker_loop import in_order, wait_groups
from tessbed.kernels.custom.codec import KernelCall
from tessbed.kernels.custom.declaration import Kernel
from tessbed.sim.errors import HazardError
from tessbed.sim.exact.run_length import runs_of
from tessbed.sim.source_line import SourceLine
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts, Shape, count_read, count_write
from tessbed.sim.transfer.descriptor import Descriptor, check_fields
from tessbed.sim.user_code.errors import KernelMisuse


def kernel_outline(kernel: Kernel, call: KernelCall, spec: DeviceSpec, workers: int) -> Outline:
    """The outline of a call. Raises KernelFailure for what the kernel does wrong."""
    try:
        launch = launch_of(kernel, call, spec, workers)
    except KernelMisuse as error:
        raise KernelFailure("kernel_hazard", "misuse", 0, None, str(error)) from None
    return _outline(launch.key, launch)


@lru_cache(maxsize=64)
def _drawn(key: LaunchKey) -> list[Outline]:
    return []


def _outline(key: LaunchKey, launch: KernelLaunch) -> Outline:
    kept = _drawn(key)
    if not kept:
        kept.append(_Drawing(key.spec, launch).draw())
    return kept[0]


@attrs.frozen(eq=False)
class _Placed:
    """A band and where it drains; `in_order` asks for the footprint."""

    band: KernelBand
    footprint: Footprints


@attrs.define(eq=False)
class _Drawing:
    """An outline under way; equal bands and descriptors are kept once."""

    spec: DeviceSpec
    launch: KernelLaunch
    bands: dict[BandShape, int] = attrs.Factory(dict)
    taken: Counter[int] = attrs.Factory(Counter)
    counts: Counter[str] = attrs.Factory(Counter)
    steps: int = 0
    _counted: dict[tuple[str, Shape, int], Counts] = attrs.Factory(dict)
    _most_steps: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._most_steps = most_steps_of(self.launch.key.call)

    def draw(self) -> Outline:
        """The whole launch, worker by worker."""
        workers = tuple(tuple(runs_of(self._worker(worker))) for worker in range(self.launch.view.workers))
        reads, writes = self._traffic()
        counts = {name: self.counts[name] for name in sorted(self.counts) if self.counts[name]}
        return Outline(tuple(self.bands), workers, reads, writes, counts)

    def _worker(self, worker: int) -> Iterator[int]:
        placed = (_Placed(band, Footprints(band.footprints())) for band in planned_bands(self.launch, worker))
        for at, ordered in in_order(placed, self.spec):
            yield self._index(at.band, ordered)
            self._step(band_steps(at.band, self.spec), worker, at.band.line)
        self._step(1, worker, None)  # the wait for the last drains

    def _step(self, steps: int, worker: int, line: SourceLine | None) -> None:
        """Count steps of all workers together, as a device does that runs them."""
        self.steps += steps
        if self.steps > self._most_steps:
            raise KernelFailure("kernel_error", "endless_loop", worker, line, endless_text(self._most_steps))

    def _index(self, band: KernelBand, ordered: bool) -> int:
        wanted = wait_groups(band, self.spec)
        groups = tuple(
            [tuple([self._count("read", descriptor, band.line) for descriptor in group]) for group in wanted]
        )
        chain = tuple([self._count("write", descriptor, band.line) for descriptor in band.chain])
        shape = BandShape(groups, band.ticks, ordered, chain)
        index = self.bands.setdefault(shape, len(self.bands))
        self.taken[index] += 1
        self._add_counts(band, shape)
        return index

    def _add_counts(self, band: KernelBand, shape: BandShape) -> None:
        counts = self.counts
        counts["bands"] += 1
        counts["wait_groups"] += len(shape.groups)
        counts["ordered_drains"] += shape.ordered
        if band.oversized:
            counts["oversized_pitch_reads"] += len(band.reads)
        for name, number in band.counts.items():
            counts[name] += number

    def _count(self, kind: str, descriptor: Descriptor, line: SourceLine | None) -> Counts:
        address, _, rows, row_bytes, pitch, scratch_pitch = descriptor
        shape = (address % PAGE_BYTES, rows, row_bytes, pitch)
        known = self._counted.get((kind, shape, scratch_pitch))
        if known is None:
            _check_descriptor(self.spec, descriptor, line)
            known = count_read(self.spec, shape) if kind == "read" else count_write(self.spec, shape)
            self._counted[kind, shape, scratch_pitch] = known
        return known

    def _traffic(self) -> tuple[Traffic, Traffic]:
        reads, writes = Traffic(), Traffic()
        for shape, index in self.bands.items():
            times = self.taken[index]
            gathered = [counts for group in shape.groups for counts in group]
            add_traffic(reads, gathered, times * len(gathered), times)
            add_traffic(writes, shape.chain, times, times)
        return reads, writes


def _check_descriptor(spec: DeviceSpec, descriptor: Descriptor, line: SourceLine | None) -> None:
    try:
        check_fields(spec, descriptor)
    except HazardError as error:
        raise KernelFailure("kernel_hazard", "misuse", 0, line, str(error)) from None
