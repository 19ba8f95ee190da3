"""Kernel body: what the workers of a launch run for a kernel of one's own, on either engine that moves bytes.

At level "bands" the waits are those of the worker loop: gathers retire before their bytes are read, a slot is free
before anything is packed into it, a drain that shares a granule with one in flight waits for it. At level "body" the
kernel's own generator runs, on a `BodyWorker`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tessbed.firmware_models.custom.body_worker import BodyWorker
from tessbed.firmware_models.custom.launch_view import LaunchView
from tessbed.firmware_models.custom.launches import EndlessKernel, ForeignYield, KernelLaunch, MovedBand, launch_of
from tessbed.firmware_models.custom.region import ports_of
from tessbed.firmware_models.custom.step_limit import most_steps_of
from tessbed.firmware_models.vector_ops import Packer
from tessbed.firmware_models.worker_loop import in_order, wait_groups
from tessbed.kernels.custom.codec import KernelCall
from tessbed.kernels.custom.declaration import Kernel
from tessbed.sim.errors import DeviceFault, HazardError
from tessbed.sim.source_line import line_of
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.user_code.errors import KernelMisuse
from tessbed.sim.user_code.guarded_worker import GuardedWorker
from tessbed.sim.user_code.user_code import UserCode

KernelBody = Callable[[Any], Any]
"""Takes a GuardedWorker, returns its steps."""


def kernel_body(kernel: Kernel, call: KernelCall, spec: DeviceSpec, workers: int) -> KernelBody:
    """The body of a launch of `workers`, for a launch that is guarded as a user's."""
    if kernel.level == "body":
        return lambda guard: _own_body(kernel, call, guard)
    addresses = tuple(port.address for port in call.ports)
    return lambda guard: _bands_of(guard, launch_of(kernel, call, spec, workers), addresses)


def user_code(call: KernelCall) -> UserCode:
    """The guard of a launch: what ends it where it has no end of its own."""
    return UserCode(call.name, most_steps=most_steps_of(call))


def _own_body(kernel: Kernel, call: KernelCall, guard: GuardedWorker) -> Iterator[Any]:
    """The kernel's own generator."""
    view = LaunchView.of(kernel, call, guard.spec, guard.workers)
    ports = ports_of(call, [port.name for port in kernel.ports], [port.address for port in call.ports])
    values = dict(zip([argument.name for argument in kernel.arguments], call.arguments, strict=True))
    return kernel.function(BodyWorker(guard, view), *ports, **values)


def _bands_of(guard: GuardedWorker, launch: KernelLaunch, addresses: tuple[int, ...]) -> Iterator[Any]:
    """Run a worker's bands. A band's slot is its number modulo the slots."""
    spec = guard.spec
    try:
        bands = launch.bands(guard.worker, addresses, guard.next_of)
        for number, (band, ordered) in enumerate(in_order(bands, spec)):
            yield from _band(guard, band, number % spec.slots, ordered)
    except ForeignYield as error:
        raise _broken(guard, "foreign_event", error) from None
    except EndlessKernel as error:
        raise _broken(guard, "endless_loop", error) from None
    except HazardError as error:
        raise KernelMisuse(str(error)) from None
    yield from guard.wait_drains()


def _band(guard: GuardedWorker, band: MovedBand, slot: int, ordered: bool) -> Iterator[Any]:
    planned = band.planned
    for group in wait_groups(band, guard.spec):
        yield from guard.gathered(planned.line, group, oversized=band.oversized)
        guard.count("wait_groups")
    packer = Packer(guard.scratch, [planned.step])
    packed = guard.packed(
        planned.line, slot, planned.ticks, packer, band.chain, ordered=ordered, captured=planned.captured
    )
    yield from packed
    if guard.failure is not None:
        raise guard.failure
    guard.count("bands")
    if ordered:
        guard.count("ordered_drains")
    if band.oversized:
        guard.count("oversized_pitch_reads", len(band.reads))
    for name, count in planned.counts.items():
        if count:
            guard.count(name, count)


def _broken(guard: GuardedWorker, kind: str, error: ForeignYield | EndlessKernel) -> DeviceFault:
    line = line_of(error.generator)
    return guard.broken(kind, str(error), (line,) if line else ())
