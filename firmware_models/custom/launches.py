"""Launches of kernels at level "bands": the bands of each worker, planned once for all launches that agree.

What a kernel plans depends on its source, its arguments, the shapes of its ports, where they are in a page, the grid
and the fields of the device that `LaunchView` shows. So bands are made at addresses in the first page, kept, and moved
to where the ports really are.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import attrs

from tessbed.firmware_models.band import DrainFootprint
from tessbed.firmware_models.custom.band_worker import BandWorker, KernelBand
from tessbed.firmware_models.custom.launch_view import LaunchView
from tessbed.firmware_models.custom.region import KernelPort, ports_of
from tessbed.firmware_models.custom.step_limit import band_steps, endless_text, most_steps_of
from tessbed.firmware_models.launch_outline import fields_that_plan
from tessbed.kernels.custom.codec import KernelCall
from tessbed.kernels.custom.declaration import Kernel
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.descriptor import Descriptor

MOST_KEPT = 8192
"""Bands of one launch that are kept."""
PAGE_STEP = 1 << 40
"""Ports are planned so far apart that no two have addresses in common."""

NextBand = Callable[[Iterator[Any]], Any]
"""Advances a kernel's generator: the next thing that it yields, None at its end."""


class ForeignYield(Exception):
    """A kernel yielded what is no band of its worker; `generator` is suspended at the line."""

    def __init__(self, text: str, generator: Any) -> None:
        super().__init__(text)
        self.generator = generator


class EndlessKernel(Exception):
    """A kernel's worker has no end; `generator` is suspended at the line."""

    def __init__(self, text: str, generator: Any) -> None:
        super().__init__(text)
        self.generator = generator


@attrs.frozen(eq=False)
class Footprints:
    """The bytes that the drain of a band writes, a part for each of its regions."""

    parts: tuple[DrainFootprint, ...]

    def meets(self, other: "Footprints", granule: int) -> bool:
        """True unless it is certain that no granule holds bytes of both."""
        if len(self.parts) == len(other.parts) == 1:
            return self.parts[0].meets(other.parts[0], granule)
        return any(mine.meets(part, granule) for mine in self.parts for part in other.parts)


@attrs.frozen(eq=False)
class MovedBand:
    """A planned band where its ports really are: its reads, the chain of its drain, the bytes that this writes."""

    planned: KernelBand
    reads: list[Descriptor]
    chain: list[Descriptor]
    footprint: Footprints
    oversized: bool

    @property
    def ticks(self) -> int:
        """What computing it costs."""
        return self.planned.ticks


@attrs.frozen
class LaunchKey:
    """What a kernel's bands depend on. Two kernels of one source are two: a closure may tell them apart."""

    digest: str
    name: str
    arguments: tuple[int | float, ...]
    ports: tuple[tuple[str, tuple[int, ...], bool, int], ...]
    workers: int
    fields: tuple[Any, ...]
    kernel: Kernel = attrs.field(repr=False)
    call: KernelCall = attrs.field(eq=False, repr=False)
    spec: DeviceSpec = attrs.field(eq=False, repr=False)


@attrs.define(eq=False)
class KernelLaunch:
    """One launch, planned in the first pages of ports far apart; `kept` has the bands of workers, once all are made."""

    key: LaunchKey
    view: LaunchView
    ports: tuple[KernelPort, ...]
    kept: dict[int, list[KernelBand]] = attrs.field(factory=dict, init=False)
    _size: int = attrs.field(default=0, init=False)
    _moved: tuple[Sequence[int], dict[int, list[MovedBand]]] = attrs.field(factory=lambda: ((), {}), init=False)

    def generator(self, worker: int) -> tuple[BandWorker, Iterator[Any]]:
        """The kernel's own generator for a worker, and the worker that it sees. Raises what its call raises."""
        kernel, of = self.key.kernel, BandWorker(worker, self.view)
        values = dict(zip([argument.name for argument in kernel.arguments], self.key.arguments, strict=True))
        return of, kernel.function(of, *self.ports, **values)

    def planned(self, worker: int, advance: NextBand = lambda generator: next(generator, None)) -> Iterator[KernelBand]:
        """The bands of a worker as they are planned. Raises what the kernel raises, ForeignYield, EndlessKernel."""
        kept = self.kept.get(worker)
        if kept is not None:
            yield from kept
            return
        of, generator = self.generator(worker)
        made: list[KernelBand] = []
        number = steps = 0
        most = most_steps_of(self.key.call)
        while (band := advance(generator)) is not None:
            _check_band(band, of, number, generator)
            if steps > most:
                raise EndlessKernel(endless_text(most), generator)
            steps += band_steps(band, self.key.spec)
            if number < MOST_KEPT:
                made.append(band)
            yield band
            number += 1
        if number <= MOST_KEPT and self._size + number <= MOST_KEPT:
            self._size += number
            self.kept[worker] = made

    def bands(self, worker: int, addresses: Sequence[int], advance: NextBand | None = None) -> Iterator[MovedBand]:
        """The bands of a worker with the ports at these addresses."""
        if self._moved[0] != addresses:
            self._moved = addresses, {}
        moved = self._moved[1].get(worker)
        if moved is None:
            by = [address - port.address for address, port in zip(addresses, self.ports, strict=True)]
            planned = self.planned(worker) if advance is None else self.planned(worker, advance)
            bands = (band_at(band, by) for band in planned)
            if worker not in self.kept:
                return bands
            moved = self._moved[1][worker] = list(bands)
        return iter(moved)


def band_at(band: KernelBand, by: Sequence[int]) -> MovedBand:
    """A planned band with each port moved by so many bytes."""
    reads = [moved for placed in band.gathered for moved in _moved(placed.descriptors, by[placed.region.port.index])]
    chain = [moved for placed in band.packed for moved in _moved(placed.descriptors, by[placed.region.port.index])]
    parts = []
    for placed, place in zip(band.packed, band.footprints(), strict=True):
        ahead = by[placed.region.port.index]
        parts.append(DrainFootprint(place.low + ahead, place.high + ahead, place.period, place.inner))
    return MovedBand(band, reads, chain, Footprints(tuple(parts)), band.oversized)


def _moved(descriptors: Sequence[Descriptor], by: int) -> list[Descriptor]:
    return [Descriptor(address + by, *rest) for address, *rest in descriptors]


def _check_band(band: Any, of: BandWorker, number: int, generator: Any) -> None:
    if not isinstance(band, KernelBand) or band.owner is not of or band.number != number:
        got = "a band of another worker or time" if isinstance(band, KernelBand) else f"{band!r:.80}"
        raise ForeignYield(f"yielded {got}, wanted w.band(...), each once and in order", generator)


def launch_of(kernel: Kernel, call: KernelCall, spec: DeviceSpec, workers: int) -> KernelLaunch:
    """The launch of a call, shared by all calls that plan the same. Raises ValueError for a scratch that can not be."""
    ports = tuple((port.scalar, port.shape, port.written, port.address % PAGE_BYTES) for port in call.ports)
    key = LaunchKey(call.digest, call.name, call.arguments, ports, workers, fields_that_plan(spec), kernel, call, spec)
    return _launch(key)


@lru_cache(maxsize=32)
def _launch(key: LaunchKey) -> KernelLaunch:
    names = [port.name for port in key.kernel.ports]
    addresses = [(index + 1) * PAGE_STEP + phase for index, (*_, phase) in enumerate(key.ports)]
    view = LaunchView.of(key.kernel, key.call, key.spec, key.workers)
    return KernelLaunch(key, view, ports_of(key.call, names, addresses))
