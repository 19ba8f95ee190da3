"""The runtime, the interface of this package: buffers, submissions and waits on devices that share one clock.

    with Runtime(device) as runtime:
        with runtime.allocate(input_bytes) as source, runtime.allocate(output_bytes) as target:
            source.host[:] = tensor_bytes
            result = runtime.run(plan, [source], [target])

Time is simulated: it passes only while somebody waits.
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
from simpy import Environment
from simpy.core import EmptySchedule

from tessbed.kernels.custom.kernel_plan import KernelPlan
from tessbed.kernels.plan import Plan
from tessbed.runtime.address_ranges import JobFootprint
from tessbed.runtime.errors import SubmitError
from tessbed.runtime.identity import Identity, check_free, drive, text_name
from tessbed.runtime.integers import integer, optional_number, whole_number
from tessbed.runtime.jobs import capability, port_binding, prepared_kernel
from tessbed.runtime.jobs.control_block import ControlPool
from tessbed.runtime.jobs.job import OK, Job, JobResult
from tessbed.runtime.jobs.outcome import outcome_of
from tessbed.runtime.jobs.prepared import PreparedJob, prepare
from tessbed.runtime.jobs.prepared_kernel import PreparedKernel, prepare_kernel
from tessbed.runtime.jobs.states import State, Transition
from tessbed.runtime.memory import storage_entry
from tessbed.runtime.memory.allocator import HEAP_FILL, Allocator, Handle, Leak
from tessbed.runtime.memory.buffers import Allocation, Buffer, View
from tessbed.runtime.memory.coherency import CoherencyFinding, Policy, raise_finding
from tessbed.runtime.memory.device_addresses import device_heap
from tessbed.runtime.scheduling import job_entry
from tessbed.runtime.scheduling.device_link import Link
from tessbed.runtime.scheduling.queues import Queue, check_ticks
from tessbed.runtime.scheduling.recovery import Recovery
from tessbed.runtime.scheduling.scheduler import DEVICE_FAULTS, Scheduler
from tessbed.runtime.scheduling.submission import BufferAccess, Order, Submitter
from tessbed.runtime.scheduling.watchdog import Watchdog
from tessbed.sim.device.device import Device
from tessbed.sim.errors import HangError
from tessbed.sim.events import event_queue
from tessbed.sim.events.collector_pace import rare_collections
from tessbed.sim.events.wait_graph import diagnose
from tessbed.sim.spec.device_spec import DeviceSpec

Ports = Sequence[View | Buffer | None]
CHECKERS = ("raise", "report", "off")
PRIORITIES = 1 << 32
MOST_WORKERS = attrs.fields_dict(DeviceSpec)["workers"].metadata["high"]


def _as_devices(given: Device | Sequence[Device]) -> tuple[Device, ...]:
    if isinstance(given, Device):
        return (given,)
    return tuple(given) if isinstance(given, Iterable) else ()


def _granule_bytes(devices: Sequence[Device]) -> int:
    """The widest write granule, 1 where all have byte strobes."""
    return max(device.spec.write_unit_bytes for device in devices)


@attrs.define(eq=False, repr=False)
class Runtime:
    """Everything the host does for `devices` (one, or a sequence on one environment).

    `depth` is the number of jobs that a device holds at a time. `checker` is what becomes of a coherency finding:
    "raise", "report" (it joins `findings`) or "off". `auto_reset` resets a device as soon as a job of it is lost.
    `name` is for messages. A device belongs to one runtime until that is closed; raises SubmitError for one in use.
    Close the runtime, or use it in a `with` statement, which warns of buffers that still live (ResourceWarning).

    Objects of another runtime are refused before anything happens: storage as BindingError, jobs and queues as
    SubmitError, both with the code "foreign" and both runtimes' names. So is all work on a closed runtime.
    """

    devices: tuple[Device, ...] = attrs.field(converter=_as_devices)
    depth: int = attrs.field(default=1, kw_only=True)
    checker: str = attrs.field(default="raise", kw_only=True, validator=attrs.validators.in_(CHECKERS))
    auto_reset: bool = attrs.field(default=True, kw_only=True)
    name: str = attrs.field(default="", kw_only=True)
    identity: Identity = attrs.field(init=False)
    findings: list[CoherencyFinding] = attrs.field(factory=list, init=False)
    allocator: Allocator = attrs.field(init=False)
    scheduler: Scheduler = attrs.field(init=False)
    recovery: Recovery = attrs.field(init=False)
    submitter: Submitter = attrs.field(init=False)
    default_queue: Queue = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.identity = Identity(text_name("Runtime", self.name))
        _check_devices(self.identity, self.devices)
        whole_number("depth", self.depth, 1)
        memories = tuple(device.memory for device in self.devices)
        report = {"raise": raise_finding, "report": self.findings.append, "off": None}[self.checker]
        self.allocator = Allocator(
            memories, {"device": device_heap(memory.spec for memory in memories)}, report, self.identity
        )
        self.scheduler = Scheduler(self.env)
        links = (Link(i, device, self.scheduler.interrupt, self.depth) for i, device in enumerate(self.devices))
        self.scheduler.links = tuple(links)
        self.recovery = Recovery(self.scheduler, self.auto_reset)
        self.scheduler.listeners.append(Watchdog(self.scheduler, self.recovery.quarantined).watch)
        self.submitter = Submitter(ControlPool(self.allocator), self.scheduler, _granule_bytes(self.devices))
        self.default_queue = self.queue("default", capacity=64)
        for device in self.devices:
            drive(self.identity, device)

    @property
    def closed(self) -> bool:
        """True from the call of `close` on."""
        return self.identity.closed

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

        Raises SubmitError for a capacity or timeout below 1, a grace below 0, and on a closed runtime.
        """
        self.identity.check_open("queue")
        text_name("queue", name)
        if integer(capacity) is None:
            raise SubmitError("capacity", f"queue {name}", f"got a capacity of {capacity!r}, wanted an integer")
        whole_number("priority", priority, -PRIORITIES, PRIORITIES)
        self.scheduler.queues.append(Queue(name, capacity, priority, timeout_ticks, grace_ticks, self.identity))
        return self.scheduler.queues[-1]

    def allocate(
        self,
        nbytes: int,
        *,
        name: str = "",
        alignment: int = 16,
        prefill: int = HEAP_FILL,
        writable: bool = True,
        heap: str = "device",
        policy: Policy = Policy.UNCACHED,
    ) -> Buffer:
        """A buffer of `nbytes` full of `prefill`, mapped for every device. See `Allocator.allocate`."""
        return self.allocator.allocate(
            nbytes, name=name, alignment=alignment, prefill=prefill, writable=writable, heap=heap, policy=policy
        )

    def export(self, port: View | Buffer) -> Handle:
        """A handle on the storage, for another runtime. See `Allocator.export`."""
        return self.allocator.export(port)

    def adopt(self, handle: Handle, *, name: str = "") -> View:
        """Another runtime's exported storage, mapped here. See `Allocator.adopt`."""
        return self.allocator.adopt(handle, name=name)

    def submit(
        self,
        plan: Plan | PreparedJob | KernelPlan | PreparedKernel,
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
        """Submit one operation, or a kernel of one's own; the job's owners are held until it is final.

        An empty plan ends at once. A kernel takes a view for each of its inputs and outputs, in their order.

        Raises SubmitError, BindingError, LifetimeError, CapabilityError, NotRepresentable, CoherencyError,
        GranuleConflict, QueueFull, and then nothing has happened.
        """
        order = self._order(queue, after, workers, timeout_ticks, name)
        work = storage_entry.views(self.identity, "workspace", workspace)
        if isinstance(plan, KernelPlan | PreparedKernel):
            made = plan if isinstance(plan, PreparedKernel) else prepare_kernel(plan)
            return self._submit_kernel(made, inputs, outputs, work, order)
        prepared = plan if isinstance(plan, PreparedJob) else prepare(plan)
        sources, targets = port_binding.bind_ports(self.identity, prepared.plan, inputs, outputs)
        if prepared.packet is None:
            return self._skip(order)
        for device in self.devices:
            capability.check_capability(capability.composition(device.firmware), (prepared.needs,))
        raw = prepared.packet.bind(sources[0].address, targets[0].address).raw
        touches = [BufferAccess.of(view, prepared.plan.input.required_bytes, written=False) for view in sources]
        touches += [BufferAccess.of(view, prepared.plan.output.required_bytes, written=True) for view in targets]
        owners = {
            "prepared": (prepared,),
            "inputs": _allocations(sources),
            "outputs": _allocations(targets),
            "workspace": _allocations(work),
        }
        return self.submitter.submit(raw, touches, owners, order)

    def _submit_kernel(
        self, prepared: PreparedKernel, inputs: Ports, outputs: Ports, work: Sequence[View], order: Order
    ) -> Job:
        plan = prepared.plan
        granule = _granule_bytes(self.devices)
        sources, targets = prepared_kernel.bind_kernel_ports(self.identity, plan, inputs, outputs, granule)
        for device in self.devices:
            prepared_kernel.check_held(device.firmware, plan)
        read, written = iter(sources), iter(targets)
        views = [next(written) if port.written else next(read) for port in plan.ports]
        raw = prepared.packet.bind([view.address for view in views]).raw
        touches = [
            BufferAccess.of(view, port.required_bytes, written=port.written)
            for view, port in zip(views, plan.ports, strict=True)
        ]
        owners = {
            "prepared": (prepared,),
            "inputs": _allocations(sources),
            "outputs": _allocations(targets),
            "workspace": _allocations(work),
        }
        return self.submitter.submit(raw, touches, owners, order)

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
        """Submit packet bytes as they are, valid or not: the device judges them. Whole views count as accessed.

        Raises SubmitError, BindingError, LifetimeError, CoherencyError, GranuleConflict, QueueFull, and then nothing
        has happened.
        """
        order = self._order(queue, after, workers, timeout_ticks, name)
        if not isinstance(raw, bytes | bytearray | memoryview):
            raise SubmitError("type", "packet", f"got {storage_entry.kind_of(raw)}, wanted bytes")
        sources = storage_entry.views(self.identity, "inputs", inputs)
        targets = storage_entry.views(self.identity, "outputs", outputs)
        touches = [BufferAccess.of(view, view.length, written=False) for view in sources]
        touches += [BufferAccess.of(view, view.length, written=True) for view in targets]
        owners = {"inputs": _allocations(sources), "outputs": _allocations(targets)}
        return self.submitter.submit(bytes(raw), touches, owners, order)

    def run(
        self,
        plan: Plan | PreparedJob | KernelPlan | PreparedKernel,
        inputs: Ports,
        outputs: Ports,
        *,
        workers: int | None = None,
        name: str = "",
    ) -> JobResult:
        """Submit and wait for that same job. Raises what `submit` and `wait` raise."""
        return self.wait(self.submit(plan, inputs, outputs, workers=workers, name=name))

    def wait(self, job: Job) -> JobResult:
        """Let time pass until the job is over. Raises JobFault, JobLost, JobCancelled, HangError, SubmitError."""
        self.settle(job)
        return outcome_of(job)

    def settle(self, job: Job) -> JobResult:
        """As `wait`, but only reports how the job ended. A lost job is over, a reset or not.

        Raises HangError, SubmitError for what is no job of this runtime.
        """
        over: list[Job] = []
        self.own(job).on_over(over.append)
        try:
            with rare_collections():
                event_queue.run_until_any(self.env, over)
        except EmptySchedule:
            raise self._hang() from None
        return job.result()

    def cancel(self, job: Job) -> None:
        """End a job that has not started. Raises StateError for one that has, SubmitError for another runtime's."""
        self.scheduler.cancel(self.own(job))

    def own(self, job: Job) -> Job:
        """The job, where it is one of this runtime. Raises SubmitError."""
        return job_entry.job(self.identity, "job", job, self.scheduler.live)

    def reset(self, device: int = 0) -> None:
        """Reset a device by its index: its jobs end as recovered once the reset is confirmed, the queues go on.

        Raises SubmitError for an index that no device has, and on a closed runtime.
        """
        self.identity.check_open("reset")
        whole_number("device", device, 0, len(self.devices) - 1)
        self.recovery.reset(self.scheduler.links[device])

    def step(self) -> None:
        """Let the next event happen. Raises HangError when there is none, with who waits for what."""
        try:
            self.env.step()
        except EmptySchedule:
            raise self._hang() from None

    def _hang(self) -> HangError:
        """Who waits for what, where nothing can happen any more."""
        waiting = [line for device in self.devices for line in device.waiting()]
        stuck = [_stuck(job) for job in self.scheduler.live.values()]
        return HangError([*waiting, *stuck], diagnose(waiting) or _silent(stuck))

    @property
    def device_faults(self) -> int:
        """How often a device reported what it could not know: interrupts for jobs that it never got."""
        return sum(self.scheduler.noted[kind] for kind in DEVICE_FAULTS)

    def close(self) -> tuple[Leak, ...]:
        """Cancel what waits, leave no device access behind, give the runtime's pages back; returns what still lives.

        A job that no device ends on its own is ended by a reset: closing files does not stop hardware.
        """
        if not self.closed:
            self.identity.closed = True
            for job in tuple(self.scheduler.live.values()):
                if job.state is State.SUBMITTED:
                    self.scheduler.cancel(job, "its runtime was closed")
            self._quiesce()
            self.submitter.control.close()
            for link in self.scheduler.links:
                link.detach()
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
        self.identity.check_open("with")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and (leaks := self.close()):
            text = f"a runtime was closed with {len(leaks)} buffers that still live: {'; '.join(map(str, leaks))}"
            warnings.warn(text, ResourceWarning, stacklevel=2)

    def _order(self, queue: object, after: object, workers: object, timeout_ticks: object, name: Any) -> Order:
        """What a client asks for beside the bytes, checked. Raises SubmitError."""
        self.identity.check_open("submit")
        return Order(
            self.default_queue if queue is None else job_entry.queue(self.identity, queue),
            job_entry.jobs(self.identity, "after", after, self.scheduler.live),
            optional_number("workers", workers, 1, MOST_WORKERS),
            _timeout(timeout_ticks),
            text_name("submit", name),
        )

    def _skip(self, order: Order) -> Job:
        job = Job(0, order.name, b"", JobFootprint(), order.queue)
        job.outcome = OK
        job.move(Transition.SKIP, self.now)
        return job


def _timeout(ticks: Any) -> int | None:
    check_ticks("timeout_ticks", ticks, 1)
    return ticks


def _check_devices(identity: Identity, devices: Sequence[Device]) -> None:
    """Raise SubmitError for what is no device, is named twice, has another clock, or is in use."""
    if not devices or any(not isinstance(device, Device) or device.env is not devices[0].env for device in devices):
        raise SubmitError("devices", "Runtime", "wanted one device, or several that share one environment")
    for index, device in enumerate(devices):
        if any(device is other for other in devices[:index]):
            raise SubmitError("devices", f"devices[{index}]", "the same device twice; each device has one link")
    for index, device in enumerate(devices):
        check_free(identity, index, device)


def _allocations(ports: Sequence[View]) -> tuple[Allocation, ...]:
    return tuple(view.buffer.live("submission") for view in ports)


def _silent(stuck: Sequence[str]) -> tuple[str, ...]:
    """Nothing waits on any device, yet the host does: it was never notified."""
    return tuple(f"lost signal: no device has anything to do, and {line}" for line in stuck)


def _stuck(job: Job) -> str:
    return f"{job} is {job.state.value} since tick {job.history[-1][0]}"
