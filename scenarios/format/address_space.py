"""Address space: how much of the device's address window the EV74 jobs of a scenario take, one after the other.

What a job finds free depends on the jobs before it; the rule is in `runtime/memory/device_addresses.py`.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from tessbed.kernels import Plan
from tessbed.sim.spec.device_spec import MemorySpec
from tessbed.sim.spec.limits import PAGE_BYTES

ROOMY_BYTES = 1 << 16
"""More than a control block: a window with this much beside twice the largest job holds any order of jobs."""


class StoredJob(Protocol):
    """A job as far as its storage is concerned."""

    @property
    def index(self) -> int:
        """Its place among the jobs."""
        ...

    @property
    def plan(self) -> Plan:
        """Its plan."""
        ...

    @property
    def backends(self) -> tuple[str, ...]:
        """Who runs it."""
        ...


def too_small(memory: MemorySpec, jobs: Iterable[StoredJob]) -> tuple[int, StoredJob] | None:
    """The smallest `window_bytes` that would do, and the job that needs it; None where the window will do."""
    jobs = [job for job in jobs if "ev74" in job.backends]
    largest = max((sum(_sizes(job.plan)) for job in jobs), default=0)
    if memory.first_address + 2 * largest + ROOMY_BYTES <= memory.end_address:
        return None
    last, job = max(_ends(memory, jobs), key=lambda pair: pair[0], default=(0, None))
    return None if job is None or last <= memory.end_address else (last - memory.window_base, job)


def _ends(memory: MemorySpec, jobs: Iterable[StoredJob]) -> Iterator[tuple[int, StoredJob]]:
    """Where each job's storage would end if there were no end to the window."""
    from tessbed.runtime.memory import device_addresses  # simpy comes along, and few scenarios get here

    storage = device_addresses.SuccessiveJobs(device_addresses.endless_heap(memory))
    for job in jobs:
        yield storage.end(_sizes(job.plan), packet=not job.plan.empty), job


def _sizes(plan: Plan) -> list[int]:
    """Input and output in whole pages, one at least."""
    return [max(1, -(-port.required_bytes // PAGE_BYTES)) * PAGE_BYTES for port in (plan.input, plan.output)]
