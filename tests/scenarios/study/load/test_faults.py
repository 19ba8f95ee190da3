"""Faults in streams: each effect is what the runtime's rules say, frames behind are delayed by what a hand counts."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.load.program import FaultEffect
from tessbed.scenarios.load.recurrence import times_of_load
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.study.load.compilation import compile_load
from tessbed.scenarios.study.load.load_study import study_load
from tessbed.scenarios.study.load.verification import verification

HEAD = """\
name = "faults"
[device]
reset_ticks = 400_000
[[jobs]]
name = "image"
op = "tess"
backend = "ev74"
dtype = "int8"
shape = [4, 8, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3] }
input = { pattern = "golden" }
timeout_ticks = 1_000_000
"""
BEHIND = """\
[[jobs]]
name = "network"
op = "external"
server = "mla"
ticks = 50_000
after = ["image"]
[[jobs]]
name = "boxes"
op = "external"
server = "post"
ticks = 1_000
after = ["network"]
[[jobs]]
name = "beside"
op = "external"
server = "beside"
ticks = 3_000_000
"""
STREAM = """\
[[streams]]
name = "camera"
arrivals = {{ every = {0} }}
[load]
frames = 40
"""
FAULT = """\
[[faults]]
stream = "camera"
frame = 17
job = "image"
kind = "{0}"
"""


def composed(text: str) -> Scenario:
    """The scenario of a text."""
    return compose(parse_toml(text, "f"), Path())


def effect_of(fault: str) -> FaultEffect:
    """What the program has for a fault, the kernel loaded."""
    program = compile_load(composed(HEAD + STREAM.format(500_000) + fault))
    return program.struck[0].loaded


def ticks_of_image() -> dict[str, int]:
    """The parts of the job with nothing wrong."""
    return dict(compile_load(composed(HEAD + STREAM.format(500_000))).streams[0].stages[0].parts)


def test_each_fault_has_the_effect_that_the_rules_say() -> None:
    """The record and the interrupt, the time that is over, the reset: all by hand from the job's parts."""
    parts = ticks_of_image()
    whole, interrupt = sum(parts.values()), parts["completion"]
    lost = FaultEffect(False, 1_000_000, 1_400_000, 1_400_000)

    def good(ticks: int) -> FaultEffect:
        return FaultEffect(True, ticks, ticks, ticks)

    expected = {
        "lost": lost,
        "torn_record": lost,
        'stall"\nworker = 1\ntransfer = "0': lost,
        'late"\nticks = 2_000_000\n#"': lost,
        "lost_interrupt": good(1_000_000),
        'late"\nticks = 123\n#"': good(whole + 123),
        f'late"\nticks = {1_000_000 - whole + 1}\n#"': good(1_000_000),
        "repeated": good(whole),
        "early": good(whole),
        "stranger": good(whole),
        f'early"\nticks = {whole - parts["dispatch"] - interrupt + 1}\n#"': good(whole - interrupt + 1),
    }
    for kind, effect in expected.items():
        text = FAULT.format(kind).replace('transfer = "0"', "transfer = 0")
        assert effect_of(text) == effect, kind


def test_a_transfer_that_fails_ends_the_job_before_its_end() -> None:
    """A bus error ends the job with a record: no timeout is waited for, no reset follows."""
    whole = sum(ticks_of_image().values())
    for kind in ("dma_error", "worker_died"):
        effect = effect_of(FAULT.format(kind) + "worker = 1\n")
        assert not effect.good
        assert effect.over_ticks == effect.free_ticks <= whole


