"""Compilation: from a scenario with a load to its program; the exact engine is asked once for each class of jobs.

A class is what decides the ticks of a job on a device: its operation, its geometry, the phase of its addresses modulo
4096 (storage is handed out in whole pages, so that the phase is always that of a page's start), and whether its kernel
is loaded. Each device has a memory port of its own: if devices ever share one, a class is not enough.
"""

from collections.abc import Mapping, Sequence

import attrs

from tessbed.kernels.a65 import prepared as a65
from tessbed.kernels.a65.cost.model import modelled_ticks
from tessbed.kernels.errors import NotRepresentable
from tessbed.runtime.errors import HeapExhausted
from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.exact_device import ExactDevice
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.load.load_model import (
    A65_SERVER,
    DEVICE_SERVER,
    DeviceGroup,
    Distribution,
    FrameFault,
    Load,
    Stage,
    Stream,
    order_of,
)
from tessbed.scenarios.load.program import NO_LIMIT, LoadProgram, StageProgram, Station, StreamProgram, StruckJob
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario, ScenarioJob
from tessbed.scenarios.study.load.fault_effects import EffectTable, fault_refusal
from tessbed.sim.spec.device_spec import DeviceSpec


@attrs.frozen
class JobClass:
    """What a job takes on a device once its kernel is loaded, part by part, and what loading that takes."""

    parts: tuple[tuple[str, int], ...]
    load_ticks: int

    @property
    def ticks(self) -> int:
        """From the doorbell to the host's wake-up, the kernel loaded."""
        return sum(ticks for _, ticks in self.parts)


@attrs.define
class ClassTable:
    """The classes that were asked for so far."""

    known: dict[tuple[int, DeviceSpec], JobClass] = attrs.field(factory=dict)

    def of(self, job: AnyJob, spec: DeviceSpec) -> JobClass:
        """The class of a job on a device. Raises HeapExhausted, NotRepresentable."""
        key = (job.index, spec)
        if key not in self.known:
            parts = dict(ExactDevice(spec).run(job).parts)
            load_ticks = parts.pop("load", 0)
            self.known[key] = JobClass(tuple((name, ticks) for name, ticks in parts.items() if ticks), load_ticks)
        return self.known[key]


def device_groups(scenario: Scenario) -> tuple[DeviceGroup, ...]:
    """The devices of a load; the scenario's own where it names none."""
    load = scenario.load or Load()
    return load.devices or (DeviceGroup(DEVICE_SERVER, 1, {}, scenario.device),)


def on_a65(job: AnyJob) -> bool:
    """Whether a load runs the job on a core: one of both backends runs on the EV74."""
    return job.backends == ("a65",)


def compile_load(scenario: Scenario) -> LoadProgram:
    """The program. Raises ScenarioError for what no load can be."""
    load = check_streams(scenario)
    scenario = prepared(scenario)
    _check_jobs(scenario, load)
    stations = _stations(scenario, load)
    classes, kernels = ClassTable(), _kernels(scenario)
    streams = tuple(_stream(scenario, load, stream, stations, classes, kernels) for stream in load.streams)
    _check_deadlines(load, streams)
    _check_ends(load, streams)
    struck = _struck(scenario, load, streams)
    return LoadProgram(
        stations=stations,
        streams=streams,
        struck=struck,
        numbered=bool(struck),
        kernels=len(set(kernels.values())),
        horizon_ticks=NO_LIMIT if load.horizon_ticks is None else load.horizon_ticks,
        warmup=load.warmup,
        replications=load.replications,
        seed=load.seed,
    )


def check_streams(scenario: Scenario) -> Load:
    """The load of a scenario that has streams. Raises ScenarioError for one that has none."""
    if scenario.load is None or not scenario.load.streams:
        text = (
            "no [[streams]], wanted at least one: a load needs frames, as in `[[streams]]` with `name` and `fps = 30`"
        )
        raise ScenarioError([Problem(Location(scenario.name), text, "missing_key")])
    return scenario.load


def _check_jobs(scenario: Scenario, load: Load) -> None:
    """Raise ScenarioError for what a job of a stream can not have, for all jobs at once."""
    used = {name for stream in load.streams for name in stream.jobs}
    problems = []
    for job in scenario.jobs:
        if job.name in used and (found := _unfit_key(job)) is not None:
            key, text = found
            place = load.stage(job.name).places.get(key) or Location(scenario.name)
            problems.append(Problem(place, f"jobs[{job.index}].{key}: {text}"))
    if problems:
        raise ScenarioError(problems)


