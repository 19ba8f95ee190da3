"""A firmware image: what it was built with, and its native entry.

The entry trusts nothing: it decodes and validates the packet once, refuses what the image lacks, probes both buffers,
and only then launches. It picks the kernel by operation and dtype, once per job, through a handle that is loaded at its
first use and cached apart for each dtype; never by a tensor's name or shape. Both dtypes run one body per direction,
with the scalar width as a constant of the geometry.
Source: Tess document, "Execution and ownership".
"""

from collections.abc import Generator
from typing import Any

import attrs
from simpy import Event

from tessbed.firmware_models.composition import Composition
from tessbed.firmware_models.custom.image_kernels import ImageKernels, refusal_of_call
from tessbed.firmware_models.custom.kernel_body import kernel_body, user_code
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.kernel_handles import WORK_ITEMS, KernelHandles, WorkDivision
from tessbed.firmware_models.refusals import refusal
from tessbed.firmware_models.worker_loop import BandProgram, body_of, program_of
from tessbed.kernels.custom.codec import is_custom
from tessbed.kernels.ev74.codec import PacketFault, decode
from tessbed.kernels.ev74.fields import TILE_FORMATS
from tessbed.kernels.ev74.rules import check_bound, check_rules, operation_of, tiled_dtype
from tessbed.sim.completion_record import Completion
from tessbed.sim.device.job import JobContext
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.memory import MemoryProbe


def band_program(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> BandProgram:
    """What a launch of `workers` does."""
    return program_of(WORK_ITEMS[geometry.packs](geometry, spec, workers), spec)


@attrs.define(eq=False)
class FirmwareImage:
    """One loaded image: what it was built with, the kernels of users that it holds, and the kernels loaded so far."""

    composition: Composition = attrs.Factory(Composition)
    custom: ImageKernels = attrs.field(factory=ImageKernels, kw_only=True)
    handles: KernelHandles = attrs.field(factory=KernelHandles, init=False)

    @classmethod
    def full(cls) -> "FirmwareImage":
        """An image with every operation, dtype and packet version."""
        return cls()

    def entry(self, job: JobContext) -> Generator[Event, Any, Completion]:
        """The native entry: from packet bytes to a Completion. Faults of the device itself pass through."""
        yield from job.wait(job.spec.decode_ticks, "decode")
        if is_custom(job.packet):
            return (yield from self._custom(job))
        try:
            geometry = self.admit(job.packet, job.memory)
        except PacketFault as fault:
            return refusal(fault)
        items = yield from self._kernel(job, geometry)
        yield from job.launch(body_of(program_of(items(geometry, job.spec, job.workers), job.spec)))
        return Completion(0)

    def _custom(self, job: JobContext) -> Generator[Event, Any, Completion]:
        """The entry for a packet that asks for a kernel of one's own."""
        try:
            kernel, call = self.custom.admit(job.packet, job.memory)
        except PacketFault as fault:
            return refusal_of_call(fault)
        yield from job.wait(self.handles.load_ticks(call, job.spec), "load")
        self.handles.note_loaded(call)
        yield from job.launch(kernel_body(kernel, call, job.spec, job.workers), user=user_code(call))
        return Completion(0)

    def admit(self, raw: bytes, memory: MemoryProbe) -> PacketGeometry:
        """The geometry of a valid, bound packet whose buffers can be accessed. Raises PacketFault."""
        values = decode(raw)
        op, version = operation_of(values), (values["version_major"], values["version_minor"])
        needs = (op.name, tiled_dtype(values).value, TILE_FORMATS[values["tile_format"]], version)
        self._check(*needs)
        check_rules(values)
        check_bound(values)
        geometry = PacketGeometry.of(values)
        self._check(*needs, geometry.conversion)
        if not memory.readable(geometry.input_address, geometry.input_bytes):
            raise PacketFault("unmapped", "input_address", f"got {geometry.input_address:#x}, which is not mapped")
        if not memory.readable(geometry.output_address, geometry.output_bytes):
            raise PacketFault("unmapped", "output_address", f"got {geometry.output_address:#x}, which is not mapped")
        if not memory.writable(geometry.output_address, geometry.output_bytes):
            raise PacketFault("read_only", "output_address", f"got {geometry.output_address:#x}, which is read-only")
        return geometry

    def _check(self, *needs: Any) -> None:
        """Raise PacketFault where the image lacks what a job needs."""
        lack = self.composition.lacking(*needs)
        if lack:
            raise PacketFault("capability", *lack)

    def _kernel(self, job: JobContext, geometry: PacketGeometry) -> Generator[Event, Any, WorkDivision]:
        """The kernel of the job's operation and dtype, loaded at first use."""
        yield from job.wait(self.handles.load_ticks(geometry, job.spec), "load")
        return self.handles.load(geometry)
