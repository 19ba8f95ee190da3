"""Backends: one admitted plan on the A65 or on a simulated EV74, from input bytes to output bytes and ticks."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tessbed.firmware_models.composition import Composition
from tessbed.firmware_models.custom.image_kernels import ImageKernels
from tessbed.firmware_models.image import FirmwareImage
from tessbed.kernels import Plan
from tessbed.kernels.a65 import prepared as a65
from tessbed.kernels.a65.cost.model import a65_cost
from tessbed.kernels.a65.row_path import RowPath
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.kernel_plan import KernelPlan
from tessbed.runtime.jobs.job import Job, JobResult
from tessbed.runtime.memory.buffers import Buffer, View
from tessbed.runtime.memory.coherency import Access, Policy
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios.model import FirmwareChoice, KernelJob
from tessbed.sim.device.device import Device
from tessbed.sim.fault_injection import FaultPlan, no_faults
from tessbed.sim.spec.device_spec import DeviceSpec

ALIGNMENT_BYTES = 64

Bytes = NDArray[np.uint8]


@attrs.frozen
class BackendRun:
    """What a backend made of a plan. `output` is the required span; ticks are modelled on A65, the device's on EV74.

    `path` is the A65's row path and `band` its ticks at the ends of the band, by core; `result` and `job` are EV74's
    (None on the other backend).
    """

    output: Bytes
    ticks: int
    path: RowPath | None = None
    band: Mapping[str, int] | None = None
    result: JobResult | None = None
    job: Job | None = None


def check_room(name: str, plan: Plan | KernelPlan) -> None:
    """Raise MemoryError for a job that this machine can not hold: asking would end the process, not the allocation."""
    ports = plan.ports if isinstance(plan, KernelPlan) else (plan.input, plan.output)
    needed = sum(port.required_bytes for port in ports)
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else needed
    if needed > there:
        raise MemoryError(f"job {name!r} needs {needed:,} bytes, this machine has {there:,}")


def storage(nbytes: int, prefill: int = 0) -> Bytes:
    """Aligned host storage of exactly `nbytes`, full of `prefill`."""
    raw = np.empty(nbytes + ALIGNMENT_BYTES, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT_BYTES
    aligned = raw[start : start + nbytes]
    aligned.fill(prefill)
    return aligned


def run_a65(plan: Plan, source: Bytes, prefill: int) -> BackendRun:
    """Execute on the A65: for real, on this machine, in fresh output storage. `source` is the input's required span."""
    prepared = a65.prepare(plan)
    output = storage(plan.output.required_bytes, prefill)
    a65.execute(prepared, [_view(source)], [_view(output)])
    cost = a65_cost(prepared.plan, prepared.path)
    return BackendRun(output, cost.ticks, path=prepared.path, band=cost.band)


def _view(storage: Bytes) -> Bytes | None:
    return storage if storage.size else None


def image(choice: FirmwareChoice, kernels: Iterable[Kernel] = ()) -> FirmwareImage:
    """The firmware image that holds what `choice` names, and these kernels of one's own."""
    held: dict[str, Any] = {
        name: names for name in ("ops", "dtypes", "holds") if (names := getattr(choice, name)) is not None
    }
    if choice.packet_versions is not None:
        held["packet_versions"] = tuple(tuple(map(int, version.split("."))) for version in choice.packet_versions)
    return FirmwareImage(Composition(**held), custom=ImageKernels.of(kernels))


def ev74(
    spec: DeviceSpec,
    *,
    firmware: FirmwareImage | None = None,
    seed: int = 0,
    trace: bool = False,
    faults: FaultPlan = no_faults,
) -> Runtime:
    """A runtime on a fresh device. `seed` only moves data inside the intervals that `data_movement` allows."""
    return Runtime(Device(spec, firmware or FirmwareImage.full(), seed=seed, trace=trace, faults=faults))


def submit(
    runtime: Runtime,
    plan: Plan,
    source: Buffer,
    target: Buffer,
    *,
    workers: int | None = None,
    timeout_ticks: int | None = None,
    name: str = "",
) -> Job:
    """One job on a runtime that is there already. Raises what `Runtime.submit` raises."""
    buffers = ([None], [None]) if plan.empty else ([source], [target])
    return runtime.submit(plan, *buffers, workers=workers, timeout_ticks=timeout_ticks, name=name)


def kernel_views(runtime: Runtime, job: KernelJob, stack: ExitStack) -> dict[str, View]:
    """Storage for every port of a kernel's job, full of its prefill; the device may only read inputs."""
    views = {}
    for port in job.planned.ports:
        said = job.buffer(port.name)
        buffer = runtime.allocate(
            said.offset + port.required_bytes, name=port.name, prefill=said.prefill, writable=port.written
        )
        views[port.name] = stack.enter_context(buffer).view(said.offset, port.required_bytes)
    return views


def run_result(job: Job, output: Bytes) -> BackendRun:
    """The result of a job that has been waited for, in vain or not."""
    result = job.result()
    return BackendRun(output, result.device_ticks, result=result, job=job)


def input_buffer(runtime: Runtime, plan: Plan, policy: Policy = Policy.UNCACHED) -> Buffer:
    """Storage for a plan's input, which the device may only read."""
    port = plan.input
    return runtime.allocate(
        port.required_bytes, name="input", alignment=port.alignment_bytes, writable=False, policy=policy
    )


def output_buffer(runtime: Runtime, plan: Plan, prefill: int, policy: Policy = Policy.UNCACHED) -> Buffer:
    """Storage for a plan's output, full of `prefill`."""
    port = plan.output
    return runtime.allocate(
        port.required_bytes, name="output", alignment=port.alignment_bytes, prefill=prefill, policy=policy
    )


def fill_buffer(buffer: Buffer, fill: Callable[[Bytes], None]) -> None:
    """Have the CPU write all of a buffer, and clean its cache behind that where it goes through one."""
    with buffer.cpu.access(Access.WRITE) as cpu:
        fill(cpu.modify())


def cpu_bytes(buffer: Buffer) -> Bytes:
    """What the CPU sees in a buffer that no job writes: in DRAM, or in its cache, which was invalidated before."""
    with buffer.cpu.access(Access.READ) as cpu:
        return cpu.read()
