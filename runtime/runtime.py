"""The runtime: the face of the room. Buffers, submissions and waits on one or several devices that share one clock.

    with Runtime(device) as runtime:
        with runtime.allocate(input_bytes) as source, runtime.allocate(output_bytes) as target:
            source.host[:] = tensor_bytes
            result = runtime.run(plan, [source], [target])

Time is simulated: it passes only while somebody waits.
"""

import warnings
from collections.abc import Mapping, Sequence

import attrs
from simpy import Environment
from simpy.core import EmptySchedule

from tessbed.kernels.plan import Plan
from tessbed.runtime import binding, capability
from tessbed.runtime.allocator import DIRTY, Allocator, Handle, Leak, device_heap
from tessbed.runtime.buffers import Allocation, Buffer, View, as_view
from tessbed.runtime.coherency import Finding, Policy, refuse
from tessbed.runtime.control import ControlPool
from tessbed.runtime.errors import SubmitError
from tessbed.runtime.jobs import OK, Job, JobResult
from tessbed.runtime.link import Link
from tessbed.runtime.owners import Owned
from tessbed.runtime.prepared import Prepared, prepare
from tessbed.runtime.queues import Queue
from tessbed.runtime.recovery import Recovery
from tessbed.runtime.scheduler import DEVICE_FAULTS, Scheduler
from tessbed.runtime.spans import Footprint
from tessbed.runtime.states import Move, State
from tessbed.runtime.submission import Order, Submitter, Touch
from tessbed.runtime.trouble import verdict
from tessbed.runtime.watchdog import Watchdog
from tessbed.sim.device import Device
from tessbed.sim.diagnosis import diagnose
from tessbed.sim.errors import HangError

Ports = Sequence[View | Buffer | None]
CHECKERS = ("raise", "report", "off")


def _as_devices(given: Device | Sequence[Device]) -> tuple[Device, ...]:
    return (given,) if isinstance(given, Device) else tuple(given)


def _granule_bytes(devices: Sequence[Device]) -> int:
    """The widest write granule, 1 where all have byte strobes."""
    return max(device.spec.write_unit_bytes for device in devices)


