"""The environment of a soak: two devices that fail now and then, and many clients that submit all the time.

Everything is drawn from the seed and happens in simulated time, so a world repeats exactly.
"""

import ctypes
import gc
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import attrs
from simpy import Environment

from tessbed.runtime import Job, Runtime
from tessbed.runtime.clients import Client
from tessbed.runtime.invariants import check_runtime, check_runtime_ended
from tessbed.scenarios import backends
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.verification.soak.account import Account
from tessbed.scenarios.verification.soak.cases import SoakCase, soak_cases
from tessbed.scenarios.verification.soak.client import SoakClient
from tessbed.scenarios.verification.soak.fault_profiles import fault_plan
from tessbed.sim.device.device import Device

DEVICES = 2
CLIENTS = 6
QUEUE_JOBS = 4
PATIENCE_TICKS = 3_000_000
GRACE_TICKS = 1_000_000
WARM_JOBS = 1000
REPORT_JOBS = 250
AUDIT_JOBS = 25


@attrs.define(eq=False, repr=False)
class World:
    """`wanted` jobs of `scenario` under a fault profile. `open` are the jobs that have not reached a final state."""

    scenario: Scenario
    wanted: int
    profile: str
    seed: int
    account: Account = attrs.field(factory=Account, init=False)
    runtime: Runtime = attrs.field(init=False)
    cases: tuple[SoakCase, ...] = attrs.field(init=False)
    clients: list[SoakClient] = attrs.field(init=False)
    client_steps: int = attrs.field(default=0, init=False)
    submitted: int = attrs.field(default=0, init=False)
    open: dict[int, Job] = attrs.field(factory=dict, init=False)
    _hash: "hashlib._Hash" = attrs.field(factory=hashlib.sha256, init=False)
    _rss: list[int] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        env = Environment()
        self.cases = soak_cases(self.scenario, self.seed)
        self.runtime = Runtime([self._device(index, env) for index in range(DEVICES)])
        self.clients = [
            SoakClient(self, f"client {i}", Random(f"tessbed soak {self.seed} {i}")) for i in range(CLIENTS)
        ]

    @property
    def wants_more(self) -> bool:
        """False once enough jobs are submitted."""
        return self.submitted < self.wanted

    def run(self, progress: Callable[[int], None]) -> Account:
        """Let the clients loose until every job is final, then close everything and draw the balance."""
        while self.wants_more or self.open:
            for client in self.clients:
                client.act()
            before = self.account.jobs
            while self.open and self.account.jobs == before:
                self.runtime.step()
            if self.account.jobs // AUDIT_JOBS != before // AUDIT_JOBS:
                self.account.problems += check_runtime(self.runtime)
            if self.account.jobs // REPORT_JOBS != before // REPORT_JOBS:
                progress(self.account.jobs)
                self._measure_memory()
        self._close()
        progress(self.account.jobs)
        return self.account

    def open_client(self, name: str, priority: int) -> Client:
        """A process with a bounded queue of its own."""
        queue = self.runtime.queue(
            name, capacity=QUEUE_JOBS, priority=priority, timeout_ticks=PATIENCE_TICKS, grace_ticks=GRACE_TICKS
        )
        return Client(self.runtime, queue)

    def opened(self, job: Job) -> None:
        """A job was submitted."""
        self.submitted += 1
        self.open[job.cookie] = job

    def ended(self, job: Job, wrong: bool) -> None:
        """A job is final; `wrong` where it claims success with a wrong byte."""
        if self.open.pop(job.cookie, None) is None:
            self.account.problems.append(f"{job} reached a second final state, {job.state.value}")
        if wrong:
            self.account.problems.append(f"{job} was reported done with a wrong byte")
        self.account.problems += check_runtime_ended(job)
        self.account.jobs += 1
        self.account.checked_outputs += job.outcome == "ok"
        late = ", late" if job.late else ""
        self.account.endings[f"{job.state.value}: {job.outcome}{late}"] += 1
        self._hash.update(f"{job.cookie} {job.outcome} {job.final_tick}\n".encode())

    def _measure_memory(self) -> None:
        """Look at what is resident once all that is free has been given back: a leak is what is held, not slack."""
        gc.collect()
        trim_heap()
        if self.account.jobs >= min(WARM_JOBS, self.wanted):
            self._rss.append(resident_bytes())

    def _close(self) -> None:
        for client in self.clients:
            client.process.exit()
        self._measure_memory()
        account, scheduler = self.account, self.runtime.scheduler
        account.problems += [f"leaked: {leak}" for leak in self.runtime.close()]
        account.problems += [f"never final: {job}" for job in self.open.values()]
        heap = self.runtime.allocator.heaps["device"].report()
        if heap.free_bytes != heap.capacity_bytes or heap.holes != 1:
            account.problems.append(f"the heap is not fully free again: {heap}")
        account.problems += [f"still mapped: {m.name}" for d in self.runtime.devices for m in d.memory.mappings]
        account.notices, account.resets = scheduler.noted, self.runtime.recovery.resets
        account.ticks, account.digest = self.runtime.now, self._hash.hexdigest()
        account.rss_bytes = (self._rss[0], max(self._rss))

    def _device(self, index: int, env: Environment) -> Device:
        faults = fault_plan(self.profile, self.seed, index)
        image = backends.image(self.scenario.firmware)
        return Device(self.scenario.device, image, seed=self.seed + index, env=env, faults=faults)


def trim_heap() -> None:
    """Have the C library return its free pages to the system, where it can (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim:
        trim(0)


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the platform does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * 4096
