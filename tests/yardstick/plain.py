"""The yardstick: the device as a user of SimPy would write it first, with a process for each transfer and Resources.

Same costs (the folded five integers), same programs, same bytes moved. It grants at once, not at the end of a tick, so
its ticks differ a little where requests meet; it writes bytes one for one, without granules; and it keeps few
statistics: bytes and finish ticks.
"""

from collections.abc import Generator
from typing import Any

import attrs
import numpy as np
import simpy

from tessbed.firmware_models.band import Band
from tessbed.firmware_models.vector_ops import Packer
from tessbed.firmware_models.worker_loop import in_order, wait_groups
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.cost import TransferCost, cost_table
from tessbed.sim.transfer.descriptor import Descriptor
from tests.yardstick.work import Memory, Work

Steps = Generator[simpy.Event, Any, None]


@attrs.define(eq=False)
class PlainDevice:
    """Channels, credits and the one memory port are Resources; bytes move if it `moves`."""

    env: simpy.Environment
    spec: DeviceSpec
    memory: Memory
    moves: bool
    channels: dict[str, simpy.Resource] = attrs.field(init=False)
    credits: dict[str, simpy.Resource] = attrs.field(init=False)
    port: simpy.Resource = attrs.field(init=False)
    bytes: dict[str, int] = attrs.field(factory=lambda: {"read": 0, "write": 0}, init=False)
    finish: dict[int, int] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        dma, env = self.spec.dma, self.env
        self.channels = {
            "read": simpy.Resource(env, dma.read_channels),
            "write": simpy.Resource(env, dma.write_channels),
        }
        self.credits = {kind: simpy.Resource(env, dma.outstanding) for kind in self.channels}
        self.port = simpy.Resource(env, 1)

    def transfer(self, cost: TransferCost, descriptors: list[Descriptor], scratch: np.ndarray) -> Steps:
        """One transfer: credit, channel, set-up, port, data, latency."""
        with self.credits[cost.d].request() as credit:
            yield credit
            with self.channels[cost.d].request() as channel:
                yield channel
                yield self.env.timeout(cost.s)
                with self.port.request() as port:
                    yield port
                    yield self.env.timeout(cost.m)
                if cost.c > cost.m:
                    yield self.env.timeout(cost.c - cost.m)
            yield self.env.timeout(cost.l)
        self.bytes[cost.d] += cost.payload_bytes
        if self.moves:
            for descriptor in descriptors:
                self.move(cost.d, descriptor, scratch)

    def move(self, kind: str, descriptor: Descriptor, scratch: np.ndarray) -> None:
        """Copy a descriptor's bytes."""
        address, low, rows, row_bytes, pitch, scratch_pitch = descriptor
        base, array = next((b, a) for b, a in self.memory if b <= address < b + a.size)
        outside = np.ndarray((rows, row_bytes), np.uint8, array, address - base, (pitch, 1))
        inside = np.ndarray((rows, row_bytes), np.uint8, scratch, low, (scratch_pitch, 1))
        if kind == "read":
            inside[...] = outside
        else:
            outside[...] = inside

    def worker(self, number: int, bands: list[Band], scratch: np.ndarray) -> Steps:
        """The firmware's loop over its bands."""
        env, spec, costs = self.env, self.spec, cost_table(self.spec)
        drains: dict[int, simpy.Process] = {}
        for index, (band, ordered) in enumerate(in_order(bands, spec)):
            slot = index % spec.slots
            for group in wait_groups(band, spec):
                yield env.timeout(spec.dma.issue_ticks * len(group))
                yield env.all_of([env.process(self.transfer(costs.read(d), [d], scratch)) for d in group])
            if slot in drains:
                yield drains[slot]
            yield env.timeout(band.ticks)
            if self.moves:
                Packer(scratch, band.steps)()
            if ordered:
                yield env.all_of(drains.values())
            yield env.timeout(spec.dma.issue_ticks * len(band.chain))
            drains[slot] = env.process(self.transfer(costs.chain(band.chain), band.chain, scratch))
        yield env.all_of(drains.values())
        self.finish[number] = int(env.now)

    def core(self, number: int, work: Work) -> Steps:
        """A core's workers, one after the other."""
        scratch = np.empty(self.spec.usable_scratch_bytes, np.uint8)
        yield self.env.timeout(number * self.spec.launch_stagger_ticks)
        for worker in range(number, len(work.programs), self.spec.cores):
            yield self.env.process(self.worker(worker, work.programs[worker], scratch))
            yield self.env.timeout(self.spec.relaunch_ticks)


def run_plain(work: Work, memory: Memory, *, moves: bool) -> PlainDevice:
    """Run all of the work on `memory`."""
    env = simpy.Environment()
    device = PlainDevice(env, work.spec, memory, moves)
    for number in range(min(work.spec.cores, len(work.programs))):
        env.process(device.core(number, work))
    env.run()
    return device
