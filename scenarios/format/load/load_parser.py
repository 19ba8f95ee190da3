"""Load parser: from the values of a scenario file to its Load, with every error at its place.

What a load needs of ticks that only an engine knows is judged when it is compiled, by `scenarios/study/load`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tessbed.kernels import Plan
from tessbed.kernels.plan import byte_layout
from tessbed.scenarios.format.diagnostics import KeyPath, Location, alternatives, nearest
from tessbed.scenarios.format.load.arrival_parser import arrivals_of
from tessbed.scenarios.format.load.entry_names import judge_own_names
from tessbed.scenarios.format.load.fault_parser import faults_of
from tessbed.scenarios.format.load.load_keys import EXTERNAL
from tessbed.scenarios.format.load.port_parser import judge_ports, layout_words
from tessbed.scenarios.format.load.queue_parser import queues_of
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.load.load_model import (
    A65_SERVER,
    DEVICE_SERVER,
    DeviceGroup,
    Distribution,
    Load,
    Servers,
    Stage,
    Stream,
    order_of,
)
from tessbed.scenarios.model import ScenarioJob
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec, override

SECTION_NAMES = ("host", "servers", "devices", "queues", "streams", "faults", "load")
DEFAULT_FRAMES = 1000
PLACED_KEYS = ("timeout_ticks", "faults", "expect.fault", "kernel")
"""The keys of a job that only the compilation of a load can judge."""

Values = dict[str, Any]


def is_external(values: Mapping[str, Any]) -> bool:
    """Whether an entry of [[jobs]] is no operation of Tessbed."""
    return values.get("op") == EXTERNAL


def load_of(reader: Reader, values: Values, plans: Mapping[int, Plan], device: DeviceSpec, folder: Path) -> Load | None:
    """The load of a file; None where it says nothing of one. `plans` are those of the sound jobs, by index."""
    listed: list[Values] = values.get("jobs") or []
    if not _says_something(values, listed):
        return None
    stages = [_stage(reader, index, job) for index, job in enumerate(listed) if isinstance(job.get("name"), str)]
    _order(reader, stages)
    _handed_on(reader, stages, listed, plans)
    judge_ports(reader, stages, listed, plans)
    groups = _devices(reader, values.get("devices") or (), device)
    servers = _servers(reader, values.get("servers") or (), stages, groups)
    streams = _streams(reader, values.get("streams") or (), stages, device, folder)
    _device_names(reader, groups, stages, listed, streams)
    amount = values.get("load") or {}
    load = _amount(reader, values, amount, stages, streams, servers, groups)
    load = attrs.evolve(load, queues=queues_of(reader, values.get("queues") or (), load, listed))
    return attrs.evolve(load, faults=faults_of(reader, values.get("faults") or (), load, listed))


def _says_something(values: Values, listed: Sequence[Values]) -> bool:
    if any(values.get(name) for name in SECTION_NAMES):
        return True
    return any(is_external(job) or _says_place(job) for job in listed)


def _says_place(job: Values) -> bool:
    handed = (job.get("input") or {}).get("job")
    return bool(job.get("after") or job.get("device") or job.get("queue") or handed) or job.get("priority") is not None


def _stage(reader: Reader, index: int, job: Values) -> Stage:
    external = is_external(job)
    return Stage(
        index=index,
        name=job["name"],
        after=tuple(name for name in job.get("after") or () if isinstance(name, str)),
        reads=None if external else (job.get("input") or {}).get("job"),
        handed=tuple(_makers(job)),
        ports=_ports(job) if external else (),
        device=None if external else job.get("device"),
        priority=None if external else job.get("priority"),
        queue=None if external else job.get("queue"),
        server=job.get("server") if external else None,
        ticks=_service(job["ticks"]) if external and "ticks" in job else None,
        places={key: reader.source.place(("jobs", index, *key.split("."))) for key in PLACED_KEYS},
    )


def _ports(job: Values) -> tuple[tuple[str, tuple[Values, ...]], ...]:
    """The ports of an external job as the file says them, those that it reads and those that it writes."""
    return tuple((side, tuple(job[side])) for side in ("reads", "writes") if job.get(side))


def _makers(job: Values) -> Iterator[str]:
    """The jobs whose outputs the buffers of a kernel hold, or the ports of an external job read."""
    for port in job.get("reads") or ():
        if isinstance(port, dict) and isinstance(port.get("job"), str):
            yield port["job"]
    buffers = job.get("buffers")
    for said in buffers.values() if isinstance(buffers, dict) else ():
        if isinstance(said, dict) and isinstance(said.get("job"), str):
            yield said["job"]


def _service(value: Any) -> Distribution:
    match value:
        case {"poisson": mean}:
            return Distribution("poisson", mean)
        case {"uniform": [low, high]}:
            return Distribution("uniform", low, high)
        case {"gamma": mean, "cv": cv}:
            return Distribution("gamma", mean, cv=float(cv))
    return Distribution("constant", value)


def _order(reader: Reader, stages: Sequence[Stage]) -> None:
    """Report jobs that name one that there is not, and jobs that wait for each other."""
    known = [stage.name for stage in stages]
    for stage in stages:
        for place, name in enumerate(stage.after):
            path = ("jobs", stage.index, "after", place)
            _known_job(reader, path, name, known)
            if name == stage.name:
                reader.report_error(path, f'got "{name}", the job itself, wanted a job that ends before it starts')
        if stage.reads is not None:
            _known_job(reader, ("jobs", stage.index, "input", "job"), stage.reads, known)
    needs = {s.name: tuple(name for name in s.needs if name in known and name != s.name) for s in stages}
    fine = list(order_of(needs))
    circle = _circle({name: others for name, others in needs.items() if name not in fine})
    if circle:
        stage = next(stage for stage in stages if stage.name == circle[0])
        key = "after" if circle[1] in stage.after else "input"
        text = f"got a cycle, {' after '.join(circle)}, wanted one of them to come first: take one of these away"
        reader.report_error(("jobs", stage.index, key), text)


def _circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of one cycle, the first one twice; empty where there is none."""
    if not needs:
        return []
    way = [next(iter(needs))]
    while way.count(way[-1]) == 1:
        way.append(next(name for name in needs[way[-1]] if name in needs))
    return way[way.index(way[-1]) :]


