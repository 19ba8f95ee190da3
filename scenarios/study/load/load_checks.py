"""Load checks: what can be no load, once its ticks are known: errors at the places of their keys.

What a file says of itself is judged where it is read, by `scenarios/format/load`.
"""

from collections.abc import Sequence

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.load.load_model import Load
from tessbed.scenarios.load.program import StageProgram, Station, StreamProgram
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario


def check_jobs(scenario: Scenario, load: Load) -> None:
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


def check_timeouts(load: Load, stations: Sequence[Station], streams: Sequence[StreamProgram]) -> None:
    """Raise ScenarioError for timeouts that could be over with nothing wrong.

    A device may have begun `depth` - 1 other jobs before, each for all of its ticks but the tail.
    """
    stages = [stage for stream in streams for stage in stream.stages]
    problems: dict[int, Problem] = {}
    for stage in stages:
        station, said = stations[stage.station], load.stage(stage.name)
        before = max(_device_ticks(other) for other in stages if other.station == stage.station)
        needed = stage.ticks.ticks + stage.load_ticks + (station.depth - 1) * before
        if 0 < stage.timeout_ticks < needed:
            behind = f", behind {station.depth - 1} of the longest jobs there" if station.depth > 1 else ""
            text = f"got {stage.timeout_ticks}, wanted at least {needed}: the job takes that long with nothing wrong"
            place = said.places.get("timeout_ticks") or Location(f"job {said.name}")
            problems[said.index] = Problem(place, f"jobs[{said.index}].timeout_ticks: {text}{behind}")
    if problems:
        raise ScenarioError(list(problems.values()))


def _device_ticks(stage: StageProgram) -> int:
    """Those in which the device does nothing else, the kernel not loaded before."""
    return int(stage.ticks.mean) + stage.load_ticks - stage.tail_ticks


def check_deadlines(load: Load, streams: Sequence[StreamProgram]) -> None:
    """Raise ScenarioError for deadlines that no frame can keep, even alone."""
    problems = []
    for number, (stream, program) in enumerate(zip(load.streams, streams, strict=True)):
        if stream.deadline_ticks is not None and stream.deadline_ticks < program.least_ticks:
            least = f"wanted at least {program.least_ticks}: a frame takes that long even if it never waits"
            text = f"got {stream.deadline_ticks}, {least}"
            place = stream.place or Location(f"stream {stream.name}")
            problems.append(Problem(place, f"streams[{number}].deadline_ticks: {text}"))
    if problems:
        raise ScenarioError(problems)


def check_ends(load: Load, streams: Sequence[StreamProgram]) -> None:
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
