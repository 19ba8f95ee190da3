"""Launch summary: from packet, device and worker count to the Program that the exact engine takes.

The bands, their waits and the order of their drains are the ones that the workers run, but they are not taken one by
one: the loops of a launch are planned as loops (nests/nest.py), so that what counts is how many different bands there
are. Planning still costs more than timing, so a launch is kept as an outline of what its descriptors touch, which many
devices share: channels, latencies and rates only price it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import attrs

from tessbed.firmware_models.band_cache import BandTemplates
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_outline import (
    BandShape,
    Outline,
    fields_that_plan,
    fields_that_price,
    fields_that_shape,
)
from tessbed.firmware_models.nests.blocks import BlockMaker
from tessbed.firmware_models.nests.enumerating_planner import EnumeratingPlanner, KnownParts
from tessbed.firmware_models.nests.nest import Node
from tessbed.firmware_models.nests.nest_totals import NestTotals, TooManyPlaces
from tessbed.firmware_models.nests.pack import pack_nests
from tessbed.firmware_models.nests.parts import PartTable
from tessbed.firmware_models.nests.runs import NestRuns, RunDraft
from tessbed.firmware_models.nests.unpack import unpack_nests
from tessbed.sim.exact.program import Cost, LaunchProgram, TimedBand
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.cost import Counts, price

NESTS = {True: pack_nests, False: unpack_nests}
"""The nests of a launch, by whether it packs."""
SMALL_TILES, SMALL_BYTES = 256, 1 << 23
"""A launch of so few tiles and bytes is planned band by band, in half the time. Both ways give the same outline."""

MOST_WRITTEN = 1024
"""A launch whose runs hold more bands than that is planned without writing them out."""

FEW_BANDS = 1024
"""The programs of a launch of so many different bands are kept."""


@attrs.frozen
class _OutlineKey:
    """An outline's key. Of the spec only `fields` matter, so specs that agree there share an outline."""

    geometry: PacketGeometry
    workers: int
    fields: tuple[Any, ...]
    spec: DeviceSpec = attrs.field(eq=False)


def outline(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> Outline:
    """The launch of `workers`, kept for all devices on which it is the same."""
    key = _OutlineKey(_in_first_page(geometry), workers, fields_that_plan(spec), spec)
    small = geometry.tiles <= SMALL_TILES and geometry.input_bytes + geometry.output_bytes <= SMALL_BYTES
    return _small_outline(key) if small else _long_outline(key)


@lru_cache(maxsize=64)
def _in_first_page(geometry: PacketGeometry) -> PacketGeometry:
    """The same launch at other addresses: only their places in a page matter."""
    phases = {
        name: PAGE_BYTES + getattr(geometry, name) % PAGE_BYTES * (getattr(geometry, name) > 0)
        for name in ("input_address", "output_address")
    }
    return attrs.evolve(geometry, **phases)


@attrs.frozen
class _ProgramKey:
    """A program's key: an outline, the very same one, and what prices it."""

    plan: Outline = attrs.field(eq=id)
    prices: tuple[int, ...]
    spec: DeviceSpec = attrs.field(eq=False)


def exact_program(plan: Outline, spec: DeviceSpec) -> LaunchProgram:
    """What the workers do on a device of that spec; kept for others that price it alike, where bands are few."""
    key = _ProgramKey(plan, fields_that_price(spec), spec)
    return _program(key) if len(plan.bands) <= FEW_BANDS else _priced(key)


@lru_cache(maxsize=64)
def _program(wanted: _ProgramKey) -> LaunchProgram:
    return _priced(wanted)


def _priced(wanted: _ProgramKey) -> LaunchProgram:
    prices = _Prices(wanted.spec)
    return LaunchProgram(tuple([prices.timed(band) for band in wanted.plan.bands]), wanted.plan.workers)


@attrs.define(eq=False)
class _Prices:
    """Costs on one device: of what descriptors touch, of groups and of drains.

    Bands of an outline share what they touch, the very same tuples, so groups and drains are known by their ids.
    """

    spec: DeviceSpec
    costs: dict[Counts, Cost] = attrs.field(factory=dict, init=False)
    groups: dict[int, tuple[tuple[Cost, ...], ...]] = attrs.field(factory=dict, init=False)
    drains: dict[int, tuple[Cost]] = attrs.field(factory=dict, init=False)

    def timed(self, band: BandShape) -> TimedBand:
        """A band of an outline that keeps its tuples."""
        groups, drain = self.groups.get(id(band.groups)), self.drains.get(id(band.chain))
        if groups is None:
            groups = self.groups[id(band.groups)] = tuple(tuple(map(self._cost, group)) for group in band.groups)
        if drain is None:
            segments = map(self._cost, band.chain)
            drain = self.drains[id(band.chain)] = (Cost(*map(sum, zip(*segments, strict=True))),)
        return TimedBand(groups, band.ticks, band.ordered, drain, len(band.chain))

    def _cost(self, counts: Counts) -> Cost:
        cost = self.costs.get(counts)
        if cost is None:
            segment = price(self.spec, counts)
            cost = self.costs[counts] = Cost(segment.setup_ticks, segment.port_ticks, segment.data_ticks)
        return cost


@lru_cache(maxsize=256)
def _small_outline(wanted: _OutlineKey) -> Outline:
    templates = _templates_of(wanted.geometry, fields_that_shape(wanted.spec))
    known = _parts_of(wanted.geometry, wanted.fields, templates)
    return EnumeratingPlanner(wanted.spec, known).draw(wanted.geometry, wanted.workers)


@lru_cache(maxsize=32)
def _long_outline(wanted: _OutlineKey) -> Outline:
    """Few are kept: with its nests and parts one may hold ten MiB."""
    return plan_launch(wanted.geometry, wanted.spec, wanted.workers)


@lru_cache(maxsize=16)
def _templates_of(geometry: PacketGeometry, fields: tuple[Any, ...]) -> BandTemplates:
    """The bands of small launches: work items that are equal make the same ones, with any number of workers."""
    return BandTemplates()


@lru_cache(maxsize=16)
def _parts_of(geometry: PacketGeometry, fields: tuple[Any, ...], templates: BandTemplates) -> KnownParts:
    """The parts of small launches, on devices that plan alike."""
    return KnownParts(templates)


def plan_launch(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> Outline:
    """The launch of `workers` by runs, anew. Many runs are written out when they are asked for."""
    table = PartTable(spec)
    nests = NESTS[geometry.packs](geometry, spec, workers)
    return plan_nests(table, [nests(worker) for worker in range(workers)])


def plan_nests(table: PartTable, workers: Sequence[Sequence[Node]], most_written: int = MOST_WRITTEN) -> Outline:
    """The launch whose workers take these nodes; runs of more bands than that are written out when asked for."""
    if sum(map(BlockMaker(table).written, workers)) > most_written:
        try:
            totals = NestTotals.of(table, workers)
            bands = totals.bands()
            runs = tuple([NestRuns(nodes, table, bands) if nodes else () for nodes in workers])
            return Outline(bands, runs, *totals.account())
        except TooManyPlaces:
            table = PartTable(table.spec)
    draft = RunDraft(table)
    runs = tuple([tuple(draft.worker(nodes)) for nodes in workers])
    return Outline(tuple(draft.numbers.bands), runs, *draft.account())
