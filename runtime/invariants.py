"""Invariants: what must hold of a runtime at any moment, whatever clients and devices do.

Each rule looks at the facts from another side than the code that keeps them: at the device's own map of memory, at
the handles and jobs that are there. RULES and ENDING name them all; `audit` and `check_runtime_ended` return what is
broken, in words.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from tessbed.runtime.jobs.job import OK, Job
from tessbed.runtime.jobs.states import FINAL, NEXT, ON_DEVICE, State, Transition
from tessbed.runtime.memory.buffers import EXPORT, HANDLE, Allocation
from tessbed.runtime.runtime import Runtime
from tessbed.runtime.scheduling.queues import ENDED
from tessbed.sim.errors import MemoryFault


def check_runtime(runtime: Runtime) -> list[str]:
    """Every broken rule of the whole runtime, "rule: what"."""
    return [f"{rule}: {text}" for rule, check in RULES.items() for text in check(runtime)]


def check_runtime_ended(job: Job) -> list[str]:
    """Every broken rule of a job in its final state."""
    return [f"{rule}: {job}" for rule, holds in ENDING.items() if not holds(job)]


def _device_can_reach(runtime: Runtime) -> Iterator[str]:
    """What a job on a device may touch is mapped for that device."""
    for link in runtime.scheduler.links:
        for job in link.jobs:
            for span in (*job.footprint.reads, *job.footprint.writes):
                try:
                    link.device.memory.locate(span.start, span.end - span.start, write=span in job.footprint.writes)
                except MemoryFault as fault:
                    yield f"{job} may touch {span} on device {link.index}: {fault}"


def _owners_held(runtime: Runtime) -> Iterator[str]:
    """A job holds all that it took until it is final."""
    for job in runtime.scheduler.live.values():
        if len(job.owners.held) != job.owners.acquired:
            yield f"{job}, {job.state.value}, holds {len(job.owners.held)} of its {job.owners.acquired} owners"


def _references_balance(runtime: Runtime) -> Iterator[str]:
    """An allocation's references are its handles, its exports, and what live jobs hold."""
    by_jobs: Counter[Allocation] = Counter()
    for job in runtime.scheduler.live.values():
        by_jobs.update(thing for _, thing in job.owners.held if isinstance(thing, Allocation))
    for allocation in runtime.allocator.living:
        others = allocation.references[HANDLE] + allocation.references[EXPORT]
        if sum(allocation.references.values()) != others + by_jobs[allocation]:
            yield f"{allocation} has {dict(allocation.references)}, live jobs hold {by_jobs[allocation]}"


def _freed_once(runtime: Runtime) -> Iterator[str]:
    """What lives is not freed, has its address in a heap, and is mapped where it says so."""
    mapped = [[mapping.address for mapping in memory.mappings] for memory in runtime.allocator.memories]
    for allocation in runtime.allocator.living:
        if allocation.freed or not any(heap.holds(allocation.address) for heap in runtime.allocator.heaps.values()):
            yield f"{allocation} lives and is freed"
        if allocation.mapped and not any(allocation.address in addresses for addresses in mapped):
            yield f"{allocation} is not mapped"


def _control_blocks(runtime: Runtime) -> Iterator[str]:
    """A control block belongs to the one live job that holds it."""
    control = runtime.submitter.control
    held = {id(job.control) for job in runtime.scheduler.live.values()}
    for block in control.blocks:
        if (block.holder is None) != (block in control.idle) or (block.holder is not None) != (id(block) in held):
            yield f"a control block of {block.holder or 'nobody'} is {'' if block in control.idle else 'not '}idle"


def _where_they_belong(runtime: Runtime) -> Iterator[str]:
    """Live jobs are not final; those on a device are in its link, each once; queues keep the order of submission."""
    linked = [job for link in runtime.scheduler.links for job in link.jobs]
    for job in runtime.scheduler.live.values():
        if job.final or linked.count(job) != (job.state in ON_DEVICE):
            yield f"{job} is {job.state.value} and {linked.count(job)} times on a device"
    for queue in runtime.scheduler.queues:
        cookies = [job.cookie for job in queue.unretired]
        if cookies != sorted(cookies):
            yield f"queue {queue.name} holds {cookies}"


