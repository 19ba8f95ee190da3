"""Fault parser: the faults of a load, each in one frame of a stream; reports those that can strike nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from tessbed.scenarios.format.diagnostics import KeyPath, alternatives, nearest
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.load.load_model import FrameFault, Load, Stream
from tessbed.sim.fault_injection import Fault

Values = Mapping[str, Any]
STRIKES = ("kind", "worker", "transfer", "ticks")


def faults_of(reader: Reader, listed: Sequence[Values], load: Load, jobs: Sequence[Values]) -> tuple[FrameFault, ...]:
    """The faults of the entries that are sound."""
    found = []
    streams = {stream.name: stream for stream in load.streams}
    backends = {job.get("name"): job.get("backend") or job.get("op") for job in jobs}
    for index, values in enumerate(listed):
        path: KeyPath = ("faults", index)
        if not reader.sound(path):
            continue
        stream = streams.get(values["stream"])
        if stream is None:
            if reader.sound(("streams",)):
                text = f'got "{values["stream"]}", wanted {alternatives(list(streams)) or "a stream: there is none"}'
                reader.report_error((*path, "stream"), f"{text}{nearest(values['stream'], list(streams))}")
            continue
        _judge(reader, path, values, stream, load, backends)
        if reader.sound(path):
            fault = Fault(**{name: values[name] for name in STRIKES})
            place = reader.source.place((*path, "kind"))
            found.append(FrameFault(values["stream"], values["frame"], values["job"], fault, index, place))
    return tuple(found)


def _judge(
    reader: Reader, path: KeyPath, values: Values, stream: Stream, load: Load, backends: Mapping[Any, Any]
) -> None:
    """Report a job that is not on a device or not in the stream, a frame that never comes, and a delay of no tick."""
    name, frames = values["job"], _frames(stream, load)
    if name not in stream.jobs:
        text = f'got "{name}", wanted a job of the stream {stream.name}: {alternatives(stream.jobs)}'
        reader.report_error((*path, "job"), f"{text}{nearest(name, stream.jobs)}")
    elif backends[name] in ("a65", "external"):
        what = "the A65 runs" if backends[name] == "a65" else "is external"
        text = f'got "{name}", which {what}, wanted a job of an EV74: faults are those of a device'
        reader.report_error((*path, "job"), text)
    if frames is not None and values["frame"] >= frames:
        text = f"got {values['frame']}, wanted at most {frames - 1}: {stream.name} has {frames} frames, from 0"
        reader.report_error((*path, "frame"), text)
    if values["kind"] == "late" and not values["ticks"]:
        text = "got no ticks on a late completion, wanted ticks of at least 1: how late it is"
        reader.report_error((*path, "ticks"), text, reader.source.place((*path, "kind")))


def _frames(stream: Stream, load: Load) -> int | None:
    """How many frames can come; None where only the horizon says."""
    if stream.arrivals.kind == "trace":
        return len(stream.arrivals.ticks)
    return stream.arrivals.count if stream.arrivals.kind == "at_once" else load.frames
