"""The event run: the first frames of a load on the event queue, with runtimes, devices and real bytes.

It is written beside the recurrence, not from it: processes of SimPy for arrivals and jobs, a host that gives idle
servers to jobs once all else of a tick has happened, and for each EV74 job a submission to the runtime, whose packet
the firmware executes with every DMA transfer. Faults strike the device of the job itself; the runtime's watchdog finds
that a job is lost, and its recovery resets the device. What the two must agree on is when each job of each frame was
ready, started and ended, when each frame came and left, and whether it was dropped or failed, from when to when a
device was reset, and the parts of each job's ticks.
"""

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

import attrs
from simpy import Environment
from simpy.events import EventPriority

from tessbed.runtime.invariants import check_runtime
from tessbed.runtime.jobs.job import LOST, OK, Job
from tessbed.runtime.runtime import Runtime
from tessbed.runtime.scheduling.device_link import Link
from tessbed.runtime.scheduling.queues import PATIENCE, Queue
from tessbed.scenarios import backends
from tessbed.scenarios.load.draws import ARRIVAL, root, ticks_of
from tessbed.scenarios.load.load_model import Load
from tessbed.scenarios.load.program import LoadProgram, StageProgram
from tessbed.scenarios.load.recurrence import FrameTimes, JobTimes, ServerReset
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario, ScenarioJob
from tessbed.scenarios.study.load.compilation import device_groups
from tessbed.scenarios.study.load.event_state import DeviceQueue, Frame, ServerQueue, StreamRun
from tessbed.scenarios.study.load.frame_storage import FrameStorage
from tessbed.sim.device.device import Device
from tessbed.sim.events import event_queue
from tessbed.sim.fault_injection import Fault
from tessbed.sim.spec.device_spec import DeviceSpec

MOST_IN_QUEUE = 1 << 20
HOST = EventPriority(4)
"""The place of the host inside a tick: behind effects, workers, arbitration and timeouts."""


