"""Kernel runs: one kernel of one's own on a simulated EV74, from numpy arrays to numpy arrays, ticks and a verdict."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.custom.image_kernels import ImageKernels
from tessbed.firmware_models.image import FirmwareImage
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.kernel_plan import Form, KernelPlan, PortLayout, plan_kernel
from tessbed.kernels.custom.scalar_types import SCALARS, scalar_of
from tessbed.kernels.errors import ContractError
from tessbed.runtime.errors import JobFault
from tessbed.runtime.jobs.job import Job, JobResult
from tessbed.runtime.memory.buffers import Buffer, View
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios.custom.reference import KernelMismatch, expected_outputs, first_mismatch
from tessbed.sim.device.device import Device
from tessbed.sim.kernel_report import KernelReport
from tessbed.sim.spec.device_spec import DeviceSpec

ALIGNMENT_BYTES = 64


@attrs.frozen
class KernelRun:
    """What a kernel made of its inputs: `outputs` by port, and how the job went.

    `judged` says whether there was a reference, `mismatch` the first scalar that differs from it.
    """

    plan: KernelPlan
    outputs: dict[str, np.ndarray]
    result: JobResult
    job: Job
    judged: bool
    mismatch: KernelMismatch | None


class KernelFault(JobFault):
    """A kernel that failed on the device: its exception, or a hazard; the text has the source lines.

    `report` has each error and finding as values.
    """

    def __init__(self, fault: JobFault, report: KernelReport) -> None:
        super().__init__(fault.job, fault.status, fault.field, fault.detail)
        self.report = report

    def __str__(self) -> str:
        return "\n".join([f"{self.job} ends in {self.status}", *self.report.lines()])


def plan_for_arrays(
    kernel: Kernel, arrays: Mapping[str, np.ndarray], arguments: Mapping[str, Any] | None = None
) -> KernelPlan:
    """The plan of a kernel for these arrays by port; ports without one get the shape that the kernel declares.

    Raises ContractError.
    """
    return plan_kernel(kernel, arguments, {name: array_form(name, array) for name, array in arrays.items()})


def array_form(name: str, array: np.ndarray) -> Form:
    """Scalar type and shape of an array for a port. Raises ContractError for a type that no port has."""
    if not isinstance(array, np.ndarray):
        raise ContractError("array", f"port {name}", f"got {type(array).__name__}, wanted a numpy array")
    scalar = scalar_of(array.dtype)
    if scalar is None:
        wanted = ", ".join(SCALARS)
        raise ContractError("dtype", f"port {name}", f"got the dtype {array.dtype}, wanted one of {wanted}")
    return scalar.name, tuple(array.shape)


def run_kernel(
    kernel: Kernel,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray] | None = None,
    *,
    arguments: Mapping[str, Any] | None = None,
    spec: DeviceSpec | None = None,
    workers: int | None = None,
    seed: int = 0,
    trace: bool = False,
) -> KernelRun:
    """Run a kernel once, on a fresh device: numpy arrays in and out, by port.

    Arrays of `outputs` say what the outputs hold before, and are filled. Raises ContractError, BindingError, JobFault
    and what else `Runtime.run` raises.
    """
    plan = plan_for_arrays(kernel, {**inputs, **(outputs or {})}, arguments)
    image = FirmwareImage(custom=ImageKernels.of([kernel]))
    with Runtime(Device(spec or DeviceSpec(), image, seed=seed, trace=trace)) as runtime:
        return run_on(runtime, plan, inputs, outputs, workers=workers)


def run_on(
    runtime: Runtime,
    plan: KernelPlan,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray] | None = None,
    *,
    workers: int | None = None,
    name: str = "",
    offsets: Mapping[str, int] | None = None,
) -> KernelRun:
    """Run a plan on a runtime that is there already, whose image holds the kernel (`image.custom.hold(kernel)`).

    Every input needs an array. `offsets` are bytes from a page's start at which a port's storage begins. Raises
    ContractError, and what `Runtime.run` raises.
    """
    for port in plan.inputs:
        if port.name not in inputs:
            raise ContractError("array", f"port {port.name}", f"got no array, wanted {port.scalar}{list(port.shape)}")
    with ExitStack() as stack:
        views = {port.name: _storage(runtime, port, stack, (offsets or {}).get(port.name, 0)) for port in plan.ports}
        for port in plan.ports:
            given = inputs.get(port.name) if not port.written else (outputs or {}).get(port.name)
            if given is not None:
                views[port.name].host[:] = np.ascontiguousarray(given).reshape(-1).view(np.uint8)
        sources, targets = ([views[port.name] for port in ports] for ports in (plan.inputs, plan.outputs))
        job = runtime.submit(plan, sources, targets, workers=workers, name=name or plan.name)
        try:
            result = runtime.wait(job)
        except JobFault as error:
            raise _explained(error, job) from None
        made = {port.name: array_of(port, views[port.name].host).copy() for port in plan.outputs}
    for port, array in (outputs or {}).items():
        array[...] = made[port].view(array.dtype)
    expected = expected_outputs(plan, [inputs[port.name] for port in plan.inputs])
    mismatch = None if expected is None else first_mismatch(plan, list(made.values()), expected)
    return KernelRun(plan, made, result, job, expected is not None, mismatch)


def _explained(error: JobFault, job: Job) -> JobFault:
    """The error with what the device found out about the kernel, where it did."""
    report = job.stats.kernel if job.stats else None
    return KernelFault(error, report) if report and (report.errors or report.findings) else error


def _storage(runtime: Runtime, port: PortLayout, stack: ExitStack, offset: int) -> View:
    """Storage of a port on the device, which may only read an input."""
    buffer: Buffer = stack.enter_context(
        runtime.allocate(offset + port.required_bytes, name=port.name, alignment=ALIGNMENT_BYTES, writable=port.written)
    )
    return buffer.view(offset, port.required_bytes)


def array_of(port: PortLayout, raw: Sequence[int] | np.ndarray) -> np.ndarray:
    """The bytes of a port as its array, in place."""
    return np.asarray(raw).view(port.type.dtype).reshape(port.shape)
