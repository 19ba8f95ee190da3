"""The product's engines on the yardstick's work."""

import numpy as np

from tessbed.firmware_models.band import Band
from tessbed.firmware_models.worker_loop import body_of, in_order, wait_groups
from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.device.device import Device, Submission
from tessbed.sim.exact.program import Cost, LaunchProgram, TimedBand
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.stats import JobStats
from tessbed.sim.transfer.cost import TransferCost
from tests.sim.costs import chain_cost, read_cost
from tests.sim.rig import BodyFirmware
from tests.yardstick.work import Memory, Work


def run_reference(work: Work, memory: Memory, *, moves: bool, checks: bool = False) -> JobStats:
    """The event engine: a whole device, its firmware the same loop over the same bands, with or without its checker."""
    firmware = BodyFirmware(body_of(lambda worker: iter(work.programs[worker])))
    device = Device(work.spec, firmware, moves=moves, checker=Checker("raise" if checks else "off"))
    page = work.spec.memory.window_base
    device.memory.map(page, np.zeros(PAGE_BYTES, np.uint8))
    for address, array in memory:
        device.memory.map(address, array)
    return device.run(device.submit(Submission(page, 16, page + 64, 1, len(work.programs))))


def timed(work: Work) -> LaunchProgram:
    """The program for the exact engine."""
    return LaunchProgram.of(_timed(work.spec, bands) for bands in work.programs)


def _timed(spec: DeviceSpec, bands: list[Band]) -> list[TimedBand]:
    return [
        TimedBand(
            tuple(tuple(_cost(read_cost(spec, d)) for d in group) for group in wait_groups(band, spec)),
            band.ticks,
            ordered,
            (_cost(chain_cost(spec, band.chain)),),
            len(band.chain),
        )
        for band, ordered in in_order(bands, spec)
    ]


def _cost(cost: TransferCost) -> Cost:
    return Cost(cost.s, cost.m, cost.c)
