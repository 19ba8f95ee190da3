"""Timelines of loads: every job on its server, every frame in its stream, queues that end empty."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import attrs

from tessbed.scenarios.load.load_model import Arrivals
from tessbed.scenarios.load.recurrence import times_of_load
from tessbed.scenarios.study.load.load_timeline import show_load
from tessbed.scenarios.timeline.recording import recording
from tests.scenarios.load.programs import constant, tandem


def test_jobs_that_a_device_holds_together_have_lanes_of_their_own(tmp_path: Path) -> None:
    """At a depth of 2 a lane for each place, and in none of them do two jobs overlap."""
    program = tandem(Arrivals("at_once", count=9), [constant(100)], 9)
    station = attrs.evolve(program.stations[0], depth=2)
    with recording(tmp_path / "load.jsonl", "jsonl") as sink:
        show_load(attrs.evolve(program, stations=(station,)), sink)
    spans = defaultdict(list)
    for line in map(json.loads, (tmp_path / "load.jsonl").read_text().splitlines()):
        if line["type"] == "span" and line["name"] == "job 0":
            spans[line["lane"]].append((line["begin"], line["end"]))
    assert sorted(len(found) for found in spans.values()) == [4, 5]
    assert all(before[1] <= after[0] for found in spans.values() for before, after in pairwise(sorted(found)))


def test_every_job_and_every_frame_is_shown_once(tmp_path: Path) -> None:
    """Spans of one server do not overlap, dropped frames say so, and each queue is empty at last."""
    rules = {"queue": 2, "on_full": "drop_old", "in_flight": 3}
    program = tandem(Arrivals("every", constant(100)), [constant(90), constant(250)], 60, [1, 1], **rules)
    with recording(tmp_path / "load.jsonl", "jsonl") as sink:
        show_load(program, sink)
    lines = [json.loads(line) for line in (tmp_path / "load.jsonl").read_text().splitlines()]
    spans = defaultdict(list)
    for line in lines:
        if line["type"] == "span":
            spans[line["lane"]].append((line["begin"], line["end"], line["name"], line["args"]["text"]))
    times = times_of_load(attrs.evolve(program))
    jobs, frames = times.jobs, times.frames
    assert sum(len(found) for lane, found in spans.items() if lane.startswith("server")) == len(jobs)
    shown = [each for lane, found in spans.items() if lane.startswith("frame") for each in found]
    assert len(shown) == len(frames) == 60
    assert sum(text == "dropped" for *_, text in shown) == sum(outcome == "dropped" for *_, outcome in frames) > 20
    for lane, found in spans.items():
        ordered = sorted(found)
        assert all(before[1] <= after[0] for before, after in pairwise(ordered)), lane
    samples = [line["value"] for line in lines if line["type"] == "sample"]
    assert max(samples) >= 1
    assert samples[-1] == 0
