"""The event run: the first frames of a load on the event queue, with runtimes, devices and real bytes.

It is written beside the recurrence, not from it: processes of SimPy for arrivals and jobs, a host that gives idle
servers to jobs once all else of a tick has happened, and for each EV74 job a submission to the runtime, whose packet
the firmware executes with every DMA transfer. What the two must agree on is when each job of each frame was ready,
started and ended, which frames were dropped, and the parts of each job's ticks.
"""

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import attrs
from simpy import Environment
from simpy.events import EventPriority

from tessbed.runtime.jobs.job import OK, Job
from tessbed.runtime.runtime import Runtime
from tessbed.runtime.scheduling.queues import PATIENCE
from tessbed.scenarios import backends
from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.load.draws import ARRIVAL, root, ticks_of
from tessbed.scenarios.load.program import LoadProgram, StageProgram, StreamProgram
from tessbed.scenarios.load.recurrence import JobTimes, times_of_jobs
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario, ScenarioJob
from tessbed.scenarios.study.load.compilation import device_groups
from tessbed.scenarios.study.load.frame_storage import FrameStorage
from tessbed.sim.device.device import Device
from tessbed.sim.events import event_queue
from tessbed.sim.spec.device_spec import DeviceSpec

HOST = EventPriority(4)
"""The place of the host inside a tick: behind effects, workers, arbitration and timeouts."""
VERIFIED_FRAMES = 6
"""So many frames of each stream are run."""


@attrs.define(eq=False)
class Frame:
    """A frame: its jobs that are left, and the jobs that each of them still waits for."""

    number: int
    storage: FrameStorage
    missing: list[set[int]]
    ready: dict[int, int] = attrs.field(factory=dict)
    begun: bool = False
    inside: bool = False
    flying: bool = False


@attrs.define(eq=False)
class HostQueue:
    """The jobs that wait for one station, and who serves them: servers by number, or a runtime for each device."""

    servers: list[int]
    runtime: Runtime | None
    waiting: list[tuple[Any, int, Frame, int]] = attrs.field(factory=list)
    started: int = 0


@attrs.define(eq=False)
class StreamRun:
    """A stream: frames that have not begun, in their order, and how many have entered."""

    program: StreamProgram
    idle: deque[Frame] = attrs.field(factory=deque)
    flying: int = 0
    made: int = 0
    come: int = 0
    dropped: list[int] = attrs.field(factory=list)