def _known_job(reader: Reader, path: KeyPath, name: str, known: Sequence[str]) -> None:
    if name not in known:
        reader.report_error(path, f'got "{name}", wanted the name of a job of this file{nearest(name, known)}')


def _handed_on(reader: Reader, stages: Sequence[Stage], listed: Sequence[Values], plans: Mapping[int, Plan]) -> None:
    """Report jobs that read what another one does not write: the layouts are compared, as graphs do."""
    by_name = {stage.name: stage for stage in stages}
    for stage in stages:
        maker = by_name.get(stage.reads or "")
        path = ("jobs", stage.index, "input", "job")
        if maker is None or not reader.sound(path):
            continue
        if is_external(listed[maker.index]):
            continue  # its ports are judged with those of others
        if "kernel" in listed[maker.index]:
            text = f'got "{maker.name}", a kernel of one\'s own, wanted a job of an operation: its layout is known'
            reader.report_error(path, text)
        elif maker.index in plans and stage.index in plans:
            written = byte_layout(plans[maker.index], written=True)
            wanted = byte_layout(plans[stage.index], written=False)
            if written != wanted:
                text = f'got "{maker.name}", which writes {layout_words(written)}, wanted {layout_words(wanted)},'
                reader.report_error(path, f"{text} as this job reads")


