"""Kernel work: a kernel of one's own and its call, for whoever studies its bands."""

from collections.abc import Iterator

import attrs

from tessbed.firmware_models.custom.launches import MovedBand, launch_of
from tessbed.kernels.custom.codec import KernelCall, decode_call
from tessbed.kernels.custom.declaration import Kernel
from tessbed.sim.spec.device_spec import DeviceSpec


@attrs.frozen
class KernelWork:
    """A kernel, and what a packet asks of it."""

    kernel: Kernel
    call: KernelCall

    @classmethod
    def of(cls, kernel: Kernel, packet: bytes) -> "KernelWork":
        """The work of a bound packet."""
        return cls(kernel, decode_call(packet))

    def bands(self, spec: DeviceSpec, workers: int, worker: int) -> Iterator[MovedBand]:
        """The bands of a worker, where its ports are."""
        addresses = tuple(port.address for port in self.call.ports)
        return launch_of(self.kernel, self.call, spec, workers).bands(worker, addresses)
