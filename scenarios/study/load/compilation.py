"""Compilation: from a scenario with a load to its program; the exact engine is asked once for each class of jobs.

A class is what decides the ticks of a job on a device: its operation, its geometry, the phase of its addresses modulo
4096 (storage is handed out in whole pages, so that the phase is always that of a page's start), and whether its kernel
is loaded. Each device has a memory port of its own: if devices ever share one, a class is not enough.
"""

from collections.abc import Mapping, Sequence

import attrs

from tessbed.kernels.a65 import prepared as a65
from tessbed.kernels.a65.cost.model import a65_cost
from tessbed.kernels.errors import NotRepresentable
from tessbed.runtime.errors import HeapExhausted
from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.exact.exact_device import ExactDevice
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
from tessbed.scenarios.study.load.fault_effects import EffectTable, JobSetting, fault_refusal
from tessbed.scenarios.study.load.load_checks import check_deadlines, check_ends, check_jobs, check_timeouts
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

    @property
    def entry_ticks(self) -> int:
        """From the job's begin on the device until it has looked for its kernel."""
        return sum(ticks for name, ticks in self.parts if name not in ("device", "completion"))


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
    check_jobs(scenario, load)
    stations = _stations(scenario, load)
    classes, kernels = ClassTable(), _kernels(scenario)
    streams = tuple(_stream(scenario, load, stream, stations, classes, kernels) for stream in load.streams)
    check_timeouts(load, stations, streams)
    check_deadlines(load, streams)
    check_ends(load, streams)
    lines, streams = _in_lines(load, stations, streams)
    struck = _struck(scenario, load, streams)
    return LoadProgram(
        stations=stations,
        streams=streams,
        struck=struck,
        numbered=bool(struck),
        kernels=len(set(kernels.values())),
        lines=lines,
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


def _stations(scenario: Scenario, load: Load) -> tuple[Station, ...]:
    """The servers that some stream uses: devices, cores, then the others in the order of their jobs."""
    used = [load.stage(name) for stream in load.streams for name in stream.jobs]
    ours = {job.index: job for job in scenario.jobs}
    running = [ours[stage.index] for stage in used if stage.index in ours]
    found = []
    if any(not on_a65(job) for job in running):
        found += [
            Station(group.name, "device", group.count, group.depth, group.spec.reset_ticks)
            for group in device_groups(scenario)
        ]
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
        program = _stage(scenario, load, stream, stage, numbers, classes, kernels)
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
    load: Load,
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
        cost = a65_cost(job.plan, a65.prepare(job.plan).path)
        band = tuple(cost.band.items())
        service = Distribution("constant", cost.ticks)
        return StageProgram(stage.name, numbers[A65_SERVER], service, priority=priority, band=band)
    group = group_of(device_groups(scenario), stage, stream)
    found = _class_on(group, job, classes)
    return StageProgram(
        name=stage.name,
        station=numbers[group.name],
        ticks=Distribution("constant", found.ticks),
        priority=priority,
        kernel=kernels.get(job.index, -1),
        load_ticks=found.load_ticks,
        tail_ticks=dict(found.parts).get("completion", 0) if group.depth > 1 else 0,
        timeout_ticks=job.timeout_ticks or 0,
        grace_ticks=load.grace_ticks(stage),
        entry_ticks=found.entry_ticks,
        parts=found.parts,
    )


def _class_on(group: DeviceGroup, job: AnyJob, classes: ClassTable) -> JobClass:
    """The class of the job there. Raises ScenarioError where devices of the group can not hold it."""
    try:
        return classes.of(job, group.spec)
    except (HeapExhausted, NotRepresentable) as error:
        text = f"devices {group.name}: got a device on which jobs[{job.index}] has no room, wanted a larger one"
        raise ScenarioError([Problem(group.place or Location(group.name), f"{text}: {error}")]) from error


def _in_lines(
    load: Load, stations: Sequence[Station], streams: Sequence[StreamProgram]
) -> tuple[int, tuple[StreamProgram, ...]]:
    """How many lines there are, and the streams with their jobs in them: one for each stream, queue and station.

    On one device that holds one job at a time they would end in order anyway.
    """
    lines: dict[tuple[int, str, int], int] = {}
    found = []
    for number, stream in enumerate(streams):
        stages = list(stream.stages)
        for place, stage in enumerate(stages):
            queue, station = load.stage(stage.name).queue, stations[stage.station]
            if queue is not None and (station.servers > 1 or station.depth > 1):
                line = lines.setdefault((number, queue, stage.station), len(lines))
                stages[place] = attrs.evolve(stage, line=line)
        found.append(attrs.evolve(stream, stages=tuple(stages)))
    return len(lines), tuple(found)


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
        if job.empty:
            text = f"got {faults[0].fault.kind} on an empty tensor, wanted no such fault: nothing is submitted"
            raise fault_refusal(faults[0], text)
        options = JobSetting(group.spec, group.depth, load.grace_ticks(stage))
        loaded, unloaded = (effects.of(job, options, faults, loaded=there) for there in (True, False))
        kinds = " and ".join(fault.fault.kind for fault in faults)
        found.append(StruckJob(number, frame, place, kinds, loaded, unloaded))
    return tuple(found)


def group_of(groups: Sequence[DeviceGroup], stage: Stage, stream: Stream) -> DeviceGroup:
    """The devices that run a job of a stream."""
    wanted = stage.device or stream.device
    return next((group for group in groups if group.name == wanted), groups[0])