def _devices(reader: Reader, listed: Sequence[Values], device: DeviceSpec) -> tuple[DeviceGroup, ...]:
    judge_own_names(reader, "devices", listed)
    found = []
    for index, group in enumerate(listed):
        changes = group.get("device") or {}
        try:
            spec = override(device, changes)
        except SpecError as error:
            for path, text in error.problems:
                reader.report_error(("devices", index, "device", *path), text)
            continue
        if group.get("name") == A65_SERVER:
            text = f'got "{A65_SERVER}", which are the cores of [host], wanted a name of its own'
            reader.report_error(("devices", index, "name"), text)
        if spec.clock_mhz != device.clock_mhz:
            text = f"got {spec.clock_mhz}, wanted {device.clock_mhz}, as `device` has: all ticks are of one clock"
            reader.report_error(("devices", index, "device", "clock_mhz"), text)
        if isinstance(group.get("name"), str) and "count" in group and "depth" in group:
            place = reader.source.place(("devices", index, "depth"))
            found.append(DeviceGroup(group["name"], group["count"], changes, spec, group["depth"], place))
    return tuple(found)


def _servers(
    reader: Reader, listed: Sequence[Values], stages: Sequence[Stage], groups: Sequence[DeviceGroup]
) -> tuple[Servers, ...]:
    """The servers that are counted. Reports those that no job occupies, and names that mean something else."""
    judge_own_names(reader, "servers", listed)
    taken = [A65_SERVER, *([group.name for group in groups] or [DEVICE_SERVER])]
    for stage in stages:
        if stage.server in taken:
            text = f'got "{stage.server}", which are the {_what(stage.server)}, wanted a name of its own'
            reader.report_error(("jobs", stage.index, "server"), text)
    used = [stage.server for stage in stages if stage.server]
    if not all(reader.sound(("jobs", stage.index, "server")) for stage in stages):
        return ()
    for index, entry in enumerate(listed):
        name = entry.get("name")
        if isinstance(name, str) and name not in used:
            wanted = f"one that a job occupies: {alternatives(used)}" if used else "an external job with this server"
            text = f'got "{name}", wanted {wanted}{nearest(name, used)}'
            reader.report_error(("servers", index, "name"), text)
    return tuple(Servers(entry["name"], entry["count"]) for entry in listed if "name" in entry and "count" in entry)


def _what(name: str | None) -> str:
    return "cores of [host]" if name == A65_SERVER else "devices"


def _streams(
    reader: Reader, listed: Sequence[Values], stages: Sequence[Stage], device: DeviceSpec, folder: Path
) -> tuple[Stream, ...]:
    judge_own_names(reader, "streams", listed)
    found = []
    for index, values in enumerate(listed):
        path: KeyPath = ("streams", index)
        jobs = _graph(reader, path, values, stages)
        arrivals = arrivals_of(reader, path, values, device.clock_mhz, folder)
        _admission(reader, path, values)
        if reader.sound(path) and arrivals is not None:
            place = reader.source.place((*path, "deadline_ticks"))
            kept = {
                name: values[name] for name in ("deadline_ticks", "in_flight", "queue", "on_full", "device", "priority")
            }
            came = reader.source.place((*path, "arrivals"))
            found.append(Stream(values["name"], jobs, arrivals, place=place, arrivals_place=came, **kept))
    return tuple(found)


def _graph(reader: Reader, path: KeyPath, values: Values, stages: Sequence[Stage]) -> tuple[str, ...]:
    """The jobs of a stream in the order of the file; all of them where it names none."""
    by_name = {stage.name: stage for stage in stages}
    named = values.get("jobs")
    if named is None or not reader.sound((*path, "jobs")):
        return tuple(by_name)
    if not named:
        reader.report_error((*path, "jobs"), "got an empty list, wanted the jobs of a frame, or no such key for all")
    for place, name in enumerate(named):
        here = (*path, "jobs", place)
        _known_job(reader, here, name, list(by_name))
        if name in named[:place]:
            reader.report_error(here, f'got "{name}" twice, wanted each job once: a frame runs a job once')
        for other in by_name[name].needs if name in by_name else ():
            if other not in named and other in by_name:
                text = f'got "{name}" without "{other}", wanted both: the one waits for the other'
                reader.report_error(here, text)
    return tuple(name for name in by_name if name in named)


