"""The rig: one device, one data mapping, and firmware that only launches a given body."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

import attrs
import numpy as np

from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.completion_record import RECORD_BYTES, Completion, Record, decode_record
from tessbed.sim.device.device import Device, Submission
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.stats import JobStats
from tessbed.sim.transfer.descriptor import Descriptor

BASE = DeviceSpec().memory.window_base
DATA = BASE + 0x10000
PAGE = 4096
OUT = 0x4000  # where in the data bodies put their output

# One worker whose read of 256 bytes costs (s3 m4 c4 l5) and drain of 128 bytes (s3 m2 c2 l4), issue 2.
HAND = {
    "workers": 1,
    "dma": {"issue_ticks": 2, "setup_ticks": 3, "bytes_per_tick": 64},
    "memory": {"read_latency_ticks": 5, "write_latency_ticks": 4},
}


@attrs.frozen
class BodyFirmware:
    """Launches `body` on the grid and reports success."""

    body: Callable[[Any], Any]

    def entry(self, job: Any) -> Generator[Any, Any, Completion]:
        """Launch and finish."""
        yield from job.launch(self.body)
        return Completion(0)


@attrs.frozen(eq=False)
class Rig:
    """A device with `data` mapped at DATA, and a page for packets and records at BASE."""

    device: Device
    data: np.ndarray
    page: np.ndarray

    def submit(self, cookie: int = 1, workers: int | None = None) -> Any:
        """Submit a job; its record goes to its own place in the page."""
        return self.device.submit(Submission(BASE, 16, self.record_address(cookie), cookie, workers))

    def record_address(self, cookie: int) -> int:
        """Where the record of that cookie goes."""
        return BASE + RECORD_BYTES * cookie

    def record(self, cookie: int = 1) -> Record | None:
        """What the record of that cookie says."""
        low = RECORD_BYTES * cookie
        return decode_record(self.page[low : low + RECORD_BYTES].tobytes())

    def run(self, cookie: int = 1, workers: int | None = None) -> JobStats:
        """Submit and run to the host's wake."""
        return self.device.run(self.submit(cookie, workers))


def build(
    firmware: Any, changes: Mapping[str, Any] | None = None, *, pages: int = 16, fill: int | None = None, **device: Any
) -> Rig:
    """A rig; `firmware` is an image or a body; data is a ramp of bytes unless `fill`.

    Bodies here are written to be timed, many of them unsafe on purpose: nothing is checked unless a test asks.
    """
    device.setdefault("checker", Checker("off"))
    spec = override(DeviceSpec(), changes or {})
    image = firmware if hasattr(firmware, "entry") else BodyFirmware(firmware)
    rig = Rig(Device(spec, image, **device), np.zeros(pages * PAGE, np.uint8), np.zeros(PAGE, np.uint8))
    rig.data[:] = np.arange(rig.data.size) * 7 % 251 if fill is None else fill
    rig.device.memory.map(BASE, rig.page, name="page")
    rig.device.memory.map(DATA, rig.data, name="data")
    return rig


def read(offset: int, scratch: int, nbytes: int) -> Descriptor:
    """A 1-D gather of data bytes."""
    return Descriptor(DATA + offset, scratch, 1, nbytes, 0, 0)


write = read  # a drain's descriptor looks the same


def transfer_ticks(stats: JobStats) -> list[tuple[int, ...]]:
    """(worker, seq, arrival, G, P, E, C) of every transfer, by key."""
    rows = [(t.worker, t.seq, t.arrival, t.grant, t.start, t.end, t.done) for t in stats.trace]
    return sorted(rows, key=lambda row: (row[2], row[0], row[1]))


def copy_body(ctx: Any) -> Generator[Any, Any, None]:
    """Each worker copies 256 bytes of its own to OUT."""
    yield from ctx.gather([read(256 * ctx.worker, 0, 256)])
    yield from ctx.drain(0, [write(OUT + 256 * ctx.worker, 0, 256)])
    yield from ctx.wait_drains()
