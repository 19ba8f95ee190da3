"""Bench: a kernel on bare device memory, with ticks or in any order; every byte around its outputs is looked at.

Each port has pages of its own, inputs read-only, at the phase that the case says. What no output holds must stay as it
was: the bytes before and behind an output are compared, too.
"""

from collections.abc import Generator, Mapping
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.custom.image_kernels import ImageKernels
from tessbed.firmware_models.custom.kernel_body import kernel_body
from tessbed.kernels.custom.encode import encode_kernel
from tessbed.kernels.custom.kernel_plan import KernelPlan, PortLayout
from tessbed.kernels.ev74.codec import PacketFault
from tessbed.scenarios.backends import Bytes
from tessbed.scenarios.custom.reference import expected_outputs
from tessbed.scenarios.verification.explore import schedules
from tessbed.scenarios.verification.kernel_check.wrong_bytes import PREFILL, OutputPages, WrongBytes, first_wrong_scalar
from tessbed.sim.checkers.hazards import Checker, JobCheck
from tessbed.sim.completion_record import RECORD_BYTES, Completion
from tessbed.sim.device.device import Device, Submission
from tessbed.sim.device.job import JobContext
from tessbed.sim.errors import DeviceFault, HangError
from tessbed.sim.interleavings.untimed_engine import Choose, UntimedEngine, UntimedJob
from tessbed.sim.kernel_report import KernelReport
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.memory import DeviceMemory, MemoryProbe
from tessbed.sim.user_code.user_code import UserCode

LOOP_SECONDS = 5.0
MOST_STEPS = 100_000


@attrs.frozen
class CheckCase:
    """A kernel with sizes, on a device: `size` names the sizes, `phase` is where in a granule the outputs begin."""

    size: str
    plan: KernelPlan
    spec: DeviceSpec
    workers: int
    phase: int

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.plan.arguments)
        shapes = given or ", ".join(f"{port.name} {list(port.shape)}" for port in self.plan.ports)
        at = (
            f"outputs {self.phase} byte{'s' * (self.phase != 1)} into a granule"
            if self.phase
            else "outputs at a granule"
        )
        grid = f"{self.workers} worker{'s' * (self.workers != 1)}"
        device = f"{grid}, granule {self.spec.write_granule_bytes}, {self.spec.slots} slots"
        return f"{shapes}; {device}, {self.spec.data_movement}; {at}"


@attrs.frozen(eq=False)
class CaseRun:
    """What one run of a case showed. `ticks` is None without time, and where the kernel did not come to its end."""

    report: KernelReport
    wrong: WrongBytes | None
    ticks: int | None
    outputs: tuple[Bytes, ...]
    check: JobCheck
    counts: Mapping[str, int]
    hang: str | None = None
    refusal: str | None = None

    @property
    def fine(self) -> bool:
        """Nothing objects."""
        return not (self.report.findings or self.report.errors or self.wrong or self.hang or self.refusal)


@attrs.define(eq=False)
class CheckFirmware:
    """Firmware that runs one kernel, as `code` says. `check` is the watch over the last job, `fault` its refusal."""

    image: ImageKernels
    code: UserCode
    check: JobCheck | None = attrs.field(default=None, init=False)
    refusal: str | None = attrs.field(default=None, init=False)

    def entry(self, job: JobContext) -> Generator[Any, Any, Completion]:
        """Run the kernel that the packet asks for."""
        yield from job.wait(job.spec.decode_ticks, "decode")
        try:
            kernel, call = self.image.admit(job.packet, job.memory)
            body = kernel_body(kernel, call, job.spec, job.workers)
        except (PacketFault, ValueError) as fault:
            self.refusal = str(fault)
            return Completion(1)
        self.check = job.check
        yield from job.launch(body, user=self.code)
        return Completion(0)


