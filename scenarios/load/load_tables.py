"""Load tables: a program as the integers that the C form takes, and what it returns.

The extension is optional: it is absent after an install without a C compiler, unused when stale; `missing` says why.
The orders of fields are the structs of `_load.c`.
"""

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tessbed.native_build import load_extension
from tessbed.scenarios.load.draws import ARRIVAL, root
from tessbed.scenarios.load.load_model import DISTRIBUTIONS, ON_FULL, Distribution
from tessbed.scenarios.load.program import NO_LIMIT, LoadProgram, StreamProgram, StruckJob, deep_stations
from tessbed.scenarios.load.tally import LoadTally, StageTally, StationTally, StreamTally

SOURCES = 0x0ED1F2B8
"""The number of the C sources that this module was written for."""

if TYPE_CHECKING:
    import tessbed.scenarios.load._load as _load

    missing = ""
else:
    _load, missing = load_extension("tessbed.scenarios.load._load", SOURCES)

ARRIVAL_KINDS = ("every", "random", "trace", "closed", "at_once")
MOST_TICKS = 1 << 61
LONGEST_DRAW = 64
"""No exponential draw is so many times its mean: the smallest number that is drawn from is 2**-54."""
MOST_CV = 3.0
"""Gamma draws of a larger coefficient of variation are left to Python, whose integers have no end."""
SIGNED, WORD = 1 << 63, 1 << 64
NOTHING = Distribution("constant", 0)


def count_load_in_c(program: LoadProgram, replication: int) -> LoadTally | None:
    """All that is counted of one replication; None where there is no C form, or none of such a load.

    That is one whose ticks could leave 62 bits, or with faults that have to do with several jobs.
    """
    if _load is None or (program.struck and (program.lines or deep_stations(program))) or not _fits(program):
        return None
    streams = program.streams
    stages, edges = _stages(program, replication)
    rows, traces = _streams(program, replication)
    settings = (
        *(program.horizon_ticks, program.warmup, program.kernels, len(streams), len(program.stations)),
        sum(len(stream.stages) for stream in streams),
        *(len(program.struck), int(program.numbered), program.lines),
    )
    shapes = [stream.arrivals.between.cv if stream.arrivals.between else 1.0 for stream in streams]
    shapes += [stage.ticks.cv for stream in streams for stage in stream.stages]
    figures, latencies, numbers = _load.count(
        array("q", settings),
        array("q", [number for station in program.stations for number in (station.servers, station.depth)]),
        array("q", rows),
        array("q", stages),
        array("q", edges),
        array("q", traces),
        array("d", shapes),
        array("q", [number for struck in program.struck for number in _struck(struck)]),
    )
    return _tally(program, iter(array("q", figures)), latencies, numbers)


