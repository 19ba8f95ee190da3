"""A launch: the logical grid of workers on the cores, until every worker has ended.

Core c starts worker c at launch + c * stagger, and runs workers c, c + cores, ... one after the other. Which
physical core that is, nobody can see. After the first fault no further worker starts; those that run go on to
their own end, so nothing flies when the launch is over.
"""

from collections import Counter
from collections.abc import Callable

import attrs
import numpy as np
from simpy import Environment, Process

from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.device.worker import Steps, WorkerContext
from tessbed.sim.dma.engine import Dma
from tessbed.sim.dma.wait_state import WaitState
from tessbed.sim.errors import DeviceFault, HazardError
from tessbed.sim.events import event_queue
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.stats import WorkerStats
from tessbed.sim.transfer.memory import SCRATCH_FILL

Body = Callable[[WorkerContext], Steps]


@attrs.define(eq=False)
class Launch:
    """The workers of one launch: those that run, those that ended, and the faults as (tick, worker, fault)."""

    env: Environment
    spec: DeviceSpec
    dma: Dma
    workers: int
    counts: Counter[str]
    check: JobCheck
    running: list[WorkerContext] = attrs.field(factory=list, init=False)
    ended: list[WorkerStats] = attrs.field(factory=list, init=False)
    faults: list[tuple[int, int, DeviceFault]] = attrs.field(factory=list, init=False)
    _cores: list[Process] = attrs.field(factory=list, init=False)

    def run(self, body: Body) -> Steps:
        """Run `body` on each worker; raises the earliest DeviceFault after all have ended."""
        cores = range(min(self.spec.cores, self.workers))
        self._cores = [self.env.process(self._core(core, body)) for core in cores]
        yield from self._cores
        if self.faults:
            raise min(self.faults, key=lambda entry: entry[:2])[2]

    @property
    def in_flight(self) -> int:
        """Transfers under way."""
        return sum(stream.wait_state.in_flight for (_, kind), stream in self.dma.streams.items() if kind == "read")

    def stop(self) -> None:
        """Stop every core and the DMA where they are, for good."""
        self.dma.halt()
        for ctx in self.running:
            ctx.stop(event_queue.now(self.env))
        for process in self._cores:
            event_queue.abandon(process)

    def _core(self, core: int, body: Body) -> Steps:
        pause, reason, tracer = core * self.spec.launch_stagger_ticks, "stagger", self.dma.tracer
        scratch = np.empty(self.spec.usable_scratch_bytes, np.uint8)
        for worker in range(core, self.workers, self.spec.cores):
            if pause:
                if tracer is not None:
                    begin = event_queue.now(self.env)
                    tracer.core_paused(core, reason, begin, begin + pause)
                yield self.env.timeout(pause)
            if self.faults:
                return
            scratch.fill(SCRATCH_FILL)
            yield from self._worker(worker, scratch, body)
            pause, reason = self.spec.relaunch_ticks, "relaunch"

    def _worker(self, worker: int, scratch: np.ndarray, body: Body) -> Steps:
        start = event_queue.now(self.env)
        staging = self.check.worker(worker, worker % self.spec.cores)
        ctx = WorkerContext(
            WaitState(self.env, worker, scratch), self.workers, self.spec, self.counts, self.dma, staging
        )
        self.running.append(ctx)
        tracer = self.dma.tracer
        if tracer is not None:
            tracer.worker_started(worker, worker % self.spec.cores, start)
        yield from self._guarded(ctx, body)
        if tracer is not None:
            tracer.worker_ended(worker, event_queue.now(self.env))
        self.running.remove(ctx)
        self.ended.append(self._account(ctx, start))
        ctx.leave()

    def _guarded(self, ctx: WorkerContext, body: Body) -> Steps:
        try:
            yield from body(ctx)
        except DeviceFault as fault:
            ctx.wait_state.fault = ctx.wait_state.fault or fault
            yield from ctx.settle()
        yield from ctx.catch_up()
        if ctx.wait_state.fault is not None:
            self.faults.append((event_queue.now(self.env), ctx.worker, ctx.wait_state.fault))
        elif ctx.staging:
            ctx.staging.end()

    def _account(self, ctx: WorkerContext, start: int) -> WorkerStats:
        finish, zero = event_queue.now(self.env), self.dma.origin
        if sum(ctx.stalls.values()) != finish - start:
            raise HazardError(f"worker {ctx.worker} waited past its context: {finish - start} ticks, {ctx.stalls}")
        return WorkerStats(ctx.worker, start - zero, finish - zero, ctx.stalls)
