"""A client of a soak: it makes random calls of a runtime, right and wrong, and checks the results.

It submits in random sizes, offsets and cache policies, closes buffers early, makes jobs depend on each other, puts
outputs side by side in one buffer, cancels, asks for what must be refused, and dies. Every output that is reported
done is compared with the oracle's bytes at the tick at which the job is final.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import attrs
import numpy as np

from tessbed.kernels import BindingError
from tessbed.runtime import GranuleConflict, HeapExhausted, Job, LifetimeError, QueueFull, State
from tessbed.runtime.clients import Client
from tessbed.runtime.memory.buffers import Buffer, View
from tessbed.runtime.memory.coherency import CoherencyError, Policy
from tessbed.scenarios.verification.soak.cases import PREFILL, SoakCase

POOL_BYTES = 1 << 16
POLICIES = (Policy.UNCACHED, Policy.UNCACHED, Policy.CACHED, Policy.CACHED_MANUAL)


@attrs.define(eq=False, repr=False)
class SoakClient:
    """One client of `world`. Its pool is a buffer that it cuts outputs from, without regard to granules."""

    world: Any
    name: str
    random: Random
    process: Client = attrs.field(init=False)
    pool: Buffer | None = attrs.field(default=None, init=False)
    pool_used_bytes: int = attrs.field(default=0, init=False)
    pool_jobs: int = attrs.field(default=0, init=False)
    lives: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._start()

    def act(self) -> None:
        """Submit until the queue is full or the soak has enough; now and then do something else."""
        while self.world.wants_more and self.process.queue.room > 0:
            self.world.client_steps += 1
            if self._chance(0.004):
                self._die()
            elif self._chance(0.03):
                MISUSES[self._below(len(MISUSES))](self)
            else:
                self._submit(self.world.cases[self._below(len(self.world.cases))])

    def _start(self) -> None:
        self.lives += 1
        self.process = self.world.open_client(f"{self.name}.{self.lives}", priority=self._below(4))
        self.pool, self.pool_used_bytes, self.pool_jobs = None, 0, 0

    def _die(self) -> None:
        """Exit with whatever is under way, and come back as a new process."""
        self.process.exit()
        self.world.account.exits += 1
        self._start()

    def _submit(self, case: SoakCase) -> None:
        source = self.source(case)
        pooled = self._chance(0.3)
        target = self._pooled(case) if pooled else self.target(case)
        if target is None:
            source.buffer.close()
            return
        job = self._until_ordered(case, source, target)
        self.world.opened(job)
        self._watch(job, case, target, pooled)
        source.buffer.close()
        if not pooled and self._chance(0.3):
            target.buffer.close()
        if self._chance(0.03) and job.state is State.SUBMITTED:
            self.world.runtime.cancel(job)

    def source(self, case: SoakCase) -> View:
        """A filled input, flushed as its policy wants, somewhere in a buffer of its own."""
        port, policy = case.prepared.plan.input, POLICIES[self._below(4)]
        offset = port.alignment_bytes * self._below(8)
        view = self.process.allocate(offset + port.required_bytes, name="source", policy=policy).view(offset)
        with _written(view, policy):
            view.cpu.write(case.source)
        return view

    def target(self, case: SoakCase) -> View:
        """A prefilled output somewhere in a buffer of its own."""
        port, policy = case.prepared.plan.output, POLICIES[self._below(4)]
        offset = port.alignment_bytes * self._below(8)
        size = offset + port.required_bytes
        return self.process.allocate(size, name="target", policy=policy, prefill=PREFILL).view(offset)

    def _pooled(self, case: SoakCase) -> View | None:
        """The next bytes of the pool, on no granule's border; a new round when its jobs are final, None until then."""
        port = case.prepared.plan.output
        start = -(-self.pool_used_bytes // port.alignment_bytes) * port.alignment_bytes
        if self.pool is None or start + port.required_bytes > POOL_BYTES:
            if self.pool_jobs or port.required_bytes > POOL_BYTES:
                return None
            if self.pool is not None:
                self.pool.close()
            self.pool, start = self.process.allocate(POOL_BYTES, name="pool", prefill=PREFILL), 0
        self.pool_used_bytes = start + port.required_bytes
        return self.pool.view(start, port.required_bytes)

    def _until_ordered(self, case: SoakCase, source: View, target: View) -> Job:
        """Submit; where another job is in the way, come after it."""
        after: list[Job] = []
        while True:
            try:
                return self.process.submit(case.prepared, [source], [target], after=after)
            except GranuleConflict as conflict:
                self.world.account.refusals["granule_conflict"] += 1
                after.append(conflict.blocker)

    def _watch(self, job: Job, case: SoakCase, target: View, pooled: bool) -> None:
        """Check the output when the job is final, past the handle: the client may have closed it by then."""
        allocation, start = target.buffer.allocation, target.offset
        life = self.lives

        def ended(job: Job) -> None:
            if pooled and life == self.lives:
                self.pool_jobs -= 1
            got = allocation.storage[start : start + case.expected.size]
            if allocation.coherency is not None and not target.buffer.closed:
                got = _seen(target)[: case.expected.size]
            self.world.ended(job, job.outcome == "ok" and not np.array_equal(got, case.expected))
            if not pooled and not target.buffer.closed:
                target.buffer.close()

        self.pool_jobs += pooled
        job.on_final(ended)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _below(self, limit: int) -> int:
        return int(self.random.random() * limit)

    def refused(self, kind: str, error: type[Exception], attempt: Any) -> None:
        """Do what must be refused; a problem where it is not."""
        try:
            attempt()
        except error:
            self.world.account.refusals[kind] += 1
        else:
            self.world.account.problems.append(f"{self.process.queue.name}: {kind} was not refused")


@contextmanager
def _written(view: View, policy: Policy) -> Iterator[None]:
    """CPU access for writing, by the calls that the policy wants."""
    if policy is Policy.CACHED:
        with view.cpu.access():
            yield
    else:
        yield
        view.cpu.flush()


def _seen(view: View) -> np.ndarray:
    """What the CPU sees of a finished output."""
    cpu = view.cpu
    assert cpu.coherency is not None
    if cpu.coherency.policy is Policy.CACHED:
        with cpu.access():
            return cpu.read()
    cpu.invalidate()
    return cpu.read()


def _short_output(client: SoakClient) -> None:
    case = client.world.cases[0]
    source = client.source(case)
    short = client.process.allocate(case.expected.size - 1, name="short")
    client.refused("capacity", BindingError, lambda: client.process.submit(case.prepared, [source], [short]))
    source.buffer.close()
    short.close()


def _double_free(client: SoakClient) -> None:
    buffer = client.process.allocate(64, name="twice")
    buffer.close()
    client.refused("double_free", LifetimeError, buffer.close)


def _use_after_free(client: SoakClient) -> None:
    buffer = client.process.allocate(64, name="gone")
    buffer.close()
    client.refused("use_after_free", LifetimeError, lambda: buffer.host)


def _too_much(client: SoakClient) -> None:
    client.refused("heap_exhausted", HeapExhausted, lambda: client.process.allocate(1 << 50, name="all of it"))


def _forgotten_flush(client: SoakClient) -> None:
    case = client.world.cases[0]
    size = case.prepared.plan.input.required_bytes
    source = client.process.allocate(size, name="unflushed", policy=Policy.CACHED_MANUAL)
    target = client.target(case)
    source.cpu.write(case.source)
    client.refused("missing_flush", CoherencyError, lambda: client.process.submit(case.prepared, [source], [target]))
    source.close()
    target.buffer.close()


def _overfull(client: SoakClient) -> None:
    case = client.world.cases[0]
    queue, capacity = client.process.queue, client.process.queue.capacity
    source, target = client.source(case), client.target(case)
    queue.capacity = len(queue.unretired)
    client.refused("queue_full", QueueFull, lambda: client.process.submit(case.prepared, [source], [target]))
    queue.capacity = capacity
    source.buffer.close()
    target.buffer.close()


MISUSES = (_short_output, _double_free, _use_after_free, _too_much, _forgotten_flush, _overfull)
