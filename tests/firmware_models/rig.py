"""The rig: one geometry's packet on a bare device, buffers at any address phase, every byte around them watched.

Only the device and the firmware: no runtime. Pages around and between the buffers' spans hold a guard byte, so a
write outside the required span shows.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from tessbed.firmware_models.geometry import PacketGeometry as DeviceGeometry
from tessbed.firmware_models.image import FirmwareImage
from tessbed.kernels.ev74.codec import Packet, decode
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.plan import Plan
from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.completion_record import RECORD_BYTES, Record
from tessbed.sim.completion_record import decode_record as decode_record
from tessbed.sim.device.device import Device, Submission
from tessbed.sim.interleavings.untimed_engine import Choose, UntimedEngine, UntimedJob
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.stats import JobStats
from tessbed.sim.transfer.memory import MemoryProbe
from tests.contract.backends import plan_of
from tests.geometries import name_of
from tests.oracle import PREFILL, Geometry, input_bytes
from tests.requests import request_of

PAGE = 4096
BASE = DeviceSpec().memory.window_base
PACKET, RECORD, INPUT = BASE, BASE + PAGE, BASE + 4 * PAGE
GUARD = 0x3A


@attrs.frozen(eq=False)
class Launched:
    """What a job left: its output span, whether any byte around it changed, its statistics and record."""

    output: bytes
    strayed: bool
    stats: JobStats
    record: Record | None


@attrs.frozen(eq=False)
class Rig:
    """A device with one packet bound and mapped; the job can be submitted again."""

    device: Device
    plan: Plan
    packet: Packet
    target: np.ndarray
    record_page: np.ndarray
    output_phase: int

    def run(self, workers: int | None = None) -> Launched:
        """Submit the job and wait for the host's wake."""
        submission = Submission(PACKET, len(self.packet.raw), RECORD, 1, workers)
        stats = self.device.run(self.device.submit(submission))
        low, high = self.output_phase, self.output_phase + self.plan.output.required_bytes
        strayed = bool((self.target[:low] != GUARD).any() or (self.target[high:] != GUARD).any())
        record = decode_record(self.record_page[:RECORD_BYTES].tobytes())
        return Launched(self.target[low:high].tobytes(), strayed, stats, record)

    def in_order(self, choose: Choose, checker: Checker, *, recording: bool = False) -> UntimedEngine:
        """Run the job without time, in the order that `choose` makes of it."""
        memory, spec = self.device.memory, self.device.spec
        stage = UntimedEngine(spec, memory, choose, checker.job(self, 0, spec.write_unit_bytes), recording)
        job: Any = UntimedJob(self.packet.raw, spec.workers, spec, MemoryProbe(memory), stage)
        self.span()[:] = PREFILL
        with pytest.raises(StopIteration) as end:
            next(self.device.firmware.entry(job))
        assert end.value.value.status == 0
        return stage

    def span(self) -> np.ndarray:
        """The output's required span, in place."""
        return self.target[self.output_phase : self.output_phase + self.plan.output.required_bytes]


def build(
    geometry: Geometry,
    changes: Mapping[str, Any] | None = None,
    *,
    phases: tuple[int, int] = (0, 0),
    source: bytes | None = None,
    prefill: int = PREFILL,
    firmware: Any = None,
    **device: Any,
) -> Rig:
    """A fresh device with `geometry` bound at the given phases (bytes past a page) of its input and output."""
    plan = plan_of(request_of(geometry))
    unit = Device(override(DeviceSpec(), changes or {}), firmware or FirmwareImage.full(), **device)
    input_buffer = _pages(phases[0] + plan.input.required_bytes)
    taken = _pages(phases[1] + plan.output.required_bytes)
    input_buffer[phases[0] : phases[0] + plan.input.required_bytes] = np.frombuffer(
        source or source_of(geometry), np.uint8
    )
    taken[phases[1] : phases[1] + plan.output.required_bytes] = prefill
    output = INPUT + input_buffer.size + PAGE
    packet = encode_plan(plan, plan.op).bind(INPUT + phases[0], output + phases[1])
    packet_page, record_page = _pages(len(packet.raw)), _pages(RECORD_BYTES)
    packet_page[: len(packet.raw)] = np.frombuffer(packet.raw, np.uint8)
    for address, array, writable in (
        (PACKET, packet_page, False),
        (RECORD, record_page, True),
        (INPUT, input_buffer, False),
        (output, taken, True),
    ):
        array.flags.writeable = writable
        unit.memory.map(address, array, writable=writable)
    return Rig(unit, plan, packet, taken, record_page, phases[1])


def launch(geometry: Geometry, changes: Mapping[str, Any] | None = None, **options: Any) -> Launched:
    """Build and run once; `workers` in `options` is the grid asked for."""
    workers = options.pop("workers", None)
    return build(geometry, changes, **options).run(workers)


def device_geometry(geometry: Geometry, phases: tuple[int, int] = (0, 0)) -> DeviceGeometry:
    """What the firmware knows of a packet bound at page-aligned addresses plus `phases`."""
    plan = plan_of(request_of(geometry))
    output = INPUT + PAGE * (2 + (phases[0] + plan.input.required_bytes) // PAGE)
    return DeviceGeometry.of(decode(encode_plan(plan, plan.op).bind(INPUT + phases[0], output + phases[1]).raw))


def source_of(geometry: Geometry) -> bytes:
    """Random bytes over the input's required span, the same every time."""
    return Random(name_of(geometry)).randbytes(input_bytes(geometry))


def random_phases(random: Random, plan: Plan) -> tuple[int, int]:
    """Address phases of both ports, each a multiple of its port's alignment, over two of the widest granules."""
    first, second = (
        random.randrange(256 // port.alignment_bytes) * port.alignment_bytes for port in (plan.input, plan.output)
    )
    return first, second


def _pages(nbytes: int) -> np.ndarray:
    return np.full(-(-nbytes // PAGE) * PAGE, GUARD, np.uint8)
