"""Launch summary: from packet, device and worker count to the outline of a launch.

The bands, their waits and the order of their drains are the ones that the workers run, but they are not taken one by
one: the loops of a launch are planned as loops (nests/nest.py), so that what counts is how many different bands there
are. Planning still costs more than timing, so a launch is kept as an outline of what its descriptors touch, which many
devices share: channels, latencies and rates only price it.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import attrs

from tessbed.firmware_models.band_cache import BandTemplates
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_outline import Outline, fields_that_plan, fields_that_shape
from tessbed.firmware_models.nests.nest import Node
from tessbed.firmware_models.nests.pack import pack_nests
from tessbed.firmware_models.nests.unpack import unpack_nests
from tessbed.firmware_models.planning.band_numbers import BandNumbers
from tessbed.firmware_models.planning.blocks import BlockMaker
from tessbed.firmware_models.planning.enumerating_planner import EnumeratingPlanner, KnownParts
from tessbed.firmware_models.planning.nest_totals import NestTotals
from tessbed.firmware_models.planning.parts import PartTable
from tessbed.firmware_models.planning.run_totals import RunTotals
from tessbed.firmware_models.planning.runs import NestBands, NestRuns, band_run, sequences
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES

NESTS = {True: pack_nests, False: unpack_nests}
"""The nests of a launch, by whether it packs."""
SMALL_TILES, SMALL_BYTES = 256, 1 << 23
"""A launch of so few tiles and bytes is planned band by band, in half the time. Both ways give the same outline."""

MOST_KEPT = 1 << 16
"""Runs that hold about so many bands are written out when a launch is planned, and kept; its totals are theirs. Longer
ones are written out each time that they are asked for, and the totals are taken from the nests."""


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


def plan_launch(geometry: PacketGeometry, spec: DeviceSpec, workers: int, most_kept: int = MOST_KEPT) -> Outline:
    """The launch of `workers` from its nests, anew; a long one where its runs hold more bands than are kept."""
    nests = NESTS[geometry.packs](geometry, spec, workers)
    return plan_nests(PartTable(spec), [nests(worker) for worker in range(workers)], most_kept)


def plan_nests(table: PartTable, workers: Sequence[Sequence[Node]], most_kept: int = MOST_KEPT) -> Outline:
    """The launch whose workers take these nodes."""
    numbers = BandNumbers(table)
    if sum(map(BlockMaker(table).written, workers)) > most_kept:
        long_runs = tuple([NestRuns(numbers, nodes) for nodes in workers])
        return Outline(NestBands(numbers, long_runs), long_runs, *NestTotals.of(table, workers).account(), long=True)
    walked = [[*sequences(table, nodes)] for nodes in workers]
    runs = tuple([tuple([band_run(numbers, *each) for each in of_worker]) for of_worker in walked])
    return Outline(NestBands(numbers), runs, *RunTotals.of(table, chain.from_iterable(walked)).account())
