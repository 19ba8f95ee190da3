"""Wrong bytes: the first scalar of an output that is not what the reference says, and which drain put it there."""

from collections.abc import Sequence

import attrs
import numpy as np

from tessbed.kernels.custom.kernel_plan import KernelPlan, PortLayout
from tessbed.scenarios.backends import Bytes
from tessbed.scenarios.custom.reference import first_mismatch
from tessbed.sim.checkers.granule_races import Write, row_in
from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.source_line import SourceLine

PREFILL = 0xA5
"""What every byte of an output, and beside it, holds before the kernel runs."""


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


@attrs.frozen(eq=False)
class OutputPages:
    """An output in its pages: its address, its own bytes, and those before and behind it."""

    port: PortLayout
    address: int
    held: Bytes
    before: Bytes
    behind: Bytes


def first_wrong_scalar(
    plan: KernelPlan, outputs: Sequence[OutputPages], expected: Sequence[np.ndarray] | None, check: JobCheck
) -> WrongBytes | None:
    """The first scalar that differs; else the first byte beside an output that changed; None where nothing is wrong."""
    if expected is not None:
        got = [output.held.view(output.port.type.dtype).reshape(output.port.shape) for output in outputs]
        found = first_mismatch(plan, got, expected)
        if found is not None:
            output = next(output for output in outputs if output.port.name == found.port)
            at = int(np.ravel_multi_index(found.index, output.port.shape)) * output.port.type.width
            return _placed(output, at, str(found), check)
    for output in outputs:
        if (at := _spilt(output)) is not None:
            text = f"byte {at:,} of {output.port.name} is outside of it, and was written"
            return _placed(output, at, text, check)
    return None


def _spilt(output: OutputPages) -> int | None:
    """The first byte beside an output that is not as it was, counted from the output's start."""
    for base, part in ((-output.before.size, output.before), (output.held.size, output.behind)):
        changed = np.flatnonzero(part != PREFILL)
        if changed.size:
            return base + int(changed[0])
    return None


def _placed(output: OutputPages, at: int, text: str, check: JobCheck) -> WrongBytes:
    """With the last drain that wrote the byte, or the nearest one."""
    port, start = output.port, output.address
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
