"""Wrong bytes: the first scalar of an output that is not what the reference says, and which drain put it there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np

from tessbed.kernels.custom.kernel_plan import PortLayout
from tessbed.scenarios.backends import Bytes
from tessbed.scenarios.custom.reference import first_mismatch
from tessbed.sim.checkers.granule_races import Write, row_in
from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.source_line import SourceLine

if TYPE_CHECKING:
    from tessbed.scenarios.verification.kernel_check.bench import KernelBench


@attrs.frozen
class WrongBytes:
    """What is wrong, in words, and where: the drain's `line`, its `worker`, its number among the worker's drains.

    `low` and `high` are the bytes of the port that the drain wrote. Where none wrote the place, `wrote` is False and
    the drain is the nearest; all are None where the port has none.
    """

    text: str
    port: str
    worker: int | None = None
    band: int | None = None
    line: SourceLine | None = None
    low: int | None = None
    high: int | None = None
    wrote: bool = attrs.field(default=True, kw_only=True)

    def lines(self) -> list[str]:
        """Words for people."""
        if self.worker is None:
            return [f"wrong bytes: {self.text}", "  no drain wrote it"]
        at = f" at {self.line}" if self.line else ""
        box = f"bytes {self.low:,} to {self.high - 1:,} of {self.port}" if self.low is not None and self.high else ""
        who = "written by" if self.wrote else "no drain wrote it; the nearest is that of"
        return [f"wrong bytes: {self.text}", f"  {who} band {self.band} of worker {self.worker}{at}: {box}"]


def first_wrong(bench: "KernelBench", outputs: Mapping[str, Bytes], check: JobCheck) -> WrongBytes | None:
    """The first scalar that differs; else the first byte beside an output that changed; None where nothing is wrong."""
    plan = bench.case.plan
    if bench.expected is not None:
        got = [outputs[port.name].view(port.type.dtype).reshape(port.shape) for port in plan.outputs]
        found = first_mismatch(plan, got, bench.expected)
        if found is not None:
            port = next(port for port in plan.outputs if port.name == found.port)
            at = int(np.ravel_multi_index(found.index, port.shape)) * port.type.width
            return _placed(bench, port, at, str(found), check)
    for port in plan.outputs:
        if (at := _spilt(bench, port)) is not None:
            return _placed(bench, port, at, f"byte {at:,} of {port.name} is outside of it, and was written", check)
    return None


def _spilt(bench: "KernelBench", port: PortLayout) -> int | None:
    """The first byte beside an output that is not as it was, counted from the output's start."""
    before, behind = bench.around(port)
    for base, part in ((-before.size, before), (port.required_bytes, behind)):
        changed = np.flatnonzero(part != PREFILLED)
        if changed.size:
            return base + int(changed[0])
    return None


PREFILLED = 0xA5


def _placed(bench: "KernelBench", port: PortLayout, at: int, text: str, check: JobCheck) -> WrongBytes:
    """With the last drain that wrote the byte."""
    start = bench.addresses[port.name]
    drains = [write for write in check.writes if row_in(write, start + at, 1)]
    within = [write for write in check.writes if _inside(write, start, start + port.required_bytes)]
    if not drains and not within:
        return WrongBytes(text, port.name)
    last = max(drains, key=lambda write: write.issued, default=None)
    shown = last or min(within, key=lambda write: _distance(write, start + at))
    low, high = _span(shown)
    inside = max(0, low - start), min(port.required_bytes, high - start)
    return WrongBytes(text, port.name, shown.worker, _number(shown, check), shown.line, *inside, wrote=last is not None)


def _inside(drain: Write, low: int, high: int) -> bool:
    return any(low <= d.address < high for d in drain.chain)


def _distance(drain: Write, address: int) -> int:
    low, high = _span(drain)
    return max(low - address, address - high + 1, 0)


def _number(drain: Write, check: JobCheck) -> int:
    """Which drain of its worker it is, from 0."""
    return sum(other.worker == drain.worker and other.seq < drain.seq for other in check.writes)


def _span(drain: Write) -> tuple[int, int]:
    low = min(d.address for d in drain.chain)
    return low, max(d.address + (d.rows - 1) * d.pitch + d.row_bytes for d in drain.chain)
