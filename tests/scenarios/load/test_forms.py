"""The recurrence in C counts what the one in Python counts, number for number, in memory that frames do not fill."""

import random
import subprocess
import sys
from array import array
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.load import load_tables
from tessbed.scenarios.load.load_model import Arrivals, Distribution
from tessbed.scenarios.load.load_tables import count_load_in_c
from tessbed.scenarios.load.program import (
    NO_LIMIT,
    FaultEffect,
    LoadProgram,
    StageProgram,
    Station,
    StreamProgram,
    StruckJob,
)
from tessbed.scenarios.load.recurrence import count_load_in_python
from tessbed.scenarios.load.tally import broken_identities
from tests.scenarios.load.programs import constant, tandem

needs_c = pytest.mark.skipif(bool(load_tables.missing), reason="the C form was not built")


def random_distribution(draw: random.Random) -> Distribution:
    """Of any kind, often short and often equal."""
    ticks = draw.choice([0, 1, 3, 10, 10, 50])
    return draw.choice(
        [
            constant(ticks),
            constant(10),
            Distribution("poisson", 1 + ticks),
            Distribution("uniform", ticks, ticks + 9),
            Distribution("gamma", 1 + ticks, cv=draw.choice([0.4, 1.0, 2.5])),
        ]
    )


def random_arrivals(draw: random.Random) -> Arrivals:
    """By any rule."""
    period = draw.choice([1, 5, 10, 30])
    trace = tuple(sorted(draw.randint(0, 300) for _ in range(40)))
    between = attrs.evolve(random_distribution(draw), ticks=period, high=period + 7)
    return draw.choice(
        [
            Arrivals("every", constant(period), draw.choice([0, 7])),
            Arrivals("random", between),
            Arrivals("trace", ticks=trace),
            Arrivals("closed", count=draw.randint(1, 5), think=draw.choice([0, 10])),
            Arrivals("at_once", count=draw.randint(1, 30), first=draw.choice([0, 9])),
        ]
    )


def random_program(seed: int) -> LoadProgram:
    """Streams of jobs in a random order of needs, on shared stations with kernels and priorities."""
    draw = random.Random(seed)
    deep, lined = draw.random() < 0.4, draw.random() < 0.4
    stations = tuple(
        Station(f"s{number}", "external", draw.randint(1, 3), draw.choice([1, 2, 3]) if deep else 1)
        for number in range(draw.randint(1, 3))
    )
    streams = []
    for number in range(draw.randint(1, 3)):
        count = draw.randint(1, 5)
        after = [tuple(sorted(draw.sample(range(job), draw.randint(0, min(job, 2))))) for job in range(count)]
        stages = tuple(
            StageProgram(
                f"j{job}",
                draw.randrange(len(stations)),
                random_distribution(draw),
                after[job],
                tuple(other for other in range(count) if job in after[other]),
                draw.choice([0, 0, 1, -3]),
                draw.choice([-1, 0, 1]),
                draw.choice([0, 4]),
                draw.choice([0, 2, 6]) if deep else 0,
                draw.choice([-1, 2 * number, 2 * number + 1]) if lined else -1,
            )
            for job in range(count)
        )
        on_full = draw.choice(["block", "drop_new", "drop_old"])
        streams.append(
            StreamProgram(
                f"t{number}",
                stages,
                random_arrivals(draw),
                draw.choice([20, 100, 200]),
                draw.choice([None, 15, 80]),
                draw.choice([NO_LIMIT, 1, 3]),
                draw.choice([NO_LIMIT, 2, 1 if on_full == "block" else 0]),
                on_full,
            )
        )
    horizon = draw.choice([NO_LIMIT, 150])
    struck = random_faults(draw, streams) if draw.random() < 0.5 and not deep and not lined else ()
    numbered = draw.random() < 0.5
    return LoadProgram(stations, tuple(streams), struck, numbered, 2, 6 * lined, horizon, draw.choice([0, 9]), 1, seed)


def random_faults(draw: random.Random, streams: list[StreamProgram]) -> tuple[StruckJob, ...]:
    """Some jobs of the first frames that fail or take longer, each for its own ticks."""
    jobs = [
        (s, frame, job) for s, stream in enumerate(streams) for frame in range(12) for job in range(len(stream.stages))
    ]
    return tuple(
        StruckJob(*place, "late", *(random_effect(draw) for _ in range(2)))
        for place in sorted(draw.sample(jobs, min(len(jobs), draw.randint(1, 9))))
    )


def random_effect(draw: random.Random) -> FaultEffect:
    """Of a fault that leaves the server occupied, or not."""
    over = draw.choice([0, 5, 30])
    return FaultEffect(draw.random() < 0.3, over, over + draw.choice([0, 0, 10, 60]))


@needs_c
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_both_forms_count_the_same(first: int) -> None:
    """Every sum of every stream, job and station, and all latencies."""
    for seed in range(first, first + 100):
        program = random_program(seed)
        for replication in (0, 1):
            python, native = count_load_in_python(program, replication), count_load_in_c(program, replication)
            assert native is not None
            assert not list(broken_identities(python))
            for tally in (python, native):
                for stream in tally.streams:
                    if stream.numbers:
                        assert len(stream.numbers) == stream.measured
                        in_order = sorted(zip(stream.numbers, stream.latencies, strict=True))
                        stream.numbers = array("q", [number for number, _ in in_order])
                        stream.latencies = array("q", [ticks for _, ticks in in_order])
                    else:
                        stream.latencies = array("q", sorted(stream.latencies))
            assert native == python, seed


@needs_c
def test_ticks_beyond_62_bits_are_left_to_python() -> None:
    """A load that could be too long is not counted in C."""
    program = tandem(Arrivals("every", constant(2**40)), [constant(2**40)], 10**7)
    assert count_load_in_c(program, 0) is None


# A process that is forked from a large one begins with its parent's ru_maxrss; VmHWM is of this program alone.
PEAK = """
from pathlib import Path
from tests.scenarios.load.test_forms import pipeline
from tessbed.scenarios.load.load_tables import count_load_in_c
tally = count_load_in_c(pipeline({frames}), 0)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(tally.streams[0].completed, status["VmHWM"].split()[0])
"""


def pipeline(frames: int) -> LoadProgram:
    """Eight random jobs one after the other."""
    services = [Distribution("poisson", 80)] * 8
    return tandem(Arrivals("random", Distribution("poisson", 100)), services, frames)


@needs_c
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_follows_the_latencies_alone() -> None:
    """Ten times as many frames take their latencies more, and nothing else."""
    taken = []
    for frames in (20_000, 200_000):
        command = [sys.executable, "-c", PEAK.format(frames=frames)]
        completed, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert int(completed) == frames
        taken.append(int(peak) * 1024)
    assert taken[1] - taken[0] < 180_000 * 8 * 3 + 2**21