@attrs.define(eq=False)
class EventRun:
    """All of it, on one clock."""

    scenario: Scenario
    program: LoadProgram
    env: Environment = attrs.field(factory=Environment)
    streams: list[StreamRun] = attrs.field(init=False)
    queues: list[HostQueue] = attrs.field(init=False)
    times: list[JobTimes] = attrs.field(factory=list)
    wrong: list[str] = attrs.field(factory=list)
    called: bool = False

    def __attrs_post_init__(self) -> None:
        self.streams = [StreamRun(stream) for stream in self.program.streams]
        specs = {group.name: group.spec for group in device_groups(self.scenario)}
        self.queues = []
        for station in self.program.stations:
            runtime = None
            if station.kind == "device":
                devices = [self._device(specs[station.name]) for _ in range(station.servers)]
                runtime = Runtime(devices, name=station.name)
            self.queues.append(HostQueue(list(range(station.servers)), runtime))

    def _device(self, spec: DeviceSpec) -> Device:
        """A device with a firmware image of its own: which kernels are loaded is the image's to know."""
        kernels = [job.planned.kernel for job in self.scenario.kernels]
        return Device(spec, backends.image(self.scenario.firmware, kernels), env=self.env, seed=self.scenario.seed)

    def run(self) -> None:
        """Until nothing happens any more."""
        for number in range(len(self.streams)):
            self._begin_arrivals(number)
        while self.env.peek() != float("inf"):
            self.env.step()
        for queue in self.queues:
            if queue.runtime is not None:
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
        while queue.servers and queue.waiting:
            entry = min(queue.waiting, key=lambda waiting: waiting[0])
            queue.waiting.remove(entry)
            _, number, frame, job = entry
            server = min(queue.servers)
            queue.servers.remove(server)
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
                stream.dropped.append(frame.number)
                for queue in self.queues:
                    queue.waiting = [waiting for waiting in queue.waiting if waiting[2] is not frame]
                self._leave(number, frame)
                changed = True
        return changed

    # Jobs

    def _start(self, number: int, frame: Frame, job: int, server: int) -> None:
        stage = self.streams[number].program.stages[job]
        queue = self.queues[stage.station]
        ours = next((one for one in self.scenario.jobs if one.name == stage.name), None)
        if ours is not None and queue.runtime is not None:
            self._start_on_device(queue.runtime, ours, number, frame, job, server)
        elif isinstance(ours, ScenarioJob):
            ticks = frame.storage.run_here(ours).ticks
            self.env.process(self._occupied(ticks, number, frame, job, server))
        else:
            ticks = ticks_of(stage.ticks, root(self.program.seed, 0, number, job + 1), frame.number)
            self.env.process(self._occupied(ticks, number, frame, job, server))

    def _occupied(self, ticks: int, number: int, frame: Frame, job: int, server: int) -> Generator[Any, Any, None]:
        start = int(self.env.now)
        yield self.env.timeout(ticks)
        self._end(number, frame, job, server, start)

    def _start_on_device(
        self, runtime: Runtime, ours: AnyJob, number: int, frame: Frame, job: int, server: int
    ) -> None:
        """Submit the job; its queue is its own, so that it retires as soon as it has ended."""
        start = int(self.env.now)
        queue = runtime.queue(f"{ours.name} of frame {frame.number}", capacity=1)
        judge: Callable[[Job], None]
        if isinstance(ours, KernelJob):
            handed, inputs, targets = frame.storage.submit_kernel(runtime, ours, queue)
            judge = partial(frame.storage.judge_kernel, ours, inputs, targets)
        else:
            handed, source = frame.storage.submit(runtime, ours, queue)
            judge = partial(frame.storage.judge_device, ours, source)
        if handed.over:  # an empty tensor: nothing was submitted
            self.env.process(self._occupied(0, number, frame, job, server))
            return

        def over(ended: Job) -> None:
            runtime.scheduler.remove(queue)
            self._judge(judge, ended, number, frame, job)
            self._end(number, frame, job, server, start)

        handed.on_over(over)

    def _judge(self, judge: Callable[[Job], None], ended: Job, number: int, frame: Frame, job: int) -> None:
        """The bytes by the oracle, the parts of the ticks by the program."""
        stage = self.streams[number].program.stages[job]
        if ended.outcome != OK:
            self.wrong.append(f"job {stage.name} of frame {frame.number} ended {ended.outcome}: {ended.reason}")
            return
        judge(ended)
        wanted = dict(stage.parts)
        got = {name: ticks for name, ticks in ended.result().parts.items() if ticks and name != "load"}
        if got != wanted:
            self.wrong.append(f"job {stage.name} of frame {frame.number}: parts {got}, the exact engine has {wanted}")

    def _end(self, number: int, frame: Frame, job: int, server: int, start: int) -> None:
        stage: StageProgram = self.streams[number].program.stages[job]
        self.queues[stage.station].servers.append(server)
        self.times.append((number, frame.number, job, frame.ready[job], start, int(self.env.now), server))
        frame.missing[job] = {-1}
        for other, needs in enumerate(frame.missing):
            if job in needs:
                needs.remove(job)
                if not needs:
                    self._ready(number, frame, other)
        if all(needs == {-1} for needs in frame.missing):
            self._leave(number, frame)
        self._call_host()

    def _leave(self, number: int, frame: Frame) -> None:
        stream = self.streams[number]
        stream.flying -= frame.flying
        self.wrong += [f"frame {frame.number} of {stream.program.name}: {text}" for text in frame.storage.wrong]
        frame.storage.stack.close()
        if stream.program.arrivals.kind == "closed":
            self.env.process(self._after(number, stream.program.arrivals.think))


def first_frames(program: LoadProgram, frames: int) -> LoadProgram:
    """The load with so many frames of each stream, at most."""
    streams = tuple(attrs.evolve(stream, frames=min(frames, stream.frames)) for stream in program.streams)
    return attrs.evolve(program, streams=streams, replications=1, warmup=0)


def verification(scenario: Scenario, program: LoadProgram, frames: int = VERIFIED_FRAMES) -> dict[str, Any]:
    """How many frames and jobs ran by events, and the first thing in which they and the recurrence differ, or None."""
    short = first_frames(program, frames)
    run = EventRun(prepared(scenario), short)
    run.run()
    text = run.wrong[0] if run.wrong else _first_difference(short, sorted(run.times), times_of_jobs(short))
    return {"frames": sum(stream.come for stream in run.streams), "jobs": len(run.times), "disagreement": text}


def _first_difference(program: LoadProgram, ran: list[JobTimes], computed: list[JobTimes]) -> str | None:
    if ran == computed:
        return None
    events, recurrence = ({each[:3]: each[3:] for each in times} for times in (ran, computed))
    key = min(key for key in {**events, **recurrence} if events.get(key) != recurrence.get(key))
    stream = program.streams[key[0]]
    where = f"job {stream.stages[key[2]].name} of frame {key[1]} of {stream.name}"
    return f"{where}: ready, start, end, server {events.get(key)} by events, {recurrence.get(key)} by the recurrence"
