"""Window: how much of the device's window of addresses the EV74 jobs of a scenario take, one after the other.

The runtime hands out whole pages, the lowest that fit. What a job finds free depends on the jobs before it: the first
one that submits a packet also takes the pages of a control block, behind its own buffers and for good.
"""

from collections.abc import Iterable, Iterator

from tessbed.kernels import Plan
from tessbed.scenarios.model import ScenarioJob
from tessbed.sim.spec.device_spec import MemorySpec
from tessbed.sim.spec.limits import PAGE_BYTES

CONTROL = [PAGE_BYTES, PAGE_BYTES]
"""A control block: the page of a packet, the page of its record."""
ENDLESS = 1 << 80


def too_small(memory: MemorySpec, jobs: Iterable[ScenarioJob]) -> tuple[int, ScenarioJob] | None:
    """The smallest `window_bytes` that would do, and the job that needs it; None where the window will do."""
    jobs = [job for job in jobs if "ev74" in job.backends]
    base = max(PAGE_BYTES, memory.window_base)
    end = memory.window_base + memory.window_bytes
    largest = max((sum(_sizes(job.plan)) for job in jobs), default=0)
    if base + 2 * largest + sum(CONTROL) <= end:
        return None
    last, job = max(_ends(base, jobs), key=lambda pair: pair[0])
    return (last - memory.window_base, job) if last > end else None


def _ends(base: int, jobs: Iterable[ScenarioJob]) -> Iterator[tuple[int, ScenarioJob]]:
    """Where each job's storage would end if there were no end to the window."""
    from tessbed.runtime.memory.heap import Heap  # simpy comes along, and few scenarios get here

    heap, controlled = Heap("device", base, ENDLESS), False
    for job in jobs:
        sizes = _sizes(job.plan)
        if not (job.plan.empty or controlled):
            sizes += CONTROL
        places = [heap.take(size) for size in sizes]
        yield max(place + size for place, size in zip(places, sizes, strict=True)), job
        for place in places[:2]:
            heap.give(place)
        controlled = controlled or not job.plan.empty


def _sizes(plan: Plan) -> list[int]:
    """Input and output in whole pages, one at least."""
    return [max(1, -(-port.required_bytes // PAGE_BYTES)) * PAGE_BYTES for port in (plan.input, plan.output)]
