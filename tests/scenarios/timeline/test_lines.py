"""JSON lines and profiles: the same spans, in words and added up."""

import json
from collections import Counter

import pytest

from tessbed.scenarios.library import load
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.timeline.formats import profile
from tessbed.scenarios.timeline.timeline import Timeline
from tests.scenarios.timeline.decoded import decode_trace
from tests.scenarios.timeline.traced import on_ev74, record, stats_of

EV74 = ["jobs.*.backend=ev74"]


@pytest.fixture(params=["chroma", "fault-stalled-channel"])
def both(request, tmp_path):
    """The same run as lines and as slices."""
    scenario = load(request.param, EV74)
    record(scenario, tmp_path / "run.jsonl", "jsonl")
    record(scenario, tmp_path / "run.pftrace")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    return lines, decode_trace(tmp_path / "run.pftrace")


def test_lines_are_the_slices(both) -> None:
    """Each slice and instant is a line with its lane, depth, ticks, arguments and flows; each sample is one, too."""
    lines, shown = both
    assert lines[0] == {"type": "timeline", "schema_version": 1, "unit": "tick", "zero": "start of the run"}
    reported = Counter(
        (o["lane"], o["name"], o["begin"], o.get("end", o["begin"]), o["depth"], str(sorted(o.get("args", {}).items())),
         str(o.get("leads", [])), str(o.get("arrives", [])))
        for o in lines if o["type"] in ("span", "instant")
    )  # fmt: skip
    seen = Counter(
        (o.track, o.name, o.begin, o.end, o.depth, str(sorted(o.args.items())), str([*o.starts]), str([*o.ends]))
        for o in shown.slices
    )
    assert reported == seen
    samples = Counter((o["counter"], o["tick"], o["value"]) for o in lines if o["type"] == "sample")
    assert samples == Counter((name, *sample) for name, found in shown.counters.items() for sample in found)
    lanes = {o["lane"]: tuple(o["groups"]) for o in lines if o["type"] == "lane"}
    counters = {o["counter"]: tuple(o["groups"]) for o in lines if o["type"] == "counter"}
    assert {**lanes, **counters} == shown.groups


def test_a_profile_adds_up_every_core() -> None:
    """By core and by tiles a profile has the stalls that the workers counted; the longest bands are the longest."""
    scenario = on_ev74(load("yolov8n-heads-bf16", EV74))
    found = profile.Profile(5)
    ran = run_scenario(scenario, timeline=Timeline.of(found, scenario.device))
    stats = stats_of(ran)
    document = found.document("heads")
    counted: Counter[str] = Counter()
    for worker in (worker for one in stats for worker in one.workers):
        counted.update(
            {name if name in ("issue", "compute") else f"wait {name}": n for name, n in worker.stalls.items()}
        )
    for table in (document["cores"], document["tiles"]):
        reported: Counter[str] = Counter()
        for steps in table.values():
            reported.update(steps)
        assert +reported == +counted
    waits = sum(wait["ticks"] for wait in document["waits"])
    assert waits == sum(ticks for name, ticks in counted.items() if name.startswith("wait"))
    lengths = [band["ticks"] for band in document["top_bands"]]
    assert len(lengths) == 5
    assert lengths == sorted(lengths, reverse=True)
    text = "\n".join(profile.lines(document))
    assert f"{lengths[0]:,}" in text
    assert document["findings"] == []


def test_a_profile_names_what_was_found() -> None:
    """A hang is in the profile with its tick and its text."""
    scenario = on_ev74(load("fault-stalled-channel", EV74))
    found = profile.Profile(3)
    run_scenario(scenario, timeline=Timeline.of(found, scenario.device))
    assert [mark["what"] for mark in found.marks] == ["fault stall", "hang"]
    assert any("the device hangs" in line for line in profile.lines(found.document("hang")))
