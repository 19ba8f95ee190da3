"""The recurrence against events, the runtime and bytes: random small loads agree on every job, to the tick."""

import random
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.load.program import LoadProgram
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.study.load.compilation import compile_load
from tessbed.scenarios.study.load.verification import verification
from tests.breadth import breadth

ARRIVALS = (
    "{{ every = {0} }}",
    "{{ every = {0}, first = {0} }}",
    "{{ poisson = {0} }}",
    "{{ gamma = {0}, cv = 2 }}",
    "{{ closed = 3, think = {0} }}",
    "{{ closed = 2 }}",
    "{{ at_once = 4 }}",
)
OURS = """
[[jobs]]
name = "job {0}"
op = "{1}"
backend = "{2}"
dtype = "int8"
shape = [4, 8, 3]
tiled = {{ axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3] }}
input = {{ {3} }}
"""
EXTERNAL = """
[[jobs]]
name = "job {0}"
op = "external"
server = "server {1}"
ticks = {2}
"""
FAULTS = (
    ("dma_error", "worker = 1"),
    ("dma_error", "worker = 1\ntransfer = 1"),
    ("stall", "worker = 1"),
    ("worker_died", "worker = 1"),
    ("lost", ""),
    ("lost_interrupt", ""),
    ("torn_record", ""),
    ("late", "ticks = 70_000"),
    ("late", "ticks = 20_000_000"),
    ("repeated", "ticks = 30_000"),
    ("early", ""),
    ("early", "ticks = 52_000"),
    ("stranger", "ticks = 200_000"),
)
TICKS = ("0", "157_000", "60_000", "{ poisson = 90_000 }", "{ uniform = [0, 200_000] }")


def random_load(seed: int) -> str:
    """A scenario file: jobs in a random order of needs, streams with random arrivals and rules."""
    draw = random.Random(seed)
    count, devices = draw.randint(1, 4), draw.randint(1, 2)
    named, depth, grace = draw.random() < 0.3, draw.choice([1, 1, 2, 3]), draw.random() < 0.5
    text = f'name = "load {seed}"\n[host]\ncores = {draw.randint(1, 2)}\n'
    if named or devices > 1 or depth > 1:
        text += f'[[devices]]\nname = "left"\ncount = {devices}\ndepth = {depth}\n'
        text += f"device = {{ reset_ticks = {draw.choice([30_000, 200_000, 500_000])} }}\n"
    if named:
        text += '[[devices]]\nname = "right"\ndevice = { workers = 2 }\n'
    packed: list[int] = []
    on_device: list[int] = []
    needs: dict[int, list[int]] = {}
    queues: set[str] = set()
    for job in range(count):
        after = sorted(draw.sample(range(job), draw.randint(0, min(2, job))))
        if draw.random() < 0.4:
            text += EXTERNAL.format(job, draw.randint(0, 1), draw.choice(TICKS))
        else:
            handed = [other for other in packed if draw.random() < 0.7]
            source = f'job = "job {handed[0]}"' if handed else 'pattern = "golden"'
            op = "detess" if handed or draw.random() < 0.3 else "tess"
            backend = draw.choice(["a65", "ev74", "ev74"])
            text += OURS.format(job, op, backend, source)
            if backend == "ev74" and (handed or op == "detess" or draw.random() < 0.7):
                text += f"timeout_ticks = {draw.choice([700_000, 1_200_000, 10_000_000, 12_000_000])}\n"
                on_device.append(job)
            packed += [job] if op == "tess" else []
            needs[job] = handed[:1]
            text += 'policy = "cached"\n' if backend == "ev74" and draw.random() < 0.3 else ""
            queue = draw.choice(["", "", "one", "two"]) if backend == "ev74" else ""
            text += f'queue = "{queue}"\n' if queue else ""
            text += f"priority = {draw.randint(-2, 2)}\n" if draw.random() < 0.3 and not queue else ""
            queues |= {queue}
            if named:
                text += f'device = "{draw.choice(["left", "right"])}"\n'
        text += f"after = {[f'job {other}' for other in after]}\n" if after else ""
        needs[job] = sorted({*needs.get(job, []), *after})
    for queue in sorted(queues - {""}):
        text += f'[[queues]]\nname = "{queue}"\ngrace_ticks = {draw.choice([0, 100_000])}\n' if grace else ""
    streams: list[list[int]] = []
    for number in range(draw.randint(1, 3)):
        streams.append(list(range(count)))
        period = draw.choice([20_000, 157_000, 163_512, 400_000])
        text += f'[[streams]]\nname = "stream {number}"\narrivals = {draw.choice(ARRIVALS).format(period)}\n'
        if draw.random() < 0.3:
            streams[-1] = whole(needs, draw.randrange(count))
            text += f"jobs = {[f'job {job}' for job in streams[-1]]}\n"
        text += f"in_flight = {draw.randint(1, 3)}\n" if draw.random() < 0.4 else ""
        if draw.random() < 0.6:
            rule = draw.choice(["block", "drop_new", "drop_old"])
            text += f'queue = {draw.randint(rule == "block", 2)}\non_full = "{rule}"\n'
        text += f"priority = {draw.randint(-2, 2)}\n" if draw.random() < 0.3 else ""
    places = [
        (s, job, frame) for s, jobs in enumerate(streams) for job in jobs if job in on_device for frame in range(4)
    ]
    for stream, job, frame in draw.sample(places, min(len(places), draw.choice([0, 0, 1, 2, 5]))):
        kind, more = draw.choice(FAULTS)
        where = f"stream = 'stream {stream}'\nframe = {frame}\njob = 'job {job}'"
        text += f"[[faults]]\n{where}\nkind = '{kind}'\n{more}\n"
    return text + f"[load]\nframes = 12\nseed = {seed}\n"