def _unfit_key(job: AnyJob) -> tuple[str, str] | None:
    """The key of a job with which no load can run it, and why."""
    if isinstance(job, KernelJob) and job.planned.level == "body":
        text = "got a kernel at level body, wanted one of bands, or jobs in [[streams]] without it: when a body waits"
        return "kernel", f"{text} is known to the event engine alone"
    if job.faults:
        strike = f'stream, frame = 17, job = "{job.name}" and kind = "{job.faults[0].kind}"'
        return "faults", f"got faults, which would strike every frame, wanted [[faults]] of the load, with {strike}"
    if job.expected_fault:
        text = f"got {job.expected_fault}, wanted no such key: no frame of a load has a fault by itself"
        return "expect.fault", text
    return None


def _stations(scenario: Scenario, load: Load) -> tuple[Station, ...]:
    """The servers that some stream uses: devices, cores, then the others in the order of their jobs."""
    used = [load.stage(name) for stream in load.streams for name in stream.jobs]
    ours = {job.index: job for job in scenario.jobs}
    running = [ours[stage.index] for stage in used if stage.index in ours]
    found = []
    if any(not on_a65(job) for job in running):
        found += [Station(group.name, "device", group.count, group.depth) for group in device_groups(scenario)]
    if any(on_a65(job) for job in running):
        found.append(Station(A65_SERVER, "a65", load.cores))
    counts = {server.name: server.count for server in load.servers}
    external = dict.fromkeys(stage.server for stage in used if stage.server)
    return (*found, *(Station(name, "external", counts.get(name, 1)) for name in external))


def _kernels(scenario: Scenario) -> dict[int, int]:
    """The number of the kernel of each job on a device, as a device tells kernels apart."""
    numbers: dict[tuple[str, str], int] = {}
    return {
        job.index: numbers.setdefault(_kernel(job), len(numbers))
        for job in scenario.jobs
        if not on_a65(job) and not job.empty
    }


def _kernel(job: AnyJob) -> tuple[str, str]:
    """Operation and scalar type of the tiles, or the name and hash of a kernel of one's own."""
    if isinstance(job, KernelJob):
        return job.planned.name, job.planned.digest
    return job.plan.op.name, job.plan.tiled_dtype.value


def _stream(
    scenario: Scenario,
    load: Load,
    stream: Stream,
    stations: Sequence[Station],
    classes: ClassTable,
    kernels: Mapping[int, int],
) -> StreamProgram:
    numbers = {station.name: number for number, station in enumerate(stations)}
    stages = {name: load.stage(name) for name in stream.jobs}
    order = list(order_of({name: stage.needs for name, stage in stages.items()}))
    made = []
    for name in order:
        stage = stages[name]
        after = tuple(sorted(order.index(other) for other in stage.needs))
        before = tuple(place for place, other in enumerate(order) if name in stages[other].needs)
        program = _stage(scenario, stream, stage, numbers, classes, kernels)
        made.append(attrs.evolve(program, after=after, before=before))
    own = stream.arrivals.kind in ("trace", "at_once")
    frames = NO_LIMIT if own or load.frames is None else load.frames
    return StreamProgram(
        name=stream.name,
        stages=tuple(made),
        arrivals=stream.arrivals,
        frames=frames,
        deadline_ticks=stream.deadline_ticks,
        in_flight=stream.in_flight or _places(stream, made, stations),
        queue=NO_LIMIT if stream.queue is None else stream.queue,
        on_full=stream.on_full,
        place_per_server=stream.queue is not None and stream.in_flight is None,
    )


def _places(stream: Stream, stages: Sequence[StageProgram], stations: Sequence[Station]) -> int:
    """The frames in flight where a stream does not say how many.

    With a bounded queue, one for each server that its jobs use: more would only wait inside, where no frame is dropped.
    """
    if stream.queue is None:
        return NO_LIMIT
    used = dict.fromkeys(stage.station for stage in stages)
    return sum(stations[number].servers for number in used)


def _stage(
    scenario: Scenario,
    stream: Stream,
    stage: Stage,
    numbers: Mapping[str, int],
    classes: ClassTable,
    kernels: Mapping[int, int],
) -> StageProgram:
    if stage.server is not None and stage.ticks is not None:
        return StageProgram(stage.name, numbers[stage.server], stage.ticks)
    job = next(job for job in scenario.jobs if job.index == stage.index)
    priority = stream.priority if stage.priority is None else stage.priority
    if isinstance(job, ScenarioJob) and on_a65(job):
        ticks = a65_ticks(job)
        return StageProgram(stage.name, numbers[A65_SERVER], Distribution("constant", ticks), priority=priority)
    group = group_of(device_groups(scenario), stage, stream)
    found = _class_on(group, job, classes)
    _check_timeout(stage, job, found, group)
    return StageProgram(
        name=stage.name,
        station=numbers[group.name],
        ticks=Distribution("constant", found.ticks),
        priority=priority,
        kernel=kernels.get(job.index, -1),
        load_ticks=found.load_ticks,
        tail_ticks=dict(found.parts).get("completion", 0) if group.depth > 1 else 0,
        parts=found.parts,
    )