@pytest.mark.parametrize("period", [500_000, 170_000])
def test_frames_behind_a_lost_completion_are_delayed_as_a_hand_counts(period: int) -> None:
    """One device, one job: start = max(arrival, when the device is free), and the device is free after the reset."""
    scenario = composed(HEAD + STREAM.format(period) + FAULT.format("lost"))
    whole = sum(ticks_of_image().values())
    load_ticks = compile_load(scenario).streams[0].stages[0].load_ticks
    latencies: dict[str, list[int | None]] = {"with": [], "without": []}
    for name, found in latencies.items():
        free = 0
        for number in range(40):
            start = max(number * period, free)
            struck = name == "with" and number == 17
            free = start + (1_400_000 if struck else whole + (load_ticks if number == 0 else 0))
            found.append(None if struck else free - number * period)
    document = study_load(scenario, compile_load(scenario), verify=True)
    (stream,) = document["streams"]
    (cost,) = document["faults"]["streams"]
    ended = [ticks for ticks in latencies["with"] if ticks is not None]
    later = [a - b for a, b in zip(latencies["with"], latencies["without"], strict=True) if a and b and a > b]
    assert (stream["offered"], stream["completed"], stream["failed"], stream["missed"]) == (40, 39, 1, 1)
    assert stream["latency_ticks"]["max"] == max(ended)
    assert stream["latency_ticks"]["mean"] == round(sum(ended) / 39, 3)
    assert (cost["failed"], cost["delayed"], cost["most_delay_ticks"]) == (1, len(later), max(later))
    assert cost["mean_delay_ticks"] == round(sum(later) / len(later), 3)
    assert len(later) == (3 if period == 500_000 else 22)
    assert document["verification"]["disagreement"] is None
    assert document["verification"]["faults"] == 1


def test_what_needs_a_failed_job_never_starts_and_what_does_not_goes_on() -> None:
    """What waits for the image never runs in frame 17; the job beside it does, and then the frame fails."""
    scenario = composed(HEAD + BEHIND + STREAM.format(4_000_000) + FAULT.format("lost"))
    document = study_load(scenario, compile_load(scenario), verify=True)
    jobs = {server["name"]: server["jobs"] for server in document["servers"]}
    assert jobs == {"ev74": 40, "mla": 39, "post": 39, "beside": 40}
    assert document["streams"][0]["failed"] == 1
    assert document["verification"]["disagreement"] is None