def random_ring(seed: int) -> str:
    """A scenario file: devices that hold several jobs and are never idle, many faults, timeouts as close as may be."""
    draw = random.Random(seed)
    depth, jobs = draw.randint(2, 3), draw.randint(1, 3)
    text = f'name = "ring {seed}"\n[[devices]]\nname = "left"\ncount = {draw.randint(1, 2)}\ndepth = {depth}\n'
    text += f"device = {{ reset_ticks = {draw.choice([0, 1, 30_000, 103_451, 200_000, 500_000])} }}\n"
    faults = ""
    for job in range(jobs):
        op, after = draw.choice(["tess", "detess"]), draw.random() < 0.3 and job > 0
        text += OURS.format(job, op, "ev74", 'pattern = "golden"')
        struck = draw.random() < 0.8
        if struck or draw.random() < 0.5:
            text += f"timeout_ticks = {draw.choice([0, 1, 50_000, 103_451, 400_000]) + 165_000 * depth}\n"
        text += f'after = ["job {job - 1}"]\n' if after else ""
        text += f'queue = "{draw.choice(["one", "two"])}"\n' if draw.random() < 0.4 else ""
        for frame in draw.sample(range(8), draw.randint(1, 4) if struck else 0):
            kind, more = draw.choice(FAULTS)
            where = f"stream = 'stream'\nframe = {frame}\njob = 'job {job}'"
            faults += f"[[faults]]\n{where}\nkind = '{kind}'\n{more}\n"
    for queue in ("one", "two"):
        if f'"{queue}"' in text and draw.random() < 0.7:
            text += f'[[queues]]\nname = "{queue}"\ngrace_ticks = {draw.choice([1, 60_000, 200_000])}\n'
    arrivals = draw.choice(["{ every = 70_000 }", "{ poisson = 90_000 }", "{ closed = 4 }", "{ at_once = 8 }"])
    return text + f'[[streams]]\nname = "stream"\narrivals = {arrivals}\n{faults}[load]\nframes = 10\nseed = {seed}\n'


