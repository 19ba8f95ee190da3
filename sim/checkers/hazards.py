"""Hazards: proves for every job, from its happens-before order, that no legal order can corrupt a byte.

Ticks do not count: a job is unsafe when two of its accesses are not ordered by anything but luck, even where this run
wrote every byte right. `races` judges memory, `staging` the scratch of each worker; KINDS is what they can find. A
finding of a firmware under test is a bug of that firmware: by default it is raised as a HazardError. `report` collects
findings and lets the job go on, `off` looks at nothing: both exist so that a test can see what a bug does to the bytes.

Devices that share memory share a Checker: then the writes of two jobs on two devices are compared too, unless the host
knew of the end of one when it submitted the other. Jobs of one device follow each other, and need no comparison.
"""

from collections.abc import Callable
from itertools import count

import attrs
import numpy as np

from tessbed.sim.checkers.granule_races import NEVER, Ranges, Write, find_races
from tessbed.sim.checkers.read_races import find_read_races, read_hazard
from tessbed.sim.checkers.scratch_hazards import Staging
from tessbed.sim.checkers.write_log import WriteLog
from tessbed.sim.errors import HazardError
from tessbed.sim.finding import Folds, Hazard
from tessbed.sim.kernel_report import KernelError, KernelReport

HAZARD_KINDS = {
    "granule_race": "two transfers write one granule and nothing orders them",
    "gather_not_retired": "bytes of a gather are used before the worker has waited for it",
    "slot_in_flight": "a slot is packed or drained again before the worker has waited for its drain",
    "scratch_reused": "a gather writes scratch bytes that an earlier transfer may still read or write",
    "wait_group": "more than four reads of an oversized pitch wait together",
    "completion": "the end is reported before the last transfer is known to be done",
    "read_race": "a user's kernel gathers bytes that it drains, and nothing orders the two",
    "packed_twice": "a user's kernel computes over a result that nothing has drained or read",
    "late_binding": "a variable that a user's function captured changed before the device computed",
    "not_awaited": "a user's kernel called a wait or an access without `yield from`: it never happened",
    "misuse": "a user's kernel asked for what the hardware can not do",
}
MODES = ("raise", "report", "off")
HAZARD_WORDS = 8
"""So many races of a job are reported one by one."""
MOST_RACES = 10_000
"""So many races of a user's kernel are folded into findings."""


@attrs.define(eq=False)
class Checker:
    """The checks of one device, or of several that share memory. `findings` collects in mode "report".

    `stamp` gives the next number of a step. With `keeps`, a job's transfers can be looked at after its end.
    """

    mode: str = attrs.field(default="raise", validator=attrs.validators.in_(MODES))
    keeps: bool = attrs.field(default=False, kw_only=True)
    findings: list[Hazard] = attrs.field(factory=list, init=False)
    stamp: Callable[[], int] = attrs.field(factory=lambda: count(1).__next__, init=False)
    _open: list["JobCheck"] = attrs.field(factory=list, init=False)

    def job(self, device: object, number: int, granule: int) -> "JobCheck":
        """Watch a job that is submitted now."""
        job = JobCheck(self, device, number, granule, self.stamp())
        self._open.append(job)
        return job

    def forget(self, device: object) -> None:
        """The device was reset: its jobs write nothing any more."""
        self._open = [job for job in self._open if job.device is not device]

    def report(self, finding: Hazard) -> None:
        """Raise HazardError, or keep the finding, or neither."""
        if self.mode == "raise":
            raise HazardError(str(finding))
        if self.mode == "report":
            self.findings.append(finding)

    def others(self, job: "JobCheck") -> list["JobCheck"]:
        """Ended jobs on other devices that the host did not know to be over when it submitted `job`."""
        oldest = min((other.submitted for other in self._open if not other.ended), default=NEVER)
        self._open = [other for other in self._open if other.known > oldest or not other.ended]
        return [o for o in self._open if o.ended and o.device is not job.device and o.known > job.submitted]


