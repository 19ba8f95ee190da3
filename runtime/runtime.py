"""The runtime: the face of the room. Buffers, submissions and waits on one or several devices that share one clock.

    with Runtime(device) as runtime:
        source, target = runtime.allocate(plan.input.required_bytes), runtime.allocate(plan.output.required_bytes)
        source.host[:] = tensor_bytes
        result = runtime.run(plan, [source], [target])

Time is simulated: it passes only while somebody waits.
"""

from collections.abc import Mapping, Sequence

import attrs
from simpy import Environment
from simpy.core import EmptySchedule

from tessbed.kernels.plan import Plan
from tessbed.runtime import binding, capability
from tessbed.runtime.allocator import DIRTY, Allocator, Handle, Leak, device_heap
from tessbed.runtime.buffers import Buffer, View, as_view
from tessbed.runtime.control import ControlPool
from tessbed.runtime.errors import GranuleConflict, JobCancelled, JobLost, SubmitError
from tessbed.runtime.jobs import OK, Job, JobResult
from tessbed.runtime.link import Link
from tessbed.runtime.owners import Owned
from tessbed.runtime.prepared import Prepared, prepare
from tessbed.runtime.queues import Queue
from tessbed.runtime.scheduler import Scheduler
from tessbed.runtime.spans import Footprint, Span, conflict
from tessbed.runtime.states import Move, State
from tessbed.runtime.trouble import job_fault
from tessbed.sim.device import Device
from tessbed.sim.errors import HangError

Ports = Sequence[View | Buffer]