REFUSED: dict[str, tuple[str, str, str]] = {
    "no timeout": (
        "timeout_ticks = 1_000_000\n",
        FAULT.format("lost"),
        "f:21:8: faults[0].kind: got lost, which no interrupt ends, wanted timeout_ticks at jobs[0], its job",
    ),
    "a transfer that there is not": (
        "",
        FAULT.format("stall") + "transfer = 900\nworker = 1\n",
        "f:22:8: faults[0].kind: wanted one that strikes: the fault stall struck nothing: got transfer 900 of "
        "worker 1, wanted 0 to 3: it makes 4 in this job",
    ),
    "no timeout on a device that holds several jobs": (
        "timeout_ticks = 1_000_000\n",
        '[[devices]]\nname = "left"\ndepth = 2\n' + FAULT.format("lost"),
        "f:24:8: faults[0].kind: got lost, which no interrupt ends, wanted timeout_ticks at jobs[0], its job",
    ),
    "a timeout that a job before could use up": (
        "timeout_ticks = 1_000_000",
        '[[devices]]\nname = "left"\ndepth = 2\n',
        "f:12:17: jobs[0].timeout_ticks: got 158451, wanted at least 266902: the job takes that long with nothing "
        "wrong, behind 1 of the longest jobs there",
    ),
    "another stream": (
        "",
        FAULT.format("lost").replace("camera", "kamera"),
        'f:19:10: faults[0].stream: got "kamera", wanted camera; did you mean camera?',
    ),
    "another job": (
        "",
        FAULT.format("lost").replace("image", "imag"),
        'f:21:7: faults[0].job: got "imag", wanted a job of the stream camera: image; did you mean image?',
    ),
    "a frame that does not come": (
        "",
        FAULT.format("lost").replace("17", "40"),
        "f:20:9: faults[0].frame: got 40, wanted at most 39: camera has 40 frames, from 0",
    ),
    "late by nothing": (
        "",
        FAULT.format("late"),
        "f:22:8: faults[0].ticks: got no ticks on a late completion, wanted ticks of at least 1: how late it is",
    ),
    "a timeout below the service time": (
        "timeout_ticks = 1_000_000",
        "",
        "f:12:17: jobs[0].timeout_ticks: got 7, wanted at least 158451: the job takes that long with nothing wrong",
    ),
    "a fault of every frame": (
        "timeout_ticks = 1_000_000",
        "",
        "f:13:10: jobs[0].faults: got faults, which would strike every frame, wanted [[faults]] of the load, with "
        'stream, frame = 17, job = "image" and kind = "lost"',
    ),
    "a fault that every frame should have": (
        "timeout_ticks = 1_000_000",
        "",
        "f:13:20: jobs[0].expect.fault: got lost, wanted no such key: no frame of a load has a fault by itself",
    ),
}
INSTEAD = {
    "a timeout below the service time": "timeout_ticks = 7",
    "a timeout that a job before could use up": "timeout_ticks = 158_451",
    "a fault that every frame should have": 'timeout_ticks = 1_000_000\nexpect = { fault = "lost" }',
    "a fault of every frame": 'timeout_ticks = 1_000_000\nfaults = [{ kind = "lost" }]',
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_that_can_not_be_is_refused(name: str) -> None:
    """One line, with place and remedy."""
    old, more, expected = REFUSED[name]
    text = (HEAD.replace(old, INSTEAD.get(name, "")) if old else HEAD) + STREAM.format(500_000) + more
    with pytest.raises(ScenarioError) as refused:
        compile_load(composed(text))
    assert str(refused.value) == expected


def test_a_fault_of_a_dropped_frame_strikes_nothing() -> None:
    """It is said, as a load that has met no fault looks like one that bears it."""
    text = HEAD + STREAM.format(10).replace("[load]", 'queue = 0\non_full = "drop_new"\n[load]') + FAULT.format("lost")
    scenario = composed(text)
    document: dict[str, Any] = study_load(scenario, compile_load(scenario))
    assert document["streams"][0]["dropped"] == 39
    assert [fault["struck"] for fault in document["faults"]["faults"]] == [0]


RING = """\
[[devices]]
name = "left"
depth = 2
[[streams]]
name = "other"
arrivals = {{ every = 4_000_000, first = {0} }}
"""
BESIDE = {
    "it was begun behind and its record is found": ("lost", 0, 400_000, lambda w, t: 2 * w - t, "completed"),
    "the device hangs and both are lost": ('stall"\nworker = 1\n#"', 0, 400_000, lambda w, t: 1_000_000, "failed"),
    "it ends while the device is reset": ("lost", 990_000, 400_000, lambda w, t: 990_000 + w, "completed"),
    "its record is found when the reset is confirmed": ("lost", 990_000, 120_000, lambda w, t: 1_120_000, "completed"),
    "it runs when the reset is confirmed": ("lost", 990_000, 50_000, lambda w, t: 1_050_000, "failed"),
    "its record is found when the reset starts": ("lost", 880_000, 9_000, lambda w, t: 1_000_000, "completed"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_becomes_of_the_job_beside_a_lost_one(name: str) -> None:
    """On a device that holds two: by hand from the parts of the job, the timeout of a million ticks, and the reset."""
    kind, first, reset, end, outcome = BESIDE[name]
    parts = ticks_of_image()
    text = HEAD.replace("400_000", str(reset)) + STREAM.format(4_000_000) + RING.format(first) + FAULT.format(kind)
    scenario = composed(text)
    program = compile_load(scenario)
    times, start = times_of_load(program), 17 * 4_000_000
    (left,) = (left for stream, frame, _, left, how in times.frames if (stream, frame, how) == (1, 17, outcome))
    assert left == start + end(sum(parts.values()), parts["completion"])
    assert times.resets == [(0, 0, start + 1_000_000, start + 1_000_000 + reset)]
    failed = {(stream, frame) for stream, frame, _, _, how in times.frames if how == "failed"}
    assert failed == {(0, 17), *([(1, 17)] if outcome == "failed" else [])}
    assert verification(scenario, program)["disagreement"] is None


def test_events_find_a_wrong_effect() -> None:
    """Where the program has the device free one tick too early, the run by events says so."""
    scenario = composed(HEAD + STREAM.format(500_000) + FAULT.format("lost"))
    program = compile_load(scenario)
    effect = attrs.evolve(program.struck[0].loaded, free_ticks=1_399_999)
    other = attrs.evolve(program, struck=(attrs.evolve(program.struck[0], loaded=effect),))
    assert "frame 18" in verification(scenario, other)["disagreement"]
