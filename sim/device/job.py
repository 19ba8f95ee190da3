"""A job on the device, as firmware entry sees it.

`entry(job)` is a generator: it may wait, launch bodies on the grid, and ends by returning a Completion. Each
tick between dispatch and completion belongs to one part.
"""

from collections import Counter
from collections.abc import Callable

import attrs
from simpy import Environment

from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.device.launch import Body, Launch
from tessbed.sim.device.worker import Steps
from tessbed.sim.dma.engine import Dma
from tessbed.sim.errors import HazardError
from tessbed.sim.events import event_queue
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.tracer import Tracer
from tessbed.sim.transfer.memory import MemoryProbe
from tessbed.sim.user_code.guarded_body import guarded
from tessbed.sim.user_code.user_code import UserCode

PARTS = ("decode", "load", "other")


@attrs.define(eq=False)
class JobContext:
    """One job. `packet`: its bytes; `workers`: the logical grid that a launch really gets.

    `parts`, `counts`, `launched` and `check` are the device's account of it.
    """

    packet: bytes
    cookie: int
    workers: int
    spec: DeviceSpec
    memory: MemoryProbe
    _env: Environment
    _start_dma: Callable[[], Dma]
    check: JobCheck
    _tracer: Tracer | None = None
    parts: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys((*PARTS, "device"), 0), init=False)
    counts: Counter[str] = attrs.field(factory=Counter, init=False)
    launched: Launch | None = attrs.field(default=None, init=False)

    def wait(self, ticks: int, part: str = "other") -> Steps:
        """Spend `ticks` on the entry core, on a part of PARTS."""
        if ticks < 0 or part not in PARTS:
            raise HazardError(f"a wait of {ticks} ticks for {part!r}, wanted one of {PARTS}")
        if ticks:
            begin = event_queue.now(self._env)
            yield self._env.timeout(ticks)
            if self._tracer is not None:
                self._tracer.spent_by_job(part, begin, begin + ticks)
        self.parts[part] += ticks

    def launch(self, body: Body, *, user: UserCode | None = None) -> Steps:
        """Run `body` on each worker of the grid, once a job; raises the earliest DeviceFault after all ended.

        `user` says that a user wrote the body: then its errors end the job, with a report, and nothing else.
        """
        if self.launched is not None:
            raise HazardError("a job launches its grid once")
        if user is not None:
            body = guarded(body, user, self.check)
        start = event_queue.now(self._env)
        self.launched = Launch(self._env, self.spec, self._start_dma(), self.workers, self.counts, self.check)
        if self._tracer is not None:
            self._tracer.launched(self.packet, self.launched.dma, start)
        try:
            yield from self.launched.run(body)
        finally:
            self.parts["device"] = event_queue.now(self._env) - start
            if self._tracer is not None:
                self._tracer.launch_ended(event_queue.now(self._env))