@attrs.define(eq=False)
class JobCheck:
    """The watch over one job. Stamps: `submitted`, and `known` when the host learned of its end.

    `kernel` names the user's kernel that runs, if one does: then what is found is kept until the job has ended, by
    `_folds`, and raised by nobody; gathers are compared with drains, too. `errors` are the kernel's own, `steps` counts
    what its workers have asked for.
    """

    checker: Checker
    device: object
    number: int
    granule: int
    submitted: int
    known: int = attrs.field(default=NEVER, init=False)
    ended: bool = attrs.field(default=False, init=False)
    log: WriteLog = attrs.field(init=False)
    ranges: Ranges | None = attrs.field(default=None, init=False)
    kernel: str | None = attrs.field(default=None, init=False)
    steps: int = attrs.field(default=0, init=False)
    errors: list[KernelError] = attrs.field(factory=list, init=False)
    gathers: list[Write] = attrs.field(factory=list, init=False)
    _folds: Folds = attrs.field(factory=Folds, init=False)

    def __attrs_post_init__(self) -> None:
        self.log = WriteLog(self.number, self.granule, folds=not self.checker.keeps)

    @property
    def writes(self) -> list[Write]:
        """The job's drains."""
        return self.log.writes()

    def worker(self, worker: int, core: int) -> Staging | None:
        """The watch over a worker that starts now; None where nothing is to be checked."""
        if self.checker.mode == "off":
            return None
        gathers = None if self.kernel is None else self.gathers
        self.log.folds = self.log.folds and gathers is None
        return Staging(self.number, worker, core, self.checker.stamp, self.say, self.log, gathers)

    def end(self, in_flight: int) -> None:
        """The job ends with that many transfers under way: judge its writes, then those of other devices' jobs."""
        if self.kernel is not None:
            self._judge_kernel()
        else:
            self._judge(in_flight)
        self._meet_others()
        if not self.checker.keeps:
            self.log.clear()
            self.gathers.clear()
        self.ended = True

    def report(self) -> KernelReport | None:
        """What is known of the user's kernel after its end; None where none ran."""
        return None if self.kernel is None else KernelReport(self.kernel, self._folds.findings(), tuple(self.errors))

    def learned(self) -> None:
        """The host knows of the end; the first time counts."""
        if self.known == NEVER:
            self.known = self.checker.stamp()

    def _meet_others(self) -> None:
        self.ranges = self.log.ranges()
        for other in self.checker.others(self):
            address = _common(self.ranges, self.granule, other.ranges, other.granule)
            if address is not None:
                where = (
                    f"granule {address:#x} is written by job {self.number} and by job {other.number} of another device"
                )
                self._say("granule_race", f"{where}: neither was submitted after the host knew of the other's end")

    def say(self, hazard: Hazard) -> None:
        """Report a hazard now, or keep it until the end of a user's kernel."""
        if self.kernel is None:
            self.checker.report(hazard)
        elif self.checker.mode != "off":
            self._folds.add(hazard)
            if self.checker.mode == "report":
                self.checker.findings.append(hazard)

    @property
    def endless(self) -> bool:
        """Whether a worker of a user's kernel was ended in a loop."""
        return any(error.kind == "endless_loop" for error in self.errors)

    def _judge(self, in_flight: int) -> None:
        if in_flight:
            self._say("completion", f"ends with {in_flight} transfers in flight")
        races, total = self.log.races(HAZARD_WORDS)
        if races:
            more = f", and {total - len(races)} more pairs" if total > len(races) else ""
            self._say("granule_race", "; ".join(map(str, races)) + more)

    def _judge_kernel(self) -> None:
        """The races of a user's kernel, each by itself; that transfers are in flight has been said of its worker.

        A kernel that never ended is not searched: what it did again and again would be compared pair by pair.
        """
        if self.endless:
            return
        for race in find_races(self.writes, self.granule, MOST_RACES)[0]:
            self.say(race.hazard())
        for read, write, address in find_read_races(self.gathers, self.writes)[:MOST_RACES]:
            self.say(read_hazard(read, write, address))

    def _say(self, kind: str, text: str) -> None:
        self.say(Hazard(kind, self.number, text))


def _common(some: Ranges | None, granule: int, others: Ranges | None, other_granule: int) -> int | None:
    """The lowest address in a granule of both; None where there is none."""
    if some is None or others is None:
        return None
    low, high = some.low * granule, (some.high + 1) * granule
    start, end = others.low * other_granule, (others.high + 1) * other_granule
    behind = np.searchsorted(end, low, side="right")  # the first range of the others that ends behind each of ours
    inside = behind < start.size
    shared = np.flatnonzero(start[behind[inside]] < high[inside])
    return int(max(low[inside][shared[0]], start[behind[inside]][shared[0]])) if shared.size else None