def _in_turn(runtime: Runtime) -> Iterator[str]:
    """A job that has ended waits for an earlier one of its queue to end, and for nothing else."""
    for job in runtime.scheduler.live.values():
        first = job.queue.unretired[0] if job.queue.unretired else None
        if job.state in ENDED and (first is None or first.final or first.state in ENDED):
            yield f"{job} is {job.state.value} behind {first or 'nothing'}"


def _in_time(runtime: Runtime) -> Iterator[str]:
    """A job whose deadline and grace are over has ended, or is lost."""
    for job in runtime.scheduler.live.values():
        waits = job.state in (State.SUBMITTED, *ON_DEVICE) and job.lost_tick is None
        if waits and job.deadline is not None and runtime.now > job.deadline + job.queue.grace_ticks:
            yield f"{job} is {job.state.value} at tick {runtime.now}, its deadline was {job.deadline}"


def _in_flight_known(runtime: Runtime) -> Iterator[str]:
    """A storage's jobs in flight are the live jobs that hold it as input or output, and no others."""
    holders: dict[Allocation, set[Job]] = {}
    for job in runtime.scheduler.live.values():
        for role, thing in job.owners.held:
            if isinstance(thing, Allocation) and role in ("inputs", "outputs"):
                holders.setdefault(thing, set()).add(job)
    for allocation in runtime.allocator.living:
        known = {job for job in allocation.guard.in_flight.jobs if job.queue.owner is runtime.identity}
        if known != holders.get(allocation, set()):
            yield f"{allocation} is in flight for {len(known)} jobs, {len(holders.get(allocation, ()))} hold it"


RULES: dict[str, Callable[[Runtime], Iterator[str]]] = {
    "device_can_reach": _device_can_reach,
    "owners_held": _owners_held,
    "references_balance": _references_balance,
    "freed_once": _freed_once,
    "control_blocks": _control_blocks,
    "where_they_belong": _where_they_belong,
    "in_turn": _in_turn,
    "in_time": _in_time,
    "in_flight_known": _in_flight_known,
}


def _own_record(job: Job) -> bool:
    """A job that a record ended was ended by its own."""
    ended = any(move in (Transition.COMPLETE, Transition.FAULT) for _, move, _ in job.history)
    return (job.record is not None) == ended and (job.record is None or job.record.cookie == job.cookie)


def _path_in_table(job: Job) -> bool:
    """Its history is a path of the table from prepared to a final state."""
    state = State.PREPARED
    for _, move, to in job.history:
        if NEXT.get((state, move)) is not to:
            return False
        state = to
    return state is job.state and state in FINAL


def _released(job: Job) -> bool:
    """It holds nothing any more."""
    return not job.owners.held


def _outcome_fits(job: Job) -> bool:
    """Success is claimed by a good record alone."""
    good = job.record is not None and job.record.completion.status == 0
    return (job.outcome == OK) == good or job.cookie == 0


def _parts_sum(job: Job) -> bool:
    """Its ticks from submission to the host's wake are the sum of its parts, in the result as in the statistics."""
    result, woken = job.result(), job.final_tick if job.lost_tick is None else job.lost_tick
    ticks = woken - job.submit_tick if any(move is Transition.SUBMIT for _, move, _ in job.history) else 0
    same = result.stats is None or (result.stats.parts == result.parts and result.stats.job_ticks == ticks)
    return (
        same and result.job_ticks == ticks == sum(result.parts.values()) and min(result.parts.values(), default=0) >= 0
    )


ENDING: dict[str, Callable[[Job], bool]] = {
    "own_record": _own_record,
    "path_in_table": _path_in_table,
    "let_go": _released,
    "outcome_fits": _outcome_fits,
    "parts_sum": _parts_sum,
}