def _fits(program: LoadProgram) -> bool:
    """Whether all gaps and all services one after the other stay far below 62 bits, each as long as any could be."""
    total = sum(max(struck.loaded.free_ticks, struck.unloaded.free_ticks) for struck in program.struck)
    for stream in program.streams:
        arrivals, services = stream.arrivals, sum(_most(stage.ticks) + stage.load_ticks for stage in stream.stages)
        gap = _most(arrivals.between or NOTHING) + arrivals.think
        frames = arrivals.count if arrivals.kind == "at_once" else len(arrivals.ticks) or stream.frames
        if frames >= NO_LIMIT and arrivals.between is not None:
            frames = LONGEST_DRAW * (1 + program.horizon_ticks // max(1, int(arrivals.between.mean)))
        if frames >= NO_LIMIT and arrivals.kind == "closed" and stream.least_ticks:
            frames = arrivals.count * (1 + program.horizon_ticks // stream.least_ticks)
        total += arrivals.first + max(arrivals.ticks, default=0) + frames * (gap + services)
        cvs = [stage.ticks.cv for stage in stream.stages] + [arrivals.between.cv if arrivals.between else 1.0]
        if max(cvs) > MOST_CV:
            return False
    return total < MOST_TICKS


def _most(distribution: Distribution) -> int:
    if distribution.kind in ("poisson", "gamma"):
        return LONGEST_DRAW * distribution.ticks
    return max(distribution.ticks, distribution.high)


def _signed(state: int) -> int:
    return state - WORD if state >= SIGNED else state


def _streams(program: LoadProgram, replication: int) -> tuple[list[int], list[int]]:
    """The rules of all streams, and their traces one after the other."""
    rows: list[int] = []
    traces: list[int] = []
    first_stage = 0
    for number, stream in enumerate(program.streams):
        rows += _stream(stream, first_stage, len(traces))
        rows.append(_signed(root(program.seed, replication, number, ARRIVAL)))
        traces += stream.arrivals.ticks
        first_stage += len(stream.stages)
    return rows, traces


def _stream(stream: StreamProgram, first_stage: int, trace: int) -> Iterator[int]:
    arrivals, between = stream.arrivals, stream.arrivals.between or NOTHING
    yield from (first_stage, len(stream.stages), ARRIVAL_KINDS.index(arrivals.kind))
    yield from (arrivals.first, arrivals.count, arrivals.think)
    yield from (DISTRIBUTIONS.index(between.kind), between.ticks, between.high, stream.frames)
    yield -1 if stream.deadline_ticks is None else stream.deadline_ticks
    yield from (stream.in_flight, stream.queue, ON_FULL.index(stream.on_full), trace, len(arrivals.ticks))


def _stages(program: LoadProgram, replication: int) -> tuple[list[int], list[int]]:
    """The rules of all jobs, and the jobs behind each."""
    rows: list[int] = []
    edges: list[int] = []
    for number, stream in enumerate(program.streams):
        for place, stage in enumerate(stream.stages):
            ticks = stage.ticks
            rows += [stage.station, DISTRIBUTIONS.index(ticks.kind), ticks.ticks, ticks.high, stage.priority]
            rows += [stage.kernel, stage.load_ticks, stage.tail_ticks, stage.line]
            rows += [len(stage.after), len(edges), len(stage.before)]
            rows.append(_signed(root(program.seed, replication, number, place + 1)))
            edges += stage.before
    return rows, edges


def _struck(struck: StruckJob) -> Iterator[int]:
    yield from (struck.stream, struck.frame, struck.job)
    for effect in (struck.loaded, struck.unloaded):
        yield from (int(effect.good), effect.over_ticks, effect.free_ticks)


def _tally(program: LoadProgram, figures: Iterator[int], latencies: list[bytes], numbers: list[bytes]) -> LoadTally:
    streams = [_stream_tally(figures) for _ in program.streams]
    for stream, tally, ticks, frames in zip(program.streams, streams, latencies, numbers, strict=True):
        tally.stages = [_stage_tally(figures) for _ in stream.stages]
        tally.latencies.frombytes(ticks)
        tally.numbers.frombytes(frames)
    stations = [_station_tally(figures) for _ in program.stations]
    return LoadTally(streams, stations, end=next(figures), struck=list(figures))


def _stream_tally(figures: Iterator[int]) -> StreamTally:
    tally = StreamTally()
    names = ("offered", "dropped", "failed", "completed", "late", "measured")
    for name in (*names, "first_end", "last_end", "first_arrival", "last_arrival", "entered"):
        setattr(tally, name, next(figures))
    for name in ("area", "sojourn_ticks", "outside_ticks", "flight_ticks"):
        setattr(tally, name, _sum(figures))
    return tally


def _stage_tally(figures: Iterator[int]) -> StageTally:
    return StageTally(next(figures), _sum(figures), _sum(figures), _sum(figures))


def _station_tally(figures: Iterator[int]) -> StationTally:
    return StationTally(next(figures), _sum(figures), _sum(figures), _sum(figures), _sum(figures))


def _sum(figures: Iterator[int]) -> int:
    """A sum of ticks comes as two words, the low one first."""
    return next(figures) % WORD + (next(figures) << 64)
