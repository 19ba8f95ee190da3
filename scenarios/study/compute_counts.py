"""Compute counts: what stands behind the compute ticks of a core: bands, runs, vectors, scalars and clears.

The cost of a band is a sum of products, a count times a parameter of `DeviceSpec.compute`. The count of a parameter is
therefore what the same launch costs on a device where that parameter is 1 and every other is 0. Bands do not depend on
these parameters, so they are the same bands.
Source: docs/simulation.md, "Compute".
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.firmware_models.band_cache import BandTemplates
from tessbed.firmware_models.kernel_handles import WORK_ITEMS
from tessbed.scenarios.study.kernel_work import KernelWork
from tessbed.scenarios.study.measurement import MeasuredJob, planned_alike
from tessbed.scenarios.timeline.tile_class import tile_class
from tessbed.sim.spec.device_spec import ComputeSpec, DeviceSpec, VectorTicks

VECTORS = "vector_ticks."
GIVEN = "ticks given by the kernel"
UNITS = {"band_ticks": "bands", "run_ticks": "runs", "scalar_ticks": "scalars", "clear_ticks": "clears", GIVEN: "bands"}


@attrs.frozen
class ComputePart:
    """A part of the compute ticks of a class of tiles: so many `units`, each at `unit_ticks` of a parameter.

    Where a kernel of one's own gives the ticks of its bands in numbers, they are its own affair: `unit_ticks` is None.
    """

    tiles: str
    parameter: str
    count: int
    unit_ticks: int | None
    ticks: int

    @property
    def unit(self) -> str:
        """What is counted."""
        return UNITS.get(self.parameter, "vectors")


def compute_parts(measured: MeasuredJob, core: int) -> list[ComputePart]:
    """The parts of a core's compute ticks, the largest first; they sum to the ticks of its workers' computation.

    Raises ScenarioError for a kernel at level body.
    """
    planned_alike(measured)
    workers = range(core, measured.workers, measured.spec.cores)
    if isinstance(measured.asked, KernelWork):
        parts = _of_kernel(measured, measured.asked, workers)
    else:
        parts = _counted(measured, workers)
    return sorted((part for part in parts if part.count), key=lambda part: (-part.ticks, part.tiles, part.parameter))


def _of_kernel(measured: MeasuredJob, asked: KernelWork, workers: range) -> list[ComputePart]:
    """The parts of a user's kernel: opened where its ticks are a cost of the device, else the ticks that it gives."""
    prices = parameters(measured.spec)
    here = _kernel_ticks(asked, measured.spec, measured.workers, workers)
    if here != _kernel_ticks(asked, _priced(measured.spec, ""), measured.workers, workers):
        probed = {
            name: _kernel_ticks(asked, _priced(measured.spec, name), measured.workers, workers) for name in prices
        }
        if all(probed.values()):
            parts = _summed({name: ticks for name, ticks in probed.items() if ticks}, prices)
            if sum(part.ticks for part in parts) == sum(ticks for _, ticks in here or ()):
                return parts
    return _given(here or [])


def _kernel_ticks(asked: KernelWork, spec: DeviceSpec, grid: int, workers: range) -> list[tuple[str, int]] | None:
    """The line and the ticks of each band on such a device; None where the kernel fails there."""
    try:
        bands = (band for worker in workers for band in asked.bands(spec, grid, worker))
        return [(str(band.planned.line or ""), band.ticks) for band in bands]
    except Exception:  # a user's code, on a device that nobody asked it to run on
        return None


def _summed(probed: dict[str, list[tuple[str, int]]], prices: dict[str, int]) -> list[ComputePart]:
    """The counts of each parameter by line; those of devices on which the kernel plans other bands do not add up."""
    totals: Counter[tuple[str, str]] = Counter()
    for name, bands in probed.items():
        for tiles, count in bands:
            totals[tiles, name] += count
    return [ComputePart(t, name, count, prices[name], count * prices[name]) for (t, name), count in totals.items()]


def _given(found: list[tuple[str, int]]) -> list[ComputePart]:
    bands, ticks = Counter[str](), Counter[str]()
    for tiles, own in found:
        bands[tiles] += 1
        ticks[tiles] += own
    return [ComputePart(tiles, GIVEN, count, None, ticks[tiles]) for tiles, count in bands.items()]


def _counted(measured: MeasuredJob, workers: range) -> list[ComputePart]:
    prices = parameters(measured.spec)
    totals: Counter[tuple[str, str]] = Counter()
    for tiles, counts in _bands(measured, tuple(prices), workers):
        for parameter, count in zip(prices, counts, strict=True):
            totals[tiles, parameter] += count
    return [ComputePart(t, name, count, prices[name], count * prices[name]) for (t, name), count in totals.items()]


def _bands(measured: MeasuredJob, names: tuple[str, ...], workers: range) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The class of tiles of each band, and its count for each of these parameters."""
    geometry: Any = measured.asked
    specs = [measured.spec, *(_priced(measured.spec, name) for name in names)]
    launches = [WORK_ITEMS[geometry.packs](geometry, spec, measured.workers) for spec in specs]
    templates = [BandTemplates() for _ in specs]
    known: dict[Any, list[tuple[int, ...]]] = {}
    for worker in workers:
        for item, *alike in zip(*(launch(worker) for launch in launches), strict=True):
            if item.key not in known:
                bands = [template.of(one) for template, one in zip(templates[1:], alike, strict=True)]
                known[item.key] = [tuple(t.band.ticks for t in same) for same in zip(*bands, strict=True)]
            made = list(zip(templates[0].of(item), known[item.key], strict=True))
            for source, target in item.places():
                for template, counts in made:
                    band = template.at(source, target)
                    yield tile_class(geometry, band.reads, band.chain), counts


def parameters(spec: DeviceSpec) -> dict[str, int]:
    """The parameters of a band's cost, by their names in `compute`, with the ticks of each."""
    compute = spec.compute
    vectors = {f"{VECTORS}{name}": ticks for name, ticks in attrs.asdict(compute.vector_ticks).items()}
    names = ("band_ticks", "run_ticks", "scalar_ticks", "clear_ticks")
    return {name: getattr(compute, name) for name in names} | vectors


def _priced(spec: DeviceSpec, parameter: str) -> DeviceSpec:
    """The device on which that parameter is 1, and every other tick of computation 0."""
    ticks = {name: int(name == parameter) for name in parameters(spec)}
    vectors = {name.removeprefix(VECTORS): one for name, one in ticks.items() if name.startswith(VECTORS)}
    own = {name: one for name, one in ticks.items() if not name.startswith(VECTORS)}
    compute = ComputeSpec(vector_bytes=spec.compute.vector_bytes, vector_ticks=VectorTicks(**vectors), **own)
    return attrs.evolve(spec, compute=compute)
