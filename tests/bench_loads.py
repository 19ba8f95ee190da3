"""Bench: a million frames through the recurrence, beside a plain SimPy model of the same pipeline.

`python -m tests.bench_loads` takes the INT8 pipeline of YOLOv8n, eight jobs a frame, on two devices, at 100 frames a
second: a Poisson process, so that queues form. The plain model is what a person writes in an hour: a process for each
frame and each job, a Resource for each server, latencies in a list, and no other statistics. The recurrence is measured
with all of its statistics and its report. Both must find the same latencies, frame by frame, where both have run.
"""

import argparse
import json
from collections.abc import Generator
from time import perf_counter
from typing import Any

import attrs
import simpy

from tessbed.scenarios.library import load
from tessbed.scenarios.load.draws import ARRIVAL, root, ticks_of
from tessbed.scenarios.load.load_model import Arrivals, Distribution
from tessbed.scenarios.load.program import NO_LIMIT, LoadProgram
from tessbed.scenarios.load.simulation import LoadRun, count_load, simulate_load
from tessbed.scenarios.study.load import report
from tessbed.scenarios.study.load.compilation import compile_load

SCENARIO = "yolov8n-pipeline-int8"
GAP_TICKS = 10_000_000


def pipeline(frames: int) -> LoadProgram:
    """The load, its kernels loaded: two devices, no frame dropped."""
    program = compile_load(load(SCENARIO))
    (stream,) = program.streams
    stages = tuple(attrs.evolve(stage, kernel=-1) for stage in stream.stages)
    arrivals = Arrivals("random", Distribution("poisson", GAP_TICKS))
    free = attrs.evolve(stream, queue=NO_LIMIT, in_flight=NO_LIMIT, on_full="block", deadline_ticks=None)
    stream = attrs.evolve(free, stages=stages, arrivals=arrivals, frames=frames)
    stations = tuple(attrs.evolve(s, servers=2) if s.kind == "device" else s for s in program.stations)
    return attrs.evolve(program, stations=stations, streams=(stream,), warmup=0)


def plain_simpy(program: LoadProgram, frames: int) -> list[int]:
    """The latencies of the frames, in the order of their numbers, by processes and Resources."""
    env = simpy.Environment()
    (stream,) = program.streams
    servers = [simpy.Resource(env, station.servers) for station in program.stations]
    latencies = [0] * frames

    def job(stage: Any, needed: list[Any]) -> Generator[Any, Any, None]:
        if needed:
            yield env.all_of(needed)
        with servers[stage.station].request() as mine:
            yield mine
            yield env.timeout(stage.ticks.ticks)

    def frame(number: int) -> Generator[Any, Any, None]:
        came, jobs = env.now, list[Any]()
        for stage in stream.stages:
            jobs.append(env.process(job(stage, [jobs[other] for other in stage.after])))
        yield env.all_of(jobs)
        latencies[number] = int(env.now - came)

    def source() -> Generator[Any, Any, None]:
        start, between = root(program.seed, 0, 0, ARRIVAL), stream.arrivals.between
        assert between is not None
        for number in range(frames):
            yield env.timeout(ticks_of(between, start, number))
            env.process(frame(number))

    env.process(source())
    env.run()
    return latencies


def measure(frames: int, plain_frames: int) -> dict[str, Any]:
    """Frames a second of both, and whether they agree."""
    program, scenario = pipeline(frames), load(SCENARIO)
    began = perf_counter()
    run: LoadRun = simulate_load(program)
    report.document(scenario, run, relief=False)
    ours = frames / (perf_counter() - began)
    began = perf_counter()
    latencies = plain_simpy(program, plain_frames)
    plain = plain_frames / (perf_counter() - began)
    short = count_load(pipeline(plain_frames), 0)
    return {
        "frames": frames,
        "frames_per_second": round(ours),
        "plain_frames": plain_frames,
        "plain_frames_per_second": round(plain),
        "ratio": round(ours / plain, 1),
        "equal": sorted(short.streams[0].latencies) == sorted(latencies),
    }


def main() -> None:
    """The measurement as a line, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--plain-frames", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = measure(asked.frames, asked.plain_frames)
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    print(f"recurrence   {found['frames_per_second']:>10,} frames/s over {found['frames']:,} frames, with its report")
    print(f"plain SimPy  {found['plain_frames_per_second']:>10,} frames/s over {found['plain_frames']:,} frames")
    print(f"{found['ratio']} times as fast; latencies {'equal' if found['equal'] else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
