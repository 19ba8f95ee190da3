"""Simulation: all replications of a load, audited; and what one more server at the critical stage would give."""

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from tessbed.scenarios.load.load_model import Distribution
from tessbed.scenarios.load.load_tables import count_load_in_c
from tessbed.scenarios.load.percentiles import total_ticks
from tessbed.scenarios.load.program import NO_LIMIT, LoadProgram, StageProgram, Station, StreamProgram
from tessbed.scenarios.load.recurrence import count_load_in_python
from tessbed.scenarios.load.tally import LoadTally, broken_identities
from tessbed.sim.exact.engine import chosen_form


@attrs.frozen
class LoadRun:
    """A load that ran: its program, and what each replication counted."""

    program: LoadProgram
    tallies: tuple[LoadTally, ...]

    def latencies(self, stream: int) -> NDArray[np.int64]:
        """Those of all replications, sorted."""
        each = [np.frombuffer(tally.streams[stream].latencies, np.int64) for tally in self.tallies]
        return np.sort(np.concatenate(each))

    def mean_latency(self, tally: LoadTally, stream: int) -> float:
        """That of one replication that has measured frames."""
        latencies = np.frombuffer(tally.streams[stream].latencies, np.int64)
        return total_ticks(latencies) / len(latencies)

    def total(self, stream: int, name: str) -> int:
        """A count of a stream over all replications."""
        return sum(getattr(tally.streams[stream], name) for tally in self.tallies)

    def station_total(self, station: int, name: str) -> int:
        """A count of a station over all replications."""
        return sum(getattr(tally.stations[station], name) for tally in self.tallies)

    @property
    def window_ticks(self) -> int:
        """The ticks that were simulated, over all replications."""
        return sum(tally.end for tally in self.tallies)

    def utilisation(self, station: int) -> float:
        """The part of the window in which the servers of a station were busy."""
        there = self.program.stations[station].servers * self.window_ticks
        return self.station_total(station, "busy_area") / there if there else 0.0

    def mean_queue(self, station: int) -> float:
        """The jobs that waited, on average over the window."""
        return self.station_total(station, "queue_area") / self.window_ticks if self.window_ticks else 0.0


def simulate_load(program: LoadProgram) -> LoadRun:
    """Every replication. Raises RuntimeError where the books do not balance, which is a bug of ours."""
    tallies = []
    for replication in range(program.replications):
        tally = count_load(program, replication)
        if broken := list(broken_identities(tally)):
            raise RuntimeError(f"replication {replication}: {'; '.join(broken)}")
        tallies.append(tally)
    return LoadRun(program, tuple(tallies))


def count_load(program: LoadProgram, replication: int) -> LoadTally:
    """One replication, in the form that the exact engine has, too; in Python where its ticks are too many for C."""
    tally = count_load_in_c(program, replication) if chosen_form() == "native" else None
    return tally if tally is not None else count_load_in_python(program, replication)


def arrival_rate(stream: StreamProgram) -> float:
    """Frames a tick that come whatever happens; 0 where frames come only as others end, or all at once."""
    arrivals = stream.arrivals
    if arrivals.kind == "trace":
        span = arrivals.ticks[-1] - arrivals.ticks[0]
        return (len(arrivals.ticks) - 1) / span if span else 0.0
    return 1 / arrivals.between.mean if arrivals.open and arrivals.between and arrivals.between.mean else 0.0


def offered_load(program: LoadProgram, station: int) -> float:
    """The work that comes to a station a tick, over its servers; above 1 its queue grows for ever.

    Where servers hold several jobs, a job keeps one for its ticks without the tail, and a place there for all of them.
    """
    there = program.stations[station]
    server = place = 0.0
    for stream in program.streams:
        stages = [stage for stage in stream.stages if stage.station == station]
        server += arrival_rate(stream) * sum(stage.ticks.mean - stage.tail_ticks for stage in stages)
        place += arrival_rate(stream) * sum(stage.ticks.mean for stage in stages)
    return max(server, place / there.depth) / there.servers


def is_stable(run: LoadRun, number: int) -> bool:
    """Whether a stream can go on for ever: no station that it uses is offered more than it can do, nor its places
    in flight, which are a station of `in_flight` servers that each frame occupies from its entry to its end.

    At exactly 1 only what is not random holds. A stream without a rate of its own is always stable.
    """
    program = run.program
    stream = program.streams[number]
    if not stream.arrivals.open:
        return True
    stations = dict.fromkeys(stage.station for stage in stream.stages)
    loads = [offered_load(program, station) for station in stations]
    if stream.in_flight < NO_LIMIT:
        stays = run.total(number, "flight_ticks") / max(1, run.total(number, "entered"))
        loads.append(arrival_rate(stream) * stays / stream.in_flight)
    most = max(loads)
    return most < 1 - 1e-9 or (most <= 1 + 1e-9 and not _random(program, stations))


def _random(program: LoadProgram, stations: "dict[int, None]") -> bool:
    """Whether anything at these stations is random."""
    return any(
        stream.arrivals.kind != "every" or any(stage.random for stage in stream.stages)
        for stream in program.streams
        if any(stage.station in stations for stage in stream.stages)
    )


def critical_station(run: LoadRun) -> int:
    """The station with the highest utilisation: the first that more frames would fill."""
    stations = range(len(run.program.stations))
    return max(stations, key=lambda station: (run.utilisation(station), -station))


def relieved(program: LoadProgram, station: int) -> LoadProgram:
    """The same load with one more server at a station; whatever is random stays as it is."""
    there = program.stations[station]
    more = attrs.evolve(there, servers=there.servers + 1)
    streams = tuple(_with_place(stream, station) for stream in program.streams)
    return attrs.evolve(program, stations=_replaced(program.stations, station, more), streams=streams)


def on_other_core(program: LoadProgram, core: str) -> LoadProgram:
    """The same load with the ticks of A65 jobs by the schedule of another core of their band."""
    streams = [
        attrs.evolve(stream, stages=tuple(_by_core(stage, core) for stage in stream.stages))
        for stream in program.streams
    ]
    return attrs.evolve(program, streams=tuple(streams))


def _by_core(stage: StageProgram, core: str) -> StageProgram:
    ticks = dict(stage.band).get(core)
    return stage if ticks is None else attrs.evolve(stage, ticks=Distribution("constant", ticks))


def _with_place(stream: StreamProgram, station: int) -> StreamProgram:
    """The stream with a place in flight for one more server there, if it has one for each."""
    if not stream.place_per_server or all(stage.station != station for stage in stream.stages):
        return stream
    return attrs.evolve(stream, in_flight=stream.in_flight + 1)


def _replaced(values: Sequence[Station], at: int, value: Station) -> tuple[Station, ...]:
    return (*values[:at], value, *values[at + 1 :])