def _admission(reader: Reader, path: KeyPath, values: Values) -> None:
    """Report a rule for a full queue that has no queue, and a queue through which nothing could come."""
    if not all(reader.sound((*path, name)) for name in ("queue", "on_full")):
        return
    if values["on_full"] != "block" and values["queue"] is None:
        text = f'got "{values["on_full"]}" without queue, wanted queue = N: without it a queue is never full'
        reader.report_error((*path, "on_full"), text)
    if values["on_full"] == "block" and values["queue"] == 0:
        text = 'got 0 with on_full = "block", wanted 1 or more, or on_full = "drop_new": no frame would ever begin'
        reader.report_error((*path, "queue"), text)


def _device_names(
    reader: Reader,
    groups: Sequence[DeviceGroup],
    stages: Sequence[Stage],
    listed: Sequence[Values],
    streams: Sequence[Stream],
) -> None:
    """Report devices that there are not, and jobs that could run on several of different names."""
    known = [group.name for group in groups] or [DEVICE_SERVER]
    said = [(("jobs", stage.index, "device"), stage.device) for stage in stages]
    said += [(("streams", index, "device"), stream.device) for index, stream in enumerate(streams)]
    for path, name in said:
        if name is not None and name not in known:
            reader.report_error(path, f'got "{name}", wanted {alternatives(known)}{nearest(name, known)}')
    if len(known) == 1:
        return
    ours = [stage for stage in stages if not is_external(listed[stage.index]) and stage.device is None]
    for index, stream in enumerate(streams):
        free = next((s for s in ours if s.name in stream.jobs and listed[s.index].get("backend") != "a65"), None)
        if stream.device is None and free is not None:
            text = f'no device for the job "{free.name}", wanted device = "{known[0]}" or another of [[devices]]'
            reader.report_error(("streams", index), f"{text}, here or at the job", code="missing_key")


def _amount(
    reader: Reader,
    values: Values,
    amount: Values,
    stages: Sequence[Stage],
    streams: Sequence[Stream],
    servers: tuple[Servers, ...],
    groups: tuple[DeviceGroup, ...],
) -> Load:
    frames, horizon = amount.get("frames"), amount.get("horizon_ticks")
    if frames is None and horizon is None:
        frames = DEFAULT_FRAMES
    warmup = amount.get("warmup") or 0
    if frames is not None and warmup >= frames:
        text = f"got {warmup} of {frames} frames, wanted fewer: no frame would be left to report"
        reader.report_error(("load", "warmup"), text)
    by_option = reader.source.place(("seed",)) == Location("--seed")
    seed = None if by_option else amount.get("seed")
    return Load(
        stages=tuple(stages),
        streams=tuple(streams),
        servers=servers,
        devices=groups,
        cores=(values.get("host") or {}).get("cores") or 8,
        frames=frames,
        horizon_ticks=horizon,
        warmup=warmup,
        replications=amount.get("replications") or 1,
        seed=values.get("seed", 0) if seed is None else seed,
    )


def linked(jobs: Sequence[Any]) -> tuple[Any, ...]:
    """The jobs, each that reads another's output with that one at hand."""
    made: dict[str, Any] = {}
    by_name = {job.name: job for job in jobs if isinstance(job, ScenarioJob)}
    for name in order_of({name: tuple(filter(None, (job.input.job,))) for name, job in by_name.items()}):
        job = by_name[name]
        maker = made.get(job.input.job or "")
        made[name] = attrs.evolve(job, input=attrs.evolve(job.input, maker=maker)) if maker else job
    return tuple(made.get(job.name, job) for job in jobs)
