"""Outcomes: the result of each job of a scenario on each backend."""

from collections.abc import Iterator
from typing import Literal

import attrs
import numpy as np

from tessbed.kernels.custom.codec import decode_call
from tessbed.kernels.custom.kernel_plan import KernelPlan
from tessbed.scenarios.backends import BackendRun
from tessbed.scenarios.custom.reference import KernelMismatch
from tessbed.scenarios.model import AnyJob, Scenario, TickLimit
from tessbed.scenarios.oracle.comparison import Mismatch
from tessbed.sim.kernel_report import KernelReport, plain_bytes

NO_OUTPUT = np.empty(0, np.uint8)
Ahead = Literal["a65", "ev74", "open"]
"""The backend that takes fewer ticks for a job; open where that hangs on the schedule of the A65's ticks."""


@attrs.frozen
class Trouble:
    """Why a job gave no output: fault, lost, hang, hazard, lifetime, or not_run behind one that corrupted the device.

    `status` is what a scenario can expect: the status of the completion record for a fault, else the kind.
    """

    kind: str
    text: str
    status: str


def kernel_trouble(trouble: Trouble, report: KernelReport, plan: KernelPlan, packet: bytes) -> Trouble:
    """The trouble of a kernel of one's own, with what the device found out: a hazard where it has findings."""
    lines = report.lines(lambda space, low, high: port_bytes(plan, packet, space, low, high))
    kind = "hazard" if report.findings else trouble.kind
    return Trouble(kind, "\n".join(lines) or trouble.text, trouble.status)


def port_bytes(plan: KernelPlan, packet: bytes, space: str, low: int, high: int) -> str:
    """Bytes of memory by the port that they belong to; anything else by its addresses."""
    if space == "memory":
        for port, bound in zip(plan.ports, decode_call(packet).ports, strict=True):
            if low < bound.address + bound.required_bytes and bound.address < high:
                return f"{port.name} bytes {low - bound.address} to {high - bound.address - 1}"
    return plain_bytes(space, low, high)


@attrs.frozen
class Outcome:
    """One job on one backend. `mismatch` is the first wrong byte; `run` has no output any more.

    `timing_only`: no byte was moved, so none was judged. `unjudged`: a kernel of one's own has no reference.
    `disagreement` is where two engines differ. `idle` has a sentence for each planned fault that struck nothing.
    """

    backend: str
    output_sha256: str | None
    output_bytes: int
    mismatch: Mismatch | KernelMismatch | None
    expected_sha256: str | None
    run: BackendRun | None
    trouble: Trouble | None = None
    expected_fault: str | None = None
    timing_only: bool = False
    disagreement: str | None = None
    idle: tuple[str, ...] = ()
    unjudged: bool = False
    expected_ticks: tuple[TickLimit, ...] = ()

    @property
    def tick_complaints(self) -> list[str]:
        """What is wrong with the ticks of a job that ended well, in words."""
        result = self.run.result if self.run and self.trouble is None else None
        ticks = {"device_ticks": result.device_ticks, "job_ticks": result.job_ticks} if result else {}
        found = [limit.complaint(ticks[limit.name]) for limit in self.expected_ticks if limit.name in ticks]
        return [text for text in found if text]

    @property
    def verified(self) -> bool:
        """True where the oracle, or a kernel's reference, has seen every byte and found it right."""
        return self.trouble is None and self.mismatch is None and not self.timing_only and not self.unjudged

    @property
    def ok(self) -> bool:
        """As the scenario expects, and every fault that it plans has struck."""
        return self.as_expected and not self.idle

    @property
    def as_expected(self) -> bool:
        """Verified, with the hash and the ticks that the scenario names, or failed in the way that it names."""
        if self.disagreement or self.tick_complaints:
            return False
        if self.timing_only:
            return True
        if self.expected_fault:
            return self.trouble is not None and self.trouble.status == self.expected_fault
        sound = self.verified or (self.unjudged and self.trouble is None)
        return sound and self.expected_sha256 in (None, self.output_sha256)


@attrs.frozen
class JobOutcome:
    """One job on all its backends."""

    job: AnyJob
    outcomes: tuple[Outcome, ...]


@attrs.frozen
class ScenarioRun:
    """A scenario and the result of it. `notices` counts the oddities that the runtime saw, by kind.

    `engine` is what timed the EV74 jobs, `instead` why it is not the one that was asked for.
    """

    scenario: Scenario
    jobs: tuple[JobOutcome, ...]
    notices: dict[str, int]
    engine: str = "simpy"
    instead: str | None = None

    @property
    def outcomes(self) -> Iterator[Outcome]:
        """Every outcome, job by job."""
        return (outcome for job in self.jobs for outcome in job.outcomes)

    @property
    def ok(self) -> bool:
        """The verdict."""
        return all(outcome.ok for outcome in self.outcomes)


def backend_ahead(entry: JobOutcome) -> Ahead | None:
    """Who takes fewer ticks by every schedule of the band; None where one of them has no ticks to compare."""
    done = {outcome.backend: outcome for outcome in entry.outcomes}
    if not {"a65", "ev74"} <= done.keys() or not all(_timed(outcome) for outcome in done.values()):
        return None
    a65, ev74 = done["a65"].run, done["ev74"].run
    assert a65 is not None
    assert a65.band
    assert ev74 is not None
    assert ev74.result
    ticks, job = (a65.ticks, *a65.band.values()), ev74.result.job_ticks
    return "a65" if max(ticks) < job else "ev74" if min(ticks) > job else "open"


def _timed(outcome: Outcome) -> bool:
    run = outcome.run
    return run is not None and outcome.trouble is None and run.ticks > 0 and bool(run.band or run.result)