def whole(needs: dict[int, list[int]], job: int) -> list[int]:
    """A job with all that it needs."""
    found = {job}
    while more := {other for one in found for other in needs[one]} - found:
        found |= more
    return sorted(found)


def loaded(text: str) -> tuple[Scenario, LoadProgram]:
    """The scenario and its program."""
    scenario = compose(parse_toml(text.replace("'", '"'), "random.toml"), Path())
    return scenario, compile_load(scenario)


def check(seeds: range, made: Callable[[int], str] = random_load) -> None:
    """Every job of every frame was ready, started and ended at the same ticks, and all bytes are right."""
    for seed in seeds:
        text = made(seed)
        found = verification(*loaded(text), frames=8)
        assert found["disagreement"] is None, f"{found}\n{text}"


@pytest.mark.parametrize("first", breadth(range(0, 40, 10), suite=2))
def test_random_loads_agree_to_the_tick(first: int) -> None:
    """Some of the loads of the long test."""
    check(range(first, first + 10))


@pytest.mark.parametrize("first", breadth((0, 40, 10, 20, 30), suite=2))
def test_random_faults_on_devices_with_several_jobs_agree(first: int) -> None:
    """Lost jobs take others along, are found late, or not; jobs of a queue wait for them."""
    check(range(first, first + 10), random_ring)


@pytest.mark.long
@pytest.mark.parametrize("first", range(40, 440, 50))
def test_four_hundred_random_faults_on_such_devices_agree(first: int) -> None:
    """400 of them, fifty at a time."""
    check(range(first, first + 50), random_ring)


@pytest.mark.long
@pytest.mark.parametrize("first", range(40, 1040, 50))
def test_a_thousand_random_loads_agree_to_the_tick(first: int) -> None:
    """1,000 loads, fifty at a time."""
    check(range(first, first + 50))


def test_a_wrong_tick_is_found() -> None:
    """Where a job takes one tick more than the program says, the comparison names it."""
    scenario, program = loaded(random_load(0))
    stream = program.streams[0]
    place = next(n for n, s in enumerate(stream.stages) if program.stations[s.station].kind != "external")
    ticks = attrs.evolve(stream.stages[place].ticks, ticks=stream.stages[place].ticks.ticks + 1)
    stages = tuple(attrs.evolve(s, ticks=ticks) if n == place else s for n, s in enumerate(stream.stages))
    other = attrs.evolve(program, streams=(attrs.evolve(stream, stages=stages), *program.streams[1:]))
    assert stream.stages[place].name in verification(scenario, other, frames=4)["disagreement"]


def test_a_bounded_queue_bounds_the_frames_inside() -> None:
    """With `queue` and no `in_flight` there is a place for each server, so that what is too much is dropped."""
    text = random_load(0).split("[[streams]]")[0]
    text += '[[streams]]\nname = "camera"\narrivals = { every = 1_000 }\nqueue = 1\non_full = "drop_old"\n'
    _, program = loaded(text)
    used = {stage.station for stage in program.streams[0].stages}
    assert program.streams[0].in_flight == sum(program.stations[number].servers for number in used)


KERNELS = """\
name = "kernels"
[[jobs]]
name = "first"
kernel = "copy.py:copy"
[[jobs]]
name = "second"
kernel = "copy.py:copy"
buffers = { src = { job = "first" } }
[[jobs]]
name = "empty"
op = "tess"
dtype = "int8"
shape = [0, 8, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3] }
input = { pattern = "golden" }
after = ["first"]
[[streams]]
name = "camera"
arrivals = { every = 100_000 }
"""


def test_kernels_and_empty_tensors_agree() -> None:
    """A kernel of one's own waits for the kernel whose output it reads, and an empty tensor takes no tick."""
    scenario = compose(parse_toml(KERNELS, "kernels.toml"), Path(__file__).parents[4] / "examples")
    program = compile_load(scenario)
    assert [len(stage.after) for stage in program.streams[0].stages] == [0, 1, 1]
    assert verification(scenario, program)["disagreement"] is None
