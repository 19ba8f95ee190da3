"""Kernel body: what the workers of a launch run for a kernel of one's own."""

from tessbed.firmware_models.custom.launches import launch_of
from tessbed.firmware_models.worker_loop import run_bands
from tessbed.kernels.custom.codec import KernelCall
from tessbed.kernels.custom.declaration import Kernel
from tessbed.sim.device.launch import Body
from tessbed.sim.spec.device_spec import DeviceSpec


def kernel_body(kernel: Kernel, call: KernelCall, spec: DeviceSpec, workers: int) -> Body:
    """The body of a launch of `workers`. Raises ValueError for a scratch that can not be divided as the kernel says."""
    launch = launch_of(kernel, call, spec, workers)
    addresses = tuple(port.address for port in call.ports)
    return lambda worker: run_bands(worker, launch.bands(worker.worker, addresses))
