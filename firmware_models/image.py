"""A firmware image: which operations, dtypes and packet versions it holds, and its native entry.

The entry trusts nothing: it decodes and validates the packet once, refuses what the image lacks, probes both buffers,
and only then launches. It picks the kernel by operation and dtype, once per job, through a handle that is loaded at its
first use and cached apart for each dtype; never by a tensor's name or shape. Both dtypes run one body per direction,
with the scalar width as a constant of the geometry.
Source: Tess document, "Execution and ownership".
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any

import attrs
from simpy import Event

from tessbed.firmware_models import detess, detesscast, faults, tess
from tessbed.firmware_models.bands import Program, Sites, body_of, program_of
from tessbed.firmware_models.geometry import Geometry
from tessbed.kernels.ev74.fields import DTYPES, OPS, VERSION_MAJOR, VERSION_MINOR
from tessbed.kernels.ev74.packet import PacketFault, decode
from tessbed.kernels.ev74.rules import check_bound, check_rules
from tessbed.sim.completion import Completion
from tessbed.sim.job import JobContext, MemoryProbe
from tessbed.sim.spec import DeviceSpec

Kernel = Callable[[Geometry, DeviceSpec, int], Sites]
SITES: Mapping[str, Kernel] = {
    "tess": tess.sites,
    "detess": detess.sites,
    "detesscast": detesscast.sites,
}


def program(geometry: Geometry, spec: DeviceSpec, workers: int) -> Program:
    """What a launch of `workers` does."""
    return program_of(SITES[geometry.op](geometry, spec, workers))


@attrs.frozen
class Composition:
    """What an image was built with: operations, dtypes of the tiled port, packet versions (major, minor)."""

    ops: tuple[str, ...] = tuple(OPS.values())
    dtypes: tuple[str, ...] = ("int8", "bf16")
    packet_versions: tuple[tuple[int, int], ...] = ((VERSION_MAJOR, VERSION_MINOR),)

    def lacks(self, op: str, dtype: str, version: tuple[int, int]) -> str | None:
        """What a job needs that the image does not hold, naming both sides; None if it holds all."""
        lack = self.lacking(op, dtype, version)
        return lack[1] if lack else None

    def lacking(self, op: str, dtype: str, version: tuple[int, int]) -> tuple[str, str] | None:
        """The packet field that asks for what the image does not hold, and the words of `lacks`."""
        for field, kind, wanted, held in (
            ("op", "operation", op, self.ops),
            ("tiled_dtype", "dtype", dtype, self.dtypes),
            ("version_major", "packet version", version, self.packet_versions),
        ):
            if wanted not in held:
                holds = ", ".join(map(_word, held)) or "none"
                return field, f"{kind}: the job needs {_word(wanted)}, the image holds {holds}"
        return None


def _word(value: str | tuple[int, int]) -> str:
    return value if isinstance(value, str) else ".".join(map(str, value))


@attrs.define(eq=False)
class FirmwareImage:
    """One loaded image. `handles` are the kernels loaded so far, by operation and dtype."""

    composition: Composition = attrs.Factory(Composition)
    handles: dict[tuple[str, str], Kernel] = attrs.field(factory=dict, init=False)

    @classmethod
    def full(cls) -> "FirmwareImage":
        """An image with every operation, dtype and packet version."""
        return cls()

    def entry(self, job: JobContext) -> Generator[Event, Any, Completion]:
        """The native entry: from packet bytes to a Completion. Faults of the device itself pass through."""
        yield from job.wait(job.spec.decode_ticks, "decode")
        try:
            geometry = self.admit(job.packet, job.memory)
        except PacketFault as fault:
            return faults.refusal(fault)
        sites = yield from self._kernel(job, geometry)
        yield from job.launch(body_of(program_of(sites(geometry, job.spec, job.workers))))
        return Completion(0)

    def admit(self, raw: bytes, memory: MemoryProbe) -> Geometry:
        """The geometry of a valid, bound packet whose buffers can be accessed. Raises PacketFault."""
        values = decode(raw)
        version = values["version_major"], values["version_minor"]
        lack = self.composition.lacking(OPS[values["op"]], DTYPES[values["tiled_dtype"]], version)
        if lack:
            raise PacketFault("capability", *lack)
        check_rules(values)
        check_bound(values)
        geometry = Geometry.of(values)
        if not memory.readable(geometry.input_address, geometry.input_bytes):
            raise PacketFault("unmapped", "input_address", f"got {geometry.input_address:#x}, which is not mapped")
        if not memory.readable(geometry.output_address, geometry.output_bytes):
            raise PacketFault("unmapped", "output_address", f"got {geometry.output_address:#x}, which is not mapped")
        if not memory.writable(geometry.output_address, geometry.output_bytes):
            raise PacketFault("read_only", "output_address", f"got {geometry.output_address:#x}, which is read-only")
        return geometry

    def _kernel(self, job: JobContext, geometry: Geometry) -> Generator[Event, Any, Kernel]:
        """The kernel handle for the job's operation and dtype, loaded at first use."""
        key = geometry.op, geometry.tiled_dtype
        if key not in self.handles:
            yield from job.wait(job.spec.kernel_load_ticks, "load")
            self.handles[key] = SITES[geometry.op]
        return self.handles[key]
