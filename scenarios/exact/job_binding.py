"""Job binding: the packets of jobs at the addresses that the jobs get, and the launches that the exact engine takes."""

from functools import lru_cache

import attrs

from tessbed.firmware_models.custom.outline import kernel_outline
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_outline import Outline
from tessbed.firmware_models.planning.launch_program import exact_program
from tessbed.firmware_models.planning.launch_summary import outline
from tessbed.kernels import Plan
from tessbed.kernels.custom.codec import CustomPacket, KernelCall, decode_call
from tessbed.kernels.custom.encode import encode_kernel
from tessbed.kernels.ev74.codec import Packet, decode
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.runtime.memory.device_addresses import SuccessiveJobs, device_heap
from tessbed.scenarios.model import AnyJob, KernelJob, ScenarioJob
from tessbed.sim.exact.engine import LaunchCount, count_launch
from tessbed.sim.spec.device_spec import DeviceSpec, MemorySpec


@attrs.frozen
class ExactLaunch:
    """A plan ready to be timed: its bound packet, and the outline of what a grid of `workers` does.

    `asked` is what the packet says: the geometry of an operation, or the call of a kernel of one's own.
    """

    packet: Packet | CustomPacket
    asked: PacketGeometry | KernelCall
    workers: int
    outline: Outline

    def count(self, spec: DeviceSpec, *, trace: bool = False) -> LaunchCount:
        """What is counted on a device of that spec, which must plan the same launch."""
        return count_launch(spec, exact_program(self.outline, spec), trace=trace)


@lru_cache(maxsize=64)
def _packet(plan: Plan) -> Packet:
    """The packet of a plan, kept for all devices that a study tries it on."""
    return encode_plan(plan)


@lru_cache(maxsize=64)
def _bound_packet(packet: Packet, source: int, target: int) -> tuple[Packet, PacketGeometry]:
    """A packet with its addresses, and the geometry that the firmware reads from its bytes."""
    bound = packet.bind(source, target)
    return bound, PacketGeometry.of(decode(bound.raw))


@attrs.frozen
class BoundJob:
    """A job, and its packet with the addresses that the job gets; `asked` as in ExactLaunch."""

    job: AnyJob
    packet: Packet | CustomPacket
    asked: PacketGeometry | KernelCall

    def launch(self, spec: DeviceSpec) -> ExactLaunch:
        """The launch on a device of that spec, whose storage lies where it was bound. Raises KernelFailure."""
        workers = spec.workers if self.job.workers is None else min(self.job.workers, spec.workers)
        if isinstance(self.asked, PacketGeometry):
            return ExactLaunch(self.packet, self.asked, workers, outline(self.asked, spec, workers))
        assert isinstance(self.job, KernelJob)
        planned = kernel_outline(self.job.planned.kernel, self.asked, spec, workers)
        return ExactLaunch(self.packet, self.asked, workers, planned)


@attrs.frozen
class JobBinder:
    """Binds the jobs of one device, one after the other.

    Buffers get the addresses that they would get, and are refused where they would be, by the rule of
    `runtime/memory/device_addresses.py`.
    """

    storage: SuccessiveJobs

    @classmethod
    def of(cls, memory: MemorySpec) -> "JobBinder":
        """That of a device with nothing in its memory."""
        return cls(SuccessiveJobs(device_heap([memory])))

    def bind(self, job: AnyJob) -> BoundJob:
        """The next job, which moves a byte, at its addresses. Raises HeapExhausted, NotRepresentable."""
        return self._kernel(job) if isinstance(job, KernelJob) else self._operation(job)

    def _operation(self, job: ScenarioJob) -> BoundJob:
        packet = _packet(job.plan)  # one that can not be takes no address
        sizes = [port.required_bytes for port in (job.plan.input, job.plan.output)]
        source, target, *_ = self.storage.addresses(sizes, packet=True)
        return BoundJob(job, *_bound_packet(packet, source, target))

    def _kernel(self, job: KernelJob) -> BoundJob:
        plan = job.planned
        offsets = [job.buffer(port.name).offset for port in plan.ports]
        sizes = [offset + port.required_bytes for offset, port in zip(offsets, plan.ports, strict=True)]
        addresses = self.storage.addresses(sizes, packet=True)
        bound = [address + offset for address, offset in zip(addresses, offsets, strict=False)]
        packet = encode_kernel(plan).bind(bound)
        return BoundJob(job, packet, decode_call(packet.raw))