@attrs.define(eq=False, repr=False)
class Runtime:
    """Everything the host does for `devices` (one, or a sequence on one environment).

    `depth` is the number of jobs that a device holds at a time. `checker` is what becomes of a coherency finding:
    "raise", "report" (it joins `findings`) or "off". `auto_reset` resets a device as soon as a job of it is lost.
    Close the runtime, or use it in a `with` statement, which warns of buffers that still live (ResourceWarning).
    """

    devices: tuple[Device, ...] = attrs.field(converter=_as_devices)
    depth: int = attrs.field(default=1, kw_only=True)
    checker: str = attrs.field(default="raise", kw_only=True, validator=attrs.validators.in_(CHECKERS))
    auto_reset: bool = attrs.field(default=True, kw_only=True)
    findings: list[Finding] = attrs.field(factory=list, init=False)
    allocator: Allocator = attrs.field(init=False)
    scheduler: Scheduler = attrs.field(init=False)
    recovery: Recovery = attrs.field(init=False)
    submitter: Submitter = attrs.field(init=False)
    default_queue: Queue = attrs.field(init=False)
    closed: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if not self.devices or any(device.env is not self.env for device in self.devices):
            raise SubmitError("devices", "Runtime", "wanted one device, or several that share one environment")
        memories = tuple(device.memory for device in self.devices)
        report = {"raise": refuse, "report": self.findings.append, "off": None}[self.checker]
        self.allocator = Allocator(memories, {"device": device_heap(memories)}, report)
        self.scheduler = Scheduler(self.env)
        links = (Link(i, device, self.scheduler.interrupt, self.depth) for i, device in enumerate(self.devices))
        self.scheduler.links = tuple(links)
        self.recovery = Recovery(self.scheduler, self.auto_reset)
        self.scheduler.watch = Watchdog(self.scheduler, self.recovery.quarantined).watch
        self.submitter = Submitter(ControlPool(self.allocator), self.scheduler, _granule_bytes(self.devices))
        self.default_queue = self.queue("default", capacity=64)

    @property
    def env(self) -> Environment:
        """The clock that all devices share."""
        return self.devices[0].env

    @property
    def now(self) -> int:
        """The tick it is."""
        return self.scheduler.now

    def queue(
        self,
        name: str,
        *,
        capacity: int = 16,
        priority: int = 0,
        timeout_ticks: int | None = None,
        grace_ticks: int = 0,
    ) -> Queue:
        """A new queue, for one client. `timeout_ticks` counts from the submission of each job, `grace_ticks` on.

        Raises SubmitError for a capacity or timeout below 1, a grace below 0.
        """
        self.scheduler.queues.append(Queue(name, capacity, priority, timeout_ticks, grace_ticks))
        return self.scheduler.queues[-1]

    def allocate(
        self,
        nbytes: int,
        *,
        name: str = "",
        alignment: int = 16,
        prefill: int = DIRTY,
        writable: bool = True,
        heap: str = "device",
        policy: Policy = Policy.UNCACHED,
    ) -> Buffer:
        """A buffer of `nbytes` full of `prefill`, mapped for every device. See `Allocator.allocate`."""
        return self.allocator.allocate(
            nbytes, name=name, alignment=alignment, prefill=prefill, writable=writable, heap=heap, policy=policy
        )

    def export(self, port: View | Buffer) -> Handle:
        """A handle on the storage, for another runtime."""
        return self.allocator.export(as_view(port))

    def adopt(self, handle: Handle, *, name: str = "") -> View:
        """Another runtime's exported storage, mapped here."""
        return self.allocator.adopt(handle, name=name)

    def submit(
        self,
        plan: Plan | Prepared,
        inputs: Ports,
        outputs: Ports,
        *,
        queue: Queue | None = None,
        after: Sequence[Job] = (),
        workspace: Sequence[View | Buffer] = (),
        workers: int | None = None,
        timeout_ticks: int | None = None,
        name: str = "",
    ) -> Job:
        """Submit one operation; the job's owners are held until it is final. An empty plan ends at once.

        Raises BindingError, CapabilityError, NotRepresentable, CoherencyError, GranuleConflict, QueueFull, and then
        nothing has happened.
        """
        prepared = plan if isinstance(plan, Prepared) else prepare(plan)
        sources, targets = binding.bind(prepared.plan, inputs, outputs)
        if prepared.packet is None:
            return self._skip(name, queue or self.default_queue)
        for device in self.devices:
            capability.check(capability.composition(device.firmware), (prepared.needs,))
        raw = prepared.packet.bind(sources[0].address, targets[0].address).raw
        touches = [Touch.of(view, prepared.plan.input.required_bytes, written=False) for view in sources]
        touches += [Touch.of(view, prepared.plan.output.required_bytes, written=True) for view in targets]
        owners = {
            "prepared": (prepared,),
            "inputs": _allocations(sources),
            "outputs": _allocations(targets),
            "workspace": _allocations([as_view(port) for port in workspace]),
        }
        order = Order(queue or self.default_queue, tuple(after), workers, timeout_ticks, name)
        return self._submit(raw, touches, owners, order)

    def submit_packet(
        self,
        raw: bytes,
        inputs: Sequence[View | Buffer],
        outputs: Sequence[View | Buffer],
        *,
        queue: Queue | None = None,
        after: Sequence[Job] = (),
        workers: int | None = None,
        timeout_ticks: int | None = None,
        name: str = "",
    ) -> Job:
        """Submit packet bytes as they are, valid or not: the device judges them. Whole views count as accessed."""
        sources, targets = tuple(map(as_view, inputs)), tuple(map(as_view, outputs))
        touches = [Touch.of(view, view.length, written=False) for view in sources]
        touches += [Touch.of(view, view.length, written=True) for view in targets]
        owners = {"inputs": _allocations(sources), "outputs": _allocations(targets)}
        order = Order(queue or self.default_queue, tuple(after), workers, timeout_ticks, name)
        return self._submit(raw, touches, owners, order)

    def run(
        self,
        plan: Plan | Prepared,
        inputs: Ports,
        outputs: Ports,
        *,
        workers: int | None = None,
        name: str = "",
    ) -> JobResult:
        """Submit and wait for that same job. Raises what `submit` and `wait` raise."""
        return self.wait(self.submit(plan, inputs, outputs, workers=workers, name=name))

    def wait(self, job: Job) -> JobResult:
        """Let time pass until the job is over. Raises JobFault, JobLost, JobCancelled, HangError."""
        self.settle(job)
        return verdict(job)

    def settle(self, job: Job) -> JobResult:
        """As `wait`, but only tells how the job ended. A lost job is over, a reset or not. Raises HangError."""
        while not job.over:
            self.step()
        return job.result()

    def cancel(self, job: Job) -> None:
        """End a job that has not started. Raises StateError for one that has."""
        self.scheduler.cancel(job)

    def reset(self, device: int = 0) -> None:
        """Reset a device by its index: its jobs end as recovered once the reset is confirmed, the queues go on."""
        self.recovery.reset(self.scheduler.links[device])

    def step(self) -> None:
        """Let the next event happen. Raises HangError when there is none, with who waits for what."""
        try:
            self.env.step()
        except EmptySchedule:
            waiting = [line for device in self.devices for line in device.waiting()]
            stuck = [_stuck(job) for job in self.scheduler.live.values()]
            raise HangError([*waiting, *stuck], diagnose(waiting) or _silent(stuck)) from None

    @property
    def device_faults(self) -> int:
        """How often a device reported what it could not know: interrupts for jobs that it never got."""
        return sum(self.scheduler.noted[kind] for kind in DEVICE_FAULTS)

    def close(self) -> tuple[Leak, ...]:
        """Cancel what waits, leave no device access behind, give the runtime's pages back; returns what still lives.

        A job that no device ends on its own is ended by a reset: closing files does not stop hardware.
        """
        if not self.closed:
            self.closed = True
            for job in tuple(self.scheduler.live.values()):
                if job.state is State.SUBMITTED:
                    self.scheduler.cancel(job, "its runtime was closed")
            self._quiesce()
            self.submitter.control.close()
        return self.allocator.leaks

    def _quiesce(self) -> None:
        """Let time pass until no device has a job; reset the devices that have one when nothing else can happen."""
        while self.scheduler.live:
            if self.env.peek() == float("inf") or all(job.over for job in self.scheduler.live.values()):
                for link in self.scheduler.links:
                    if link.jobs:
                        self.recovery.reset(link)
            self.step()

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and (leaks := self.close()):
            text = f"a runtime was closed with {len(leaks)} buffers that still live: {'; '.join(map(str, leaks))}"
            warnings.warn(text, ResourceWarning, stacklevel=2)

    def _submit(self, raw: bytes, touches: Sequence[Touch], owners: Mapping[str, Sequence[Owned]], order: Order) -> Job:
        if self.closed:
            raise SubmitError("closed", "submit", "this runtime is closed")
        return self.submitter.submit(raw, touches, owners, order)

    def _skip(self, name: str, queue: Queue) -> Job:
        job = Job(0, name, b"", Footprint(), queue)
        job.outcome = OK
        job.move(Move.SKIP, self.now)
        return job


def _allocations(ports: Sequence[View]) -> tuple[Allocation, ...]:
    return tuple(view.buffer.live("submission") for view in ports)


def _silent(stuck: Sequence[str]) -> tuple[str, ...]:
    """Nothing waits on any device, yet the host does: it was told nothing."""
    return tuple(f"lost signal: no device has anything to do, and {line}" for line in stuck)


def _stuck(job: Job) -> str:
    return f"{job} is {job.state.value} since tick {job.history[-1][0]}"
