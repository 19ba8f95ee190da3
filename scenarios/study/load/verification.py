"""Verification: the first frames of a load by events beside the recurrence, and the first difference of the two."""

from itertools import zip_longest
from typing import Any

import attrs

from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.load.program import LoadProgram
from tessbed.scenarios.load.recurrence import JobTimes, LoadTimes, times_of_load
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.study.load.event_run import EventRun

VERIFIED_FRAMES = 6
"""So many frames of each stream are run, and more where a fault strikes a later one."""
BEHIND_A_FAULT, MOST_VERIFIED_FRAMES = 3, 64


def first_frames(program: LoadProgram, frames: int) -> LoadProgram:
    """The load with so many frames of each stream, at most."""
    streams = tuple(attrs.evolve(stream, frames=min(frames, stream.frames)) for stream in program.streams)
    struck = tuple(struck for struck in program.struck if struck.frame < frames)
    return attrs.evolve(program, streams=streams, struck=struck, replications=1, warmup=0)


def verified_frames(program: LoadProgram) -> int:
    """So many that those behind the last fault are among them, if it is not too far."""
    last = max((struck.frame for struck in program.struck), default=0)
    return max(VERIFIED_FRAMES, min(last + 1 + BEHIND_A_FAULT, MOST_VERIFIED_FRAMES))


def verification(scenario: Scenario, program: LoadProgram, frames: int | None = None) -> dict[str, Any]:
    """How many frames and jobs ran by events, and the first thing in which they and the recurrence differ, or None."""
    short = first_frames(program, verified_frames(program) if frames is None else frames)
    run = EventRun(prepared(scenario), short)
    run.run()
    ran = LoadTimes(sorted(run.times), sorted(run.stays), sorted(run.resets))
    text = run.wrong[0] if run.wrong else _first_difference(short, ran, times_of_load(short))
    return {
        "frames": sum(stream.come for stream in run.streams),
        "jobs": len(run.times),
        "faults": len(short.struck),
        "disagreement": text,
    }


def _first_difference(program: LoadProgram, ran: LoadTimes, computed: LoadTimes) -> str | None:
    """The first job that differs; else the first frame or reset."""
    if ran.jobs != computed.jobs:
        return _first_job(program, ran.jobs, computed.jobs)
    for name in ("frames", "resets"):
        ours, theirs = getattr(ran, name), getattr(computed, name)
        if ours != theirs:
            one = next(pair for pair in zip_longest(ours, theirs) if pair[0] != pair[1])
            return f"{name}: {one[0]} by events, {one[1]} by the recurrence"
    return None


def _first_job(program: LoadProgram, ran: list[JobTimes], computed: list[JobTimes]) -> str:
    events, recurrence = ({each[:3]: each[3:] for each in times} for times in (ran, computed))
    key = min(key for key in {**events, **recurrence} if events.get(key) != recurrence.get(key))
    stream = program.streams[key[0]]
    where = f"job {stream.stages[key[2]].name} of frame {key[1]} of {stream.name}"
    return f"{where}: ready, start, end, server {events.get(key)} by events, {recurrence.get(key)} by the recurrence"
