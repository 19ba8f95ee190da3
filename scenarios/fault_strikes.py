"""Fault strikes: which of a scenario's injected faults took effect on the device, and which never did.

A fault that strikes nothing looks like resilience, so it is never part of a verdict that is "ok". The scenario's own
checks refuse what can not strike (a worker that is not there, an empty tensor); what depends on the run, such as the
number of transfers or the tick of a reset, is judged here, when nothing is on its way any more.
"""

from collections import Counter
from collections.abc import Sequence

from tessbed.runtime.jobs.outcome import status_name
from tessbed.scenarios.model import AnyJob, Scenario
from tessbed.sim.fault_injection import TRANSFER_FAULTS, Fault, FaultPlan, by_number
from tessbed.sim.stats import JobStats


def submitted(scenario: Scenario) -> list[AnyJob]:
    """The jobs that reach the device, in the order in which it numbers them."""
    return [job for job in scenario.jobs if "ev74" in job.backends and not job.empty]


def planned_faults(scenario: Scenario) -> FaultPlan:
    """The scenario's faults as the device takes them: by number of submission."""
    return by_number({number: job.faults for number, job in enumerate(submitted(scenario))})


def idle_faults(faults: Sequence[Fault], struck: Sequence[Fault], stats: JobStats | None) -> tuple[str, ...]:
    """A sentence for each of a job's `faults` that is not among those that `struck` it."""
    return tuple(
        f"the fault {fault.kind} struck nothing: {_why(fault, stats)}" for fault in faults if fault not in struck
    )


def _why(fault: Fault, stats: JobStats | None) -> str:
    if fault.kind not in TRANSFER_FAULTS:
        return "the job's completion was not reached before the run ended, or another fault kept it back"
    made = Counter[int]()
    for (worker, _), digest in (stats.digests if stats else {}).items():
        made[worker] += digest.transfers
    if stats and fault.transfer >= made[fault.worker]:
        return (
            f"got transfer {fault.transfer} of worker {fault.worker}, {_asked(fault.worker, made[fault.worker], stats)}"
        )
    return f"transfer {fault.transfer} of worker {fault.worker} was not reached before the job ended"


def _asked(worker: int, made: int, stats: JobStats) -> str:
    """What a worker asked of the DMA, and what a fault could name."""
    if stats.completion.status:
        status = status_name(stats.completion.status)
        return f"but the job ended early, in {status}, after {made} transfers of that worker"
    if not made:
        return "which has nothing to do in this job and makes none"
    return f"wanted 0 to {made - 1}: it makes {made} in this job"