def _class_on(group: DeviceGroup, job: AnyJob, classes: ClassTable) -> JobClass:
    """The class of the job there. Raises ScenarioError where devices of the group can not hold it."""
    try:
        return classes.of(job, group.spec)
    except (HeapExhausted, NotRepresentable) as error:
        text = f"devices {group.name}: got a device on which jobs[{job.index}] has no room, wanted a larger one"
        raise ScenarioError([Problem(group.place or Location(group.name), f"{text}: {error}")]) from error


def _check_timeout(stage: Stage, job: AnyJob, found: JobClass, group: DeviceGroup) -> None:
    """Raise ScenarioError for a timeout within which no run of the job ends, or of a job that others are beside."""
    needed = found.ticks + found.load_ticks
    if job.timeout_ticks is not None and group.depth > 1:
        text = f"got {group.depth} with timeout_ticks at jobs[{stage.index}], wanted one of them: what a reset does to"
        place = group.place or Location(group.name)
        raise ScenarioError([Problem(place, f"devices {group.name}: depth: {text} the jobs beside it is no load's")])
    if job.timeout_ticks is not None and job.timeout_ticks < needed:
        text = f"got {job.timeout_ticks}, wanted at least {needed}: so long takes the job with nothing wrong"
        raise ScenarioError([Problem(stage.places["timeout_ticks"], f"jobs[{stage.index}].timeout_ticks: {text}")])


def _struck(scenario: Scenario, load: Load, streams: Sequence[StreamProgram]) -> tuple[StruckJob, ...]:
    """The jobs that faults strike, several of one job together, in the order of their numbers."""
    effects, named = EffectTable(scenario), [stream.name for stream in load.streams]
    together: dict[tuple[int, int, int], list[FrameFault]] = {}
    for fault in load.faults:
        number = named.index(fault.stream)
        job = [stage.name for stage in streams[number].stages].index(fault.job)
        together.setdefault((number, fault.frame, job), []).append(fault)
    found = []
    for (number, frame, place), faults in sorted(together.items()):
        stage = load.stage(faults[0].job)
        job = next(job for job in scenario.jobs if job.index == stage.index)
        group = group_of(device_groups(scenario), stage, load.streams[number])
        spec = group.spec
        if group.depth > 1:
            text = f"got {faults[0].fault.kind} on {group.name} of depth {group.depth}, wanted depth = 1 there: what a"
            raise fault_refusal(faults[0], f"{text} fault does to the jobs beside it is for the event engine")
        if job.empty:
            text = f"got {faults[0].fault.kind} on an empty tensor, wanted no such fault: nothing is submitted"
            raise fault_refusal(faults[0], text)
        loaded, unloaded = (effects.of(job, spec, faults, loaded=there) for there in (True, False))
        kinds = " and ".join(fault.fault.kind for fault in faults)
        found.append(StruckJob(number, frame, place, kinds, loaded, unloaded))
    return tuple(found)


def group_of(groups: Sequence[DeviceGroup], stage: Stage, stream: Stream) -> DeviceGroup:
    """The devices that run a job of a stream."""
    wanted = stage.device or stream.device
    return next((group for group in groups if group.name == wanted), groups[0])


def a65_ticks(job: ScenarioJob) -> int:
    """What the job takes on a core, in modelled ticks."""
    execution = a65.prepare(job.plan)
    return modelled_ticks(execution.plan, execution.path)


def _check_ends(load: Load, streams: Sequence[StreamProgram]) -> None:
    """Raise ScenarioError for frames that circulate without a tick, where nothing limits their number."""
    problems = []
    for number, (stream, program) in enumerate(zip(load.streams, streams, strict=True)):
        arrivals = stream.arrivals
        if load.frames is not None or arrivals.kind != "closed" or arrivals.think:
            continue
        idle = all(stage.ticks.mean == 0 for stage in program.stages)
        if idle or stream.on_full != "block":
            what = "take no tick" if idle else "are dropped"
            text = f"got closed without think, wanted think of 1 or more, or load.frames: frames that {what} would come"
            place = stream.arrivals_place or Location(f"stream {stream.name}")
            problems.append(Problem(place, f"streams[{number}].arrivals: {text} again in the same tick, for ever"))
    if problems:
        raise ScenarioError(problems)


def _check_deadlines(load: Load, streams: Sequence[StreamProgram]) -> None:
    """Raise ScenarioError for deadlines that no frame can keep, even alone."""
    problems = []
    for number, (stream, program) in enumerate(zip(load.streams, streams, strict=True)):
        if stream.deadline_ticks is not None and stream.deadline_ticks < program.least_ticks:
            least = f"wanted at least {program.least_ticks}: so long takes a frame that never waits"
            text = f"got {stream.deadline_ticks}, {least}"
            place = stream.place or Location(f"stream {stream.name}")
            problems.append(Problem(place, f"streams[{number}].deadline_ticks: {text}"))
    if problems:
        raise ScenarioError(problems)
