"""The work that every engine is given: what each worker of a launch gathers, computes and drains, and on which memory.

Bands come ready made, so that an engine's time is its own and not the planning's.
"""

from collections.abc import Callable, Iterator

import attrs
import numpy as np

from tessbed.firmware_models import image
from tessbed.firmware_models.band import Band, DrainFootprint
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.vector_ops import VectorMove
from tessbed.kernels import Plan
from tessbed.kernels.ev74.codec import decode
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.scenarios import library
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.descriptor import Descriptor

Memory = list[tuple[int, np.ndarray]]
"""Addresses, and arrays of whole pages at them."""
INPUT = DeviceSpec().memory.window_base + PAGE_BYTES


@attrs.frozen(eq=False)
class Work:
    """`programs[w]` are worker w's bands; `fresh` makes the memory that they use, and that nothing else does."""

    name: str
    spec: DeviceSpec
    programs: list[list[Band]]
    fresh: Callable[[], Memory]

    @property
    def bands(self) -> int:
        """Tile jobs: bands of all workers."""
        return sum(map(len, self.programs))

    @property
    def transfers(self) -> int:
        """Reads and drain chains of all workers."""
        return sum(len(band.reads) + 1 for program in self.programs for band in program)


def uniform(bands: int, reads: int = 8) -> Work:
    """4 workers with `bands` bands each: `reads` reads of 8 rows of 128 bytes, one full-granule drain of them all."""
    spec = override(DeviceSpec(), {"workers": 4, "cores": 4})
    band_bytes = 1024 * reads
    size = 4 * bands * band_bytes
    output = INPUT + size + PAGE_BYTES

    def band(number: int, slot: int) -> Band:
        at = number * band_bytes
        gathers = [Descriptor(INPUT + at + 1024 * i, 1024 * i, 8, 128, 128, 128) for i in range(reads)]
        drain = [Descriptor(output + at, slot, 1, band_bytes, 0, 0)]
        step = VectorMove((band_bytes,), 0, (1,), slot, (1,), (0,), (0,), "copy")
        return Band(gathers, [step], 400, drain, DrainFootprint(output + at, output + at + band_bytes, 0, band_bytes))

    programs = [[band(w * bands + k, band_bytes * (1 + k % 2)) for k in range(bands)] for w in range(4)]
    return Work(
        f"W=4, {reads} reads + 1 drain a band", spec, programs, lambda: [(INPUT, _ramp(size)), (output, _zeros(size))]
    )


def single_rows(rows: int) -> Work:
    """4 workers write `rows` one-row descriptors in chains of 64, each row with partial granules on both ends."""
    spec = override(DeviceSpec(), {"workers": 4, "cores": 4})
    chains, pitch, row_bytes = rows // 256, 256, 100
    output = INPUT + 64 * PAGE_BYTES

    def band(number: int, slot: int) -> Band:
        at = output + number * 64 * pitch + 20
        drain = [Descriptor(at + i * pitch, slot + i * row_bytes, 1, row_bytes, 0, 0) for i in range(64)]
        gather = [Descriptor(INPUT, 0, 1, 64 * row_bytes, 0, 0)]
        step = VectorMove((64 * row_bytes,), 0, (1,), slot, (1,), (0,), (0,), "copy")
        return Band(gather, [step], 400, drain, DrainFootprint(at, at + 63 * pitch + row_bytes, 0, 64 * pitch))

    programs = [[band(w * chains + k, 8192 * (1 + k % 2)) for k in range(chains)] for w in range(4)]
    return Work(
        f"{rows} one-row writes with RMW in chains of 64",
        spec,
        programs,
        lambda: [(INPUT, _ramp(64 * PAGE_BYTES)), (output, _zeros(rows * pitch))],
    )


def catalogue(names: tuple[str, ...]) -> Iterator[Work]:
    """Every EV74 job of the named scenarios, planned by the firmware as on the device."""
    for name in names:
        scenario = library.load(name)
        for job in scenario.jobs:
            if "ev74" in job.backends and not job.plan.empty:
                yield planned(f"{name}: {job.name}", job.plan, scenario.device)


def planned(name: str, plan: Plan, spec: DeviceSpec) -> Work:
    """The bands that the firmware makes of a plan whose buffers begin on pages."""
    sizes = [-(-port.required_bytes // PAGE_BYTES) * PAGE_BYTES for port in (plan.input, plan.output)]
    output = INPUT + sizes[0] + PAGE_BYTES
    geometry = PacketGeometry.of(decode(encode_plan(plan, plan.op).bind(INPUT, output).raw))
    program = image.band_program(geometry, spec, spec.workers)
    programs = [list(program(worker)) for worker in range(spec.workers)]
    return Work(name, spec, programs, lambda: [(INPUT, _ramp(sizes[0])), (output, _zeros(sizes[1]))])


def _ramp(size: int) -> np.ndarray:
    return (np.arange(size, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(24)).astype(np.uint8)


def _zeros(size: int) -> np.ndarray:
    return np.zeros(size, np.uint8)