@attrs.define(eq=False)
class Runtime:
    """Everything the host does for `devices` (one, or a sequence on one environment).

    `depth` is the number of jobs that a device holds at a time. Close the runtime, or use it in a `with` statement.
    """

    devices: tuple[Device, ...] = attrs.field(
        converter=lambda given: (given,) if isinstance(given, Device) else tuple(given)
    )
    depth: int = attrs.field(default=1, kw_only=True)
    allocator: Allocator = attrs.field(init=False)
    control: ControlPool = attrs.field(init=False)
    scheduler: Scheduler = attrs.field(init=False)
    default_queue: Queue = attrs.field(init=False)
    closed: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if not self.devices or any(device.env is not self.env for device in self.devices):
            raise SubmitError("devices", "Runtime", "wanted one device, or several that share one environment")
        memories = tuple(device.memory for device in self.devices)
        self.allocator = Allocator(memories, {"device": device_heap(memories)})
        self.control = ControlPool(self.allocator)
        self.scheduler = Scheduler(self.env)
        links = (Link(i, device, self.scheduler.interrupt, self.depth) for i, device in enumerate(self.devices))
        self.scheduler.links = tuple(links)
        self.default_queue = self.queue("default", capacity=64)

    @property
    def env(self) -> Environment:
        """The clock that all devices share."""
        return self.devices[0].env

    @property
    def now(self) -> int:
        """The tick it is."""
        return self.scheduler.now

    def queue(self, name: str, *, capacity: int = 16, priority: int = 0) -> Queue:
        """A new queue, for one client."""
        self.scheduler.queues.append(Queue(name, capacity, priority))
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
    ) -> Buffer:
        """A buffer of `nbytes` full of `prefill`, mapped for every device. See `Allocator.allocate`."""
        return self.allocator.allocate(
            nbytes, name=name, alignment=alignment, prefill=prefill, writable=writable, heap=heap
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
        inputs: Sequence[View | Buffer | None],
        outputs: Sequence[View | Buffer | None],
        *,
        queue: Queue | None = None,
        after: Sequence[Job] = (),
        workspace: Ports = (),
        workers: int | None = None,
        name: str = "",
    ) -> Job:
        """Submit one operation; the job's owners are held until it is final. An empty plan ends at once.

        Raises BindingError, CapabilityError, NotRepresentable, GranuleConflict, QueueFull; then nothing has happened.
        """
        prepared = plan if isinstance(plan, Prepared) else prepare(plan)
        sources, targets = binding.bind(prepared.plan, inputs, outputs)
        if prepared.packet is None:
            return self._skip(name, queue)
        for device in self.devices:
            capability.check(capability.composition(device.firmware), (prepared.needs,))
        raw = prepared.packet.bind(sources[0].address, targets[0].address).raw
        reads = (binding.accessed(sources[0], prepared.plan.input),)
        writes = (binding.accessed(targets[0], prepared.plan.output),)
        owners = {"prepared": (prepared,), "inputs": sources, "outputs": targets, "workspace": workspace}
        return self._submit(raw, self._footprint(reads, writes), owners, queue, after, workers, name)

    def submit_packet(
        self,
        raw: bytes,
        inputs: Ports,
        outputs: Ports,
        *,
        queue: Queue | None = None,
        after: Sequence[Job] = (),
        workers: int | None = None,
        name: str = "",
    ) -> Job:
        """Submit packet bytes as they are, valid or not: the device judges them. Whole views count as accessed."""
        sources, targets = tuple(map(as_view, inputs)), tuple(map(as_view, outputs))
        reads, writes = (
            tuple(Span(view.address, view.address + view.length) for view in views) for views in (sources, targets)
        )
        owners = {"inputs": sources, "outputs": targets}
        return self._submit(raw, self._footprint(reads, writes), owners, queue, after, workers, name)

    def run(
        self,
        plan: Plan | Prepared,
        inputs: Sequence[View | Buffer | None],
        outputs: Sequence[View | Buffer | None],
        *,
        workers: int | None = None,
        name: str = "",
    ) -> JobResult:
        """Submit and wait for that same job. Raises what `submit` and `wait` raise."""
        return self.wait(self.submit(plan, inputs, outputs, workers=workers, name=name))

    def wait(self, job: Job) -> JobResult:
        """Let time pass until the job is over. Raises JobFault, JobLost, JobCancelled, HangError."""
        result = self.settle(job)
        if result.outcome == OK:
            return result
        if job.state is State.RETIRED:
            assert job.record is not None
            raise job_fault(str(job), job.record)
        if job.state is State.CANCELLED:
            raise JobCancelled(f"{job}: {job.reason}")
        raise JobLost(f"{job}: {job.reason or 'no completion came'}")

    def settle(self, job: Job) -> JobResult:
        """As `wait`, but only tells how the job ended. A job in quarantine counts as over. Raises HangError."""
        while not (job.final or job.state is State.QUARANTINED):
            self.step()
        return job.result()

    def cancel(self, job: Job) -> None:
        """End a job that has not started. Raises StateError for one that has."""
        self.scheduler.cancel(job)

    def step(self) -> None:
        """Let the next event happen. Raises HangError when there is none, with who waits for what."""
        try:
            self.env.step()
        except EmptySchedule:
            waiting = [line for device in self.devices for line in device.waiting()]
            raise HangError([*waiting, *map(_stuck, self.scheduler.live.values())]) from None

    def close(self) -> tuple[Leak, ...]:
        """Cancel what waits, let the devices finish, give the runtime's own pages back; returns what still lives."""
        if not self.closed:
            for job in tuple(self.scheduler.live.values()):
                if job.state is State.SUBMITTED:
                    self.scheduler.cancel(job, "its runtime was closed")
            while self.scheduler.on_device():
                self.step()
            self.control.close()
            self.closed = True
        return self.allocator.leaks

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()

    def _skip(self, name: str, queue: Queue | None) -> Job:
        job = Job(0, name, b"", Footprint((), (), ()), queue or self.default_queue)
        job.outcome = OK
        job.move(Move.SKIP, self.now)
        return job

    def _footprint(self, reads: tuple[Span, ...], writes: tuple[Span, ...]) -> Footprint:
        units = (1 if spec.byte_strobes else spec.write_granule_bytes for spec in (d.spec for d in self.devices))
        unit = max(units)
        return Footprint(reads, writes, tuple(span.widened(unit) for span in writes))

    def _submit(
        self,
        raw: bytes,
        footprint: Footprint,
        owners: Mapping[str, Sequence[Prepared | View | Buffer]],
        queue: Queue | None,
        after: Sequence[Job],
        workers: int | None,
        name: str,
    ) -> Job:
        queue = queue or self.default_queue
        if self.closed:
            raise SubmitError("closed", "submit", "this runtime is closed")
        queue.check_room()
        self._check_conflicts(name, footprint, after)
        control = self.control.take()
        self.scheduler.issued += 1
        job = Job(self.scheduler.issued, name, raw, footprint, queue, tuple(after), control=control)
        try:
            control.load(raw)
            job.owners.hold("packet", (control,))
            for role, things in owners.items():
                job.owners.hold(role, (_owned(thing) for thing in things))
        except Exception:
            job.owners.release()
            raise
        job.move(Move.BIND, self.now)
        self.scheduler.submit(job, workers)
        return job

    def _check_conflicts(self, name: str, footprint: Footprint, after: Sequence[Job]) -> None:
        ordered = _ancestors(after)
        for other in self.scheduler.live.values():
            if other not in ordered and (found := conflict(footprint, other.footprint)):
                words, mine, theirs = found
                text = f"this job and {other} {words} {mine} and {theirs}; submit it with after=[that job]"
                raise GranuleConflict("granule_conflict", f"job {name!r}", text)


def _owned(thing: Prepared | View | Buffer) -> Owned:
    return thing if isinstance(thing, Prepared) else as_view(thing).buffer.live("submission")


def _ancestors(jobs: Sequence[Job]) -> list[Job]:
    """The jobs and all that they come after."""
    found: list[Job] = []
    todo = list(jobs)
    while todo:
        job = todo.pop()
        if job not in found:
            found.append(job)
            todo.extend(job.after)
    return found


def _stuck(job: Job) -> str:
    return f"{job} is {job.state.value} since tick {job.history[-1][0]}"