@attrs.define(eq=False)
class EventRun:
    """All of it, on one clock."""

    scenario: Scenario
    program: LoadProgram
    env: Environment = attrs.field(factory=Environment)
    streams: list[StreamRun] = attrs.field(init=False)
    queues: list[ServerQueue | DeviceQueue] = attrs.field(init=False)
    times: list[JobTimes] = attrs.field(factory=list)
    stays: list[FrameTimes] = attrs.field(factory=list)
    resets: list[ServerReset] = attrs.field(factory=list)
    wrong: list[str] = attrs.field(factory=list)
    called: bool = False
    load: Load = attrs.field(init=False)
    named: dict[str, str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.load = self.scenario.load or Load()
        self.named = {stage.name: stage.queue for stage in self.load.stages if stage.queue}
        self.streams = [StreamRun(stream) for stream in self.program.streams]
        specs = {group.name: group.spec for group in device_groups(self.scenario)}
        self.queues = [self._station(number, specs.get(one.name)) for number, one in enumerate(self.program.stations)]

    def _station(self, number: int, spec: DeviceSpec | None) -> ServerQueue | DeviceQueue:
        station = self.program.stations[number]
        if station.kind != "device":
            return ServerQueue(number, list(range(station.servers)))
        assert spec is not None
        faults: list[list[tuple[Fault, ...]]] = [[] for _ in range(station.servers)]
        devices = [self._device(spec, planned) for planned in faults]
        runtime = Runtime(devices, name=station.name, depth=station.depth)
        for device in devices:  # behind the runtime's own listeners: it knows what an interrupt means by then
            device.delivery.listeners.append(lambda *_: self._call_host())
        return DeviceQueue(number, runtime, faults)

    def _device(self, spec: DeviceSpec, planned: Sequence[tuple[Fault, ...]]) -> Device:
        """A device with a firmware image of its own: which kernels are loaded is the image's to know."""
        kernels = [job.planned.kernel for job in self.scenario.kernels]
        image = backends.image(self.scenario.firmware, kernels)
        return Device(spec, image, env=self.env, seed=self.scenario.seed, faults=planned.__getitem__)

    def run(self) -> None:
        """Until nothing happens any more."""
        for number in range(len(self.streams)):
            self._begin_arrivals(number)
        while self.env.peek() != float("inf"):
            self.env.step()
        for queue in self.queues:
            if isinstance(queue, DeviceQueue):
                self.wrong += check_runtime(queue.runtime)
                queue.runtime.close()

    # Arrivals

    def _begin_arrivals(self, number: int) -> None:
        stream = self.streams[number].program
        arrivals = stream.arrivals
        if arrivals.kind in ("closed", "at_once"):
            for _ in range(min(arrivals.count, stream.frames)):
                self.env.process(self._after(number, arrivals.first))
        else:
            self.env.process(self._paced(number))

    def _after(self, number: int, ticks: int) -> Generator[Any, Any, None]:
        """One frame, so many ticks from now."""
        if self.streams[number].made < self.streams[number].program.frames:
            if self.env.now + ticks >= self.program.horizon_ticks:
                return
            self.streams[number].made += 1
            yield self.env.timeout(ticks)
            self._come(number)

    def _paced(self, number: int) -> Generator[Any, Any, None]:
        """Frames by a rate or a trace."""
        stream = self.streams[number].program
        arrivals, start = stream.arrivals, root(self.program.seed, 0, number, ARRIVAL)
        tick = 0
        for frame in range(min(stream.frames, len(arrivals.ticks) or stream.frames)):
            if arrivals.kind == "trace":
                tick = arrivals.ticks[frame]
            elif arrivals.kind == "every":
                tick = arrivals.first + frame * (arrivals.between.ticks if arrivals.between else 0)
            elif arrivals.between is not None:
                tick += ticks_of(arrivals.between, start, frame)
            if tick >= self.program.horizon_ticks:
                return
            yield self.env.timeout(tick - self.env.now)
            self._come(number)

    def _come(self, number: int) -> None:
        stream = self.streams[number]
        frame = Frame(
            number=stream.come,
            storage=FrameStorage(self.scenario.seed),
            missing=[set(stage.after) for stage in stream.program.stages],
            inside=stream.program.on_full != "block",
            came=int(self.env.now),
        )
        stream.come += 1
        stream.idle.append(frame)
        self._call_host()

    # The host, once in a tick when all else has happened, and again while it changes anything

    def _call_host(self) -> None:
        if not self.called:
            self.called = True
            event_queue.at(self.env, int(self.env.now), HOST, lambda _: self._host(), None)

    def _host(self) -> None:
        self.called = False
        entered = [self._admit(number) for number in range(len(self.streams))]
        started = [self._serve(number) for number in range(len(self.queues))]
        if any(entered) or any(started) or self._drop():
            self._call_host()

    def _admit(self, number: int) -> bool:
        """Frames come inside, and those inside enter; whether one did."""
        stream, rules = self.streams[number], self.streams[number].program
        changed = False
        for frame in stream.idle:
            if not frame.inside and sum(other.inside for other in stream.idle) < rules.queue:
                frame.inside = changed = True
        for frame in list(stream.idle):
            if frame.inside and not frame.flying and stream.flying < rules.in_flight:
                frame.flying = changed = True
                stream.flying += 1
                for job, stage in enumerate(rules.stages):
                    if not stage.after:
                        self._ready(number, frame, job)
        return changed

    def _ready(self, number: int, frame: Frame, job: int) -> None:
        frame.ready[job] = int(self.env.now)
        stage = self.streams[number].program.stages[job]
        queue = self.queues[stage.station]
        order = (queue.started - PATIENCE * stage.priority, int(self.env.now), number, frame.number, job)
        queue.waiting.append((order, number, frame, job))

    def _serve(self, station: int) -> bool:
        """Jobs start, the first in order on the lowest idle server; whether one did."""
        queue, changed = self.queues[station], False
        while queue.waiting and (server := queue.next_server) is not None:
            entry = min(queue.waiting, key=lambda waiting: waiting[0])
            queue.waiting.remove(entry)
            _, number, frame, job = entry
            if isinstance(queue, ServerQueue):
                queue.take(server)
            queue.started += 1
            if not frame.begun:
                frame.begun = True
                self.streams[number].idle.remove(frame)
            self._start(number, frame, job, server)
            changed = True
        return changed

    def _drop(self) -> bool:
        """Frames that are too many go; whether one did."""
        changed = False
        for number, stream in enumerate(self.streams):
            rules = stream.program
            while rules.on_full != "block" and len(stream.idle) > rules.queue:
                frame = stream.idle[-1 if rules.on_full == "drop_new" else 0]
                stream.idle.remove(frame)
                for queue in self.queues:
                    queue.waiting = [waiting for waiting in queue.waiting if waiting[2] is not frame]
                self._leave(number, frame, "dropped")
                changed = True
        return changed

    # Jobs

    def _start(self, number: int, frame: Frame, job: int, server: int) -> None:
        stage = self.streams[number].program.stages[job]
        queue = self.queues[stage.station]
        ours = next((one for one in self.scenario.jobs if one.name == stage.name), None)
        if ours is not None and isinstance(queue, DeviceQueue):
            self._start_on_device(queue, ours, number, frame, job, server)
        elif isinstance(ours, ScenarioJob):
            ticks = frame.storage.run_here(ours).ticks
            self.env.process(self._occupied(ticks, number, frame, job, server))
        else:
            ticks = ticks_of(stage.ticks, root(self.program.seed, 0, number, job + 1), frame.number)
            self.env.process(self._occupied(ticks, number, frame, job, server))

    def _occupied(
        self, ticks: int, number: int, frame: Frame, job: int, server: int, taken: list[int] | None = None
    ) -> Generator[Any, Any, None]:
        """The job, for so many ticks; the server is one of those `taken` until then."""
        start = int(self.env.now)
        yield self.env.timeout(ticks)
        if taken is not None:
            taken.remove(server)
        self._end(number, frame, job, server, start)

    def _start_on_device(
        self, station: DeviceQueue, ours: AnyJob, number: int, frame: Frame, job: int, server: int
    ) -> None:
        """Submit the job to its queue of the runtime, whose device takes it at once."""
        start, runtime = int(self.env.now), station.runtime
        faults = self._faults(number, frame, ours.name)
        if not ours.empty:
            station.faults[server].append(faults)
        queue = self._queue(station, ours, number, frame)
        judge: Callable[[Job], None]
        if isinstance(ours, KernelJob):
            handed, inputs, targets = frame.storage.submit_kernel(runtime, ours, queue)
            judge = partial(frame.storage.judge_kernel, ours, inputs, targets)
        else:
            handed, source = frame.storage.submit(runtime, ours, queue)
            judge = partial(frame.storage.judge_device, ours, source)
        if handed.over:  # an empty tensor: nothing was submitted
            station.moments.append(server)
            self.env.process(self._occupied(0, number, frame, job, server, station.moments))
            return
        link = runtime.scheduler.link_of(handed)
        if link.index != server:
            self.wrong.append(f"job {ours.name} of frame {frame.number} is on device {link.index}, not on {server}")
        if handed.deadline is not None:
            for tick in (handed.deadline, handed.deadline + queue.grace_ticks):
                event_queue.at(self.env, tick, HOST, lambda _: self._call_host(), None)

        def over(ended: Job) -> None:
            if ours.name not in self.named:
                runtime.scheduler.remove(queue)
            if ended.outcome == OK or not self.program.struck:
                self._judge(judge, ended, number, frame, job, struck=bool(faults))
            if ended.outcome == LOST and not link.resetting:
                self._await_reset(station, link)
            self._end(number, frame, job, server, start, good=ended.outcome == OK)

        handed.on_over(over)

    def _queue(self, station: DeviceQueue, ours: AnyJob, number: int, frame: Frame) -> Queue:
        """That which the job names, of its stream; else one of its own, so that it retires as soon as it has ended."""
        runtime, name = station.runtime, self.named.get(ours.name)
        if name is None:
            return runtime.queue(f"{ours.name} of frame {frame.number}", capacity=1)
        if (number, name) not in station.lines:
            grace = next((one.grace_ticks for one in self.load.queues if one.name == name), 0)
            made = runtime.queue(f"{name} of stream {number}", capacity=MOST_IN_QUEUE, grace_ticks=grace)
            station.lines[number, name] = made
        return station.lines[number, name]

    def _faults(self, number: int, frame: Frame, job: str) -> tuple[Fault, ...]:
        """Those that the scenario has for a job of a frame."""
        where = (self.program.streams[number].name, frame.number, job)
        return tuple(each.fault for each in self.load.faults if (each.stream, each.frame, each.job) == where)

    def _await_reset(self, station: DeviceQueue, link: Link) -> None:
        """A device whose job is lost takes another one when its reset is confirmed."""
        lost = int(self.env.now)
        confirmed = lost + link.device.reset_ticks
        self.resets.append((station.number, link.index, lost, confirmed))
        event_queue.at(self.env, confirmed, HOST, lambda _: self._call_host(), None)

    def _judge(
        self, judge: Callable[[Job], None], ended: Job, number: int, frame: Frame, job: int, *, struck: bool
    ) -> None:
        """The bytes by the oracle, the parts of the ticks by the program where no fault struck."""
        stage = self.streams[number].program.stages[job]
        if ended.outcome != OK:
            self.wrong.append(f"job {stage.name} of frame {frame.number} ended {ended.outcome}: {ended.reason}")
            return
        judge(ended)
        wanted = dict(stage.parts)
        queued = self.program.stations[stage.station].depth > 1 or stage.line >= 0
        left_out = ("load", "queue") if queued else ("load",)
        got = {name: ticks for name, ticks in ended.result().parts.items() if ticks and name not in left_out}
        undisturbed = not struck and not (self.program.struck and self.program.stations[stage.station].depth > 1)
        if got != wanted and undisturbed:
            self.wrong.append(f"job {stage.name} of frame {frame.number}: parts {got}, the exact engine has {wanted}")

    def _end(self, number: int, frame: Frame, job: int, server: int, start: int, *, good: bool = True) -> None:
        stage: StageProgram = self.streams[number].program.stages[job]
        station = self.queues[stage.station]
        if isinstance(station, ServerQueue):
            station.give_back(server)
        self.times.append((number, frame.number, job, frame.ready[job], start, int(self.env.now), server))
        frame.missing[job] = {-1}
        for other, needs in enumerate(frame.missing):
            if good and job in needs:
                needs.remove(job)
                if not needs:
                    self._ready(number, frame, other)
        if not good:
            frame.failed = True
            self._cancel(frame, job)
        if all(needs == {-1} for needs in frame.missing):
            self._leave(number, frame, "failed" if frame.failed else "completed")
        self._call_host()

    def _cancel(self, frame: Frame, job: int) -> None:
        """What needs a job that did not end well never starts, and neither does what needs that."""
        for other, needs in enumerate(frame.missing):
            if job in needs:
                frame.missing[other] = {-1}
                self._cancel(frame, other)

    def _leave(self, number: int, frame: Frame, outcome: str) -> None:
        stream = self.streams[number]
        self.stays.append((number, frame.number, frame.came, int(self.env.now), outcome))
        stream.flying -= frame.flying
        self.wrong += [f"frame {frame.number} of {stream.program.name}: {text}" for text in frame.storage.wrong]
        frame.storage.stack.close()
        if stream.program.arrivals.kind == "closed":
            self.env.process(self._after(number, stream.program.arrivals.think))
