"""LoadGen's scenarios: the four ways in which MLPerf Inference puts load on a system, and what each measures.

From the table of scenarios in the MLPerf Inference rules: single-stream and multi-stream send the next query when the
last one has ended, of one sample and of eight, for 600 seconds, and report the latency of the 90th and of the 99th
percentile; server sends queries by a Poisson process and reports the rate up to which the 99th percentile keeps a
bound; offline sends at least 24,576 samples at once, and as many as take 600 seconds, and reports the throughput. A
frame is a sample here. Nothing else of the rules is followed, neither early stopping nor an accuracy run: a number from
here is no MLPerf result.
"""

from math import ceil
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.format.option_values import LOADGEN_SCENARIOS
from tessbed.scenarios.load.load_model import Arrivals, Distribution
from tessbed.scenarios.load.program import NO_LIMIT, LoadProgram, StageProgram, StreamProgram
from tessbed.scenarios.load.simulation import arrival_rate

SECONDS = 600
SAMPLES_PER_QUERY = 8
OFFLINE_SAMPLES, MOST_SAMPLES = 24_576, 10**7


def as_loadgen(program: LoadProgram, name: str, clock_mhz: int) -> LoadProgram:
    """The load as one of LOADGEN_SCENARIOS puts it. Raises ScenarioError where a stream has no rate for a server."""
    if program.struck:
        text = "got [[faults]], wanted none: LoadGen sends frames of its own"
        raise ScenarioError([Problem(Location("--loadgen"), text, "usage")])
    duration = SECONDS * clock_mhz * 10**6
    samples = _offline_samples(program, duration)
    streams = tuple(_stream(stream, name, samples) for stream in program.streams)
    return attrs.evolve(program, streams=streams, warmup=0, horizon_ticks=NO_LIMIT if name == "offline" else duration)


def _offline_samples(program: LoadProgram, duration: int) -> int:
    """So many of each stream that the busiest server alone takes the duration for them."""
    work = [0.0] * len(program.stations)
    for stream in program.streams:
        for stage in stream.stages:
            work[stage.station] += (stage.ticks.mean - stage.tail_ticks) / program.stations[stage.station].servers
    most = max(work, default=0.0)
    return min(MOST_SAMPLES, max(OFFLINE_SAMPLES, ceil(duration / most))) if most else OFFLINE_SAMPLES


def _stream(stream: StreamProgram, name: str, samples: int) -> StreamProgram:
    assert name in LOADGEN_SCENARIOS
    free = attrs.evolve(stream, frames=NO_LIMIT, queue=NO_LIMIT, in_flight=NO_LIMIT, on_full="block")
    if name != "server":
        free = attrs.evolve(free, deadline_ticks=None)
    if name == "single-stream":
        return attrs.evolve(free, arrivals=Arrivals("closed", count=1))
    if name == "multi-stream":
        stages = _copies(stream.stages, SAMPLES_PER_QUERY)
        return attrs.evolve(free, arrivals=Arrivals("closed", count=1), stages=stages)
    if name == "offline":
        return attrs.evolve(free, arrivals=Arrivals("at_once", count=samples))
    rate = arrival_rate(stream)
    if not rate or stream.deadline_ticks is None:
        text = f"stream {stream.name}: got no rate or no deadline, wanted both: it is sent queries at about that rate"
        raise ScenarioError([Problem(Location("--loadgen"), f"{text}, and p99 must keep the deadline", "usage")])
    return attrs.evolve(free, arrivals=Arrivals("random", Distribution("poisson", max(1, round(1 / rate)))))


def _copies(stages: tuple[StageProgram, ...], count: int) -> tuple[StageProgram, ...]:
    """The jobs of `count` samples, one sample behind the other."""
    return tuple(
        attrs.evolve(
            stage,
            name=f"{stage.name} of sample {copy + 1}",
            after=tuple(other + copy * len(stages) for other in stage.after),
            before=tuple(other + copy * len(stages) for other in stage.before),
        )
        for copy in range(count)
        for stage in stages
    )


def loadgen_metrics(reported: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """What the scenario measures, for each stream: a name and a value, in ticks or samples a second."""
    found = []
    for stream in reported["streams"]:
        latency, per_second = stream["latency_ticks"], stream["throughput_per_second"]
        measured: dict[str, tuple[str, Any]] = {
            "single-stream": ("p90 latency in ticks", latency["p90"]),
            "multi-stream": ("p99 latency of a query of 8 samples in ticks", latency["p99"]),
            "server": ("p99 latency in ticks at this rate", latency["p99"]),
            "offline": ("samples a second", per_second),
        }
        text, value = measured[name]
        found.append({"stream": stream["name"], "metric": text, "value": value})
    return found