@attrs.define(eq=False)
class KernelBench:
    """A case with its buffers in memory, to be run again and again. `expected` is None where nothing judges."""

    case: CheckCase
    inputs: Mapping[str, np.ndarray]
    expected: list[np.ndarray] | None
    addresses: dict[str, int] = attrs.field(factory=dict, init=False)
    _pages: dict[str, Bytes] = attrs.field(factory=dict, init=False)
    _packet: Bytes = attrs.field(init=False)
    _packet_bytes: int = attrs.field(init=False)
    _record: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        case, at = self.case, self.case.spec.memory.first_address
        for port in case.plan.ports:
            phase = _phase(port, case.phase)
            pages = np.full(-(-(phase + port.required_bytes) // PAGE_BYTES) * PAGE_BYTES, PREFILL, np.uint8)
            if not port.written:
                given = np.ascontiguousarray(self.inputs[port.name]).reshape(-1).view(np.uint8)
                pages[phase : phase + port.required_bytes] = given
            self._pages[port.name], self.addresses[port.name] = pages, at + phase
            at += pages.size + PAGE_BYTES
        raw = encode_kernel(case.plan).bind([self.addresses[port.name] for port in case.plan.ports]).raw
        self._packet = np.zeros(-(-(len(raw) + RECORD_BYTES) // PAGE_BYTES) * PAGE_BYTES, np.uint8)
        self._packet[: len(raw)] = np.frombuffer(raw, np.uint8)
        self._packet_bytes, self._record = len(raw), at

    @property
    def raw(self) -> bytes:
        """The bound packet."""
        return self._packet[: self._packet_bytes].tobytes()

    def run(self, code: UserCode | None = None) -> CaseRun:
        """Run the case with ticks."""
        firmware = self._firmware(code)
        device = Device(self.case.spec, firmware, checker=Checker("report", keeps=True))
        self._map(device.memory)
        at, record = self._record, self._record + self._packet.size - RECORD_BYTES
        hang, ticks, ended, counts = None, None, False, {}
        try:
            stats = device.run(device.submit(Submission(at, self._packet_bytes, record, 1, self.case.workers)))
            ended, counts = stats.completion.status == 0, stats.counts
            ticks = stats.device_ticks if ended else None
        except HangError as error:
            hang = "; ".join(error.causes) or str(error)
        return attrs.evolve(self._judged(firmware, ticks, hang, ended), counts=counts)

    def run_order(self, choose: Choose, code: UserCode | None = None, *, recording: bool = False) -> Any:
        """Run the case in the order that `choose` makes of it: what it showed, and the engine that ran it."""
        firmware, memory = self._firmware(code), DeviceMemory(self.case.spec.memory)
        self._map(memory)
        check = Checker("report", keeps=True).job(self, 0, self.case.spec.write_unit_bytes)
        engine = UntimedEngine(self.case.spec, memory, choose, check, recording)
        job: Any = UntimedJob(self.raw, self.case.workers, self.case.spec, MemoryProbe(memory), engine)
        ended = True
        try:
            for _ in firmware.entry(job):
                pass
        except DeviceFault:
            ended = False
            check.end(0)
        return self._judged(firmware, None, None, ended), engine

    def plain_order(self) -> Any:
        """Run the case in its plainest order."""
        return self.run_order(schedules.first)

    def _firmware(self, code: UserCode | None) -> CheckFirmware:
        kernel = self.case.plan.kernel
        known = code or UserCode(kernel.name, most_steps=MOST_STEPS, loop_seconds=LOOP_SECONDS)
        return CheckFirmware(ImageKernels.of([kernel]), known)

    def _map(self, memory: DeviceMemory) -> None:
        for port in self.case.plan.ports:
            pages = self._pages[port.name]
            if port.written:
                pages[:] = PREFILL
            address = self.addresses[port.name]
            memory.map(address - address % PAGE_BYTES, pages, writable=port.written, name=port.name)
        memory.map(self._record, self._packet, name="packet")

    def _judged(self, firmware: CheckFirmware, ticks: int | None, hang: str | None, ended: bool) -> CaseRun:
        """`ended` says that the kernel came to its own end, and so that its bytes are to be judged."""
        check = firmware.check
        found = check.report() if check else None
        report = found or KernelReport(self.case.plan.name, (), ())
        plan = self.case.plan
        pages = [self._output(port) for port in plan.outputs]
        wrong = first_wrong_scalar(plan, pages, self.expected, check) if ended and check else None
        held = tuple(output.held for output in pages)
        watch = check or Checker().job(self, 0, 1)
        return CaseRun(report, wrong, ticks, held, watch, {}, hang, firmware.refusal)

    def _output(self, port: PortLayout) -> OutputPages:
        """A copy of what an output and its surroundings hold now."""
        address = self.addresses[port.name]
        pages, phase = self._pages[port.name].copy(), address % PAGE_BYTES
        end = phase + port.required_bytes
        return OutputPages(port, address, pages[phase:end], pages[:phase], pages[end:])

    def where(self, space: str, low: int, high: int) -> str:
        """Bytes by port: `dst[128:192]` counts bytes from the port's start."""
        if space == "memory":
            for port in self.case.plan.ports:
                start = self.addresses[port.name]
                if start <= low < start + port.required_bytes:
                    return f"{port.name} bytes {low - start:,} to {high - 1 - start:,}"
            return f"memory {low:#x} to {high - 1:#x}"
        return f"scratch {low:,} to {high - 1:,}" if high > low else space


def _phase(port: PortLayout, phase: int) -> int:
    """Where in its first page a port begins: outputs all at one phase, inputs at another."""
    at = phase if port.written else phase * 3
    return at // port.alignment_bytes * port.alignment_bytes % PAGE_BYTES


def bench_of(case: CheckCase, inputs: Mapping[str, np.ndarray]) -> KernelBench:
    """A bench that judges by the kernel's reference. Raises ContractError for a reference that fails."""
    return KernelBench(case, inputs, expected_outputs(case.plan, [inputs[port.name] for port in case.plan.inputs]))
