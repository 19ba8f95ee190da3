"""Queue parser: the rules of the runtime's queues, and whether their jobs can be in order.

A queue of the runtime has one priority and starts its jobs in the order of submission, so that jobs of different
priority can not share one. A stream is a client: it has a queue of its own of each name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tessbed.scenarios.format.diagnostics import alternatives, nearest
from tessbed.scenarios.format.load.entry_names import judge_own_names
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.load.load_model import JobQueue, Load, Stage

Values = Mapping[str, Any]


def queues_of(reader: Reader, listed: Sequence[Values], load: Load, jobs: Sequence[Values]) -> tuple[JobQueue, ...]:
    """The queues that have rules. Reports those that no job names, and jobs that no queue of a device can hold."""
    judge_own_names(reader, "queues", listed)
    used = list(dict.fromkeys(stage.queue for stage in load.stages if stage.queue))
    for index, entry in enumerate(listed):
        name = entry.get("name")
        if isinstance(name, str) and name not in used:
            wanted = f"one that a job names: {alternatives(used)}" if used else "a job with this queue"
            reader.report_error(("queues", index, "name"), f'got "{name}", wanted {wanted}{nearest(name, used)}')
    for stage in load.stages:
        if stage.queue and jobs[stage.index].get("backend") == "a65":
            text = f'got "{stage.queue}" on a job of the A65, wanted no such key: queues are those of devices'
            reader.report_error(("jobs", stage.index, "queue"), text)
    for stage, mine, other, theirs in _out_of_order(load):
        key = "priority" if stage.priority is not None else "queue"
        text = f"got {mine} in the queue {stage.queue}, wanted {theirs}, the priority of {other.name} there"
        reader.report_error(("jobs", stage.index, key), f"{text}: a queue has one, as its jobs start in order")
    return tuple(JobQueue(one["name"], one["grace_ticks"]) for one in listed if {"name", "grace_ticks"} <= set(one))


def _out_of_order(load: Load) -> Iterator[tuple[Stage, int, Stage, int]]:
    """Jobs of one stream and one queue whose priorities differ: each with the first job of its queue."""
    for stream in load.streams:
        first: dict[str, Stage] = {}
        for name in stream.jobs:
            stage = load.stage(name)
            other = first.setdefault(stage.queue, stage) if stage.queue else stage
            mine, theirs = (stream.priority if one.priority is None else one.priority for one in (stage, other))
            if mine != theirs:
                yield stage, mine, other, theirs
