"""Granule map: which worker wrote each write granule of an output, and which were read, modified and written back.

It is made from the descriptors that the workers drain, not from what the DMA engine counted, so the audit can compare
the two. A granule that a descriptor's rows cover in part is rewritten, once for each such descriptor; where memory has
byte strobes, none is.
Source: docs/simulation.md, "Granule ownership".
"""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models import image
from tessbed.scenarios.model import KernelJob
from tessbed.scenarios.study.kernel_work import KernelWork
from tessbed.scenarios.study.measurement import MeasuredJob
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor

NOBODY = -1
MOST_GRANULES = 1 << 24


@attrs.frozen(eq=False)
class GranuleMap:
    """An output, granule by granule: `writer` is the last worker or -1, `shared` where there were several workers,
    `rewrites` how often it was read, modified and written. Arrays of one length."""

    name: str
    granule_bytes: int
    writer: np.ndarray
    shared: np.ndarray
    rewrites: np.ndarray
    drained_bytes: dict[int, int]


@attrs.frozen
class OutputSpan:
    """Where an output is in memory."""

    name: str
    address: int
    size: int


def outputs_of(measured: MeasuredJob) -> list[OutputSpan]:
    """The outputs of a job."""
    asked = measured.asked
    if isinstance(asked, KernelWork) and isinstance(measured.job, KernelJob):
        ports = zip(measured.job.planned.ports, asked.call.ports, strict=True)
        return [OutputSpan(port.name, bound.address, bound.required_bytes) for port, bound in ports if bound.written]
    assert not isinstance(asked, KernelWork)
    return [OutputSpan("output", asked.output_address, asked.output_bytes)]


def bands_of(measured: MeasuredJob) -> Iterator[tuple[int, int, Any]]:
    """Every band of a job: its worker, its number among those, itself."""
    asked, spec = measured.asked, measured.spec
    program = None if isinstance(asked, KernelWork) else image.band_program(asked, spec, measured.workers)
    for worker in range(measured.workers):
        bands = asked.bands(spec, measured.workers, worker) if isinstance(asked, KernelWork) else program(worker)  # pyright: ignore[reportOptionalCall]
        for number, band in enumerate(bands):
            yield worker, number, band


def granule_maps(measured: MeasuredJob) -> list[GranuleMap]:
    """The map of each output."""
    chains = [(worker, band.chain) for worker, _, band in bands_of(measured)]
    return [granule_map(span, measured.spec, chains) for span in outputs_of(measured)]


def granule_map(span: OutputSpan, spec: DeviceSpec, chains: Sequence[tuple[int, Sequence[Descriptor]]]) -> GranuleMap:
    """The map of one output, from the drains (worker, descriptors) of a job."""
    granule = spec.write_granule_bytes
    first, end = span.address // granule, -(-(span.address + span.size) // granule)
    made = GranuleMap(
        span.name, granule, np.full(end - first, NOBODY, np.int16), np.zeros(end - first, bool),
        np.zeros(end - first, np.int32), {},
    )  # fmt: skip
    for worker, chain in chains:
        for descriptor in chain:
            if span.address <= descriptor.address < span.address + span.size:
                _add(made, worker, descriptor, first * granule, rewrites=not spec.byte_strobes)
    return made


def _add(made: GranuleMap, worker: int, descriptor: Descriptor, base: int, *, rewrites: bool) -> None:
    touched, partial = touched_granules(descriptor, base, made.granule_bytes)
    before = made.writer[touched]
    made.shared[touched] |= (before != NOBODY) & (before != worker)
    made.writer[touched] = worker
    made.drained_bytes[worker] = made.drained_bytes.get(worker, 0) + descriptor.rows * descriptor.row_bytes
    if rewrites:
        made.rewrites[partial] += 1


def touched_granules(descriptor: Descriptor, base: int, granule: int) -> tuple[Any, np.ndarray]:
    """The granules that a descriptor touches, counted from `base`, and those of them that it fills in part."""
    start, rows, size, pitch = descriptor.address - base, descriptor.rows, descriptor.row_bytes, descriptor.pitch
    if rows == 1 or pitch == size:
        rows, size, pitch = 1, rows * size, 0
    starts = start + pitch * np.arange(rows)
    ends = starts + size
    heads, tails = starts[starts % granule != 0] // granule, ends[ends % granule != 0] // granule
    partial = np.unique(np.concatenate((heads, tails)))
    if rows == 1:
        return slice(start // granule, -(-(start + size) // granule)), partial
    reach = np.arange(-(-size // granule) + 1)
    numbers = starts[:, None] // granule + reach
    return np.unique(numbers[numbers < -(-ends[:, None] // granule)]), partial
