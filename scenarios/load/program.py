"""The program of a load: servers, streams and jobs as numbers, which is all that the recurrence knows."""

import attrs

from tessbed.scenarios.load.load_model import Arrivals, Distribution

NO_LIMIT = 1 << 62


@attrs.frozen
class Station:
    """`servers` equal servers with one queue. `kind` is device, a65 or external.

    A server holds up to `depth` jobs, and does one after the other in their order. A device that has lost one of them
    is reset in `reset_ticks`.
    """

    name: str
    kind: str
    servers: int
    depth: int = 1
    reset_ticks: int = 0


@attrs.frozen
class StageProgram:
    """One job of a frame: its station, its ticks, and the jobs of the frame around it, by their numbers.

    `kernel` is the kernel that a server loads at its first job of that kind, in `load_ticks`; -1 for none. `parts` are
    those of the constant ticks, by name. The last `tail_ticks` of them need the server no more, which does the next job
    that it holds.

    Jobs of the same `line` end, for their frames, in the order of their starts; -1 for none. The host looks for the end
    of a job on a device `timeout_ticks` after its start, and once more `grace_ticks` later; 0 where it waits for ever.
    `band` has the ticks by other schedules than the one that is modelled, by their names.
    The device has looked for its kernel `entry_ticks` after it began the job, and had to load it then.
    """

    name: str
    station: int
    ticks: Distribution
    after: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    priority: int = 0
    kernel: int = -1
    load_ticks: int = 0
    tail_ticks: int = 0
    line: int = -1
    timeout_ticks: int = 0
    grace_ticks: int = 0
    entry_ticks: int = 0
    parts: tuple[tuple[str, int], ...] = ()
    band: tuple[tuple[str, int], ...] = ()

    @property
    def random(self) -> bool:
        """Whether its ticks differ from frame to frame."""
        return self.ticks.kind != "constant"

    @property
    def least_ticks(self) -> int:
        """No run of it takes less, the kernel loaded."""
        return self.ticks.ticks if self.ticks.kind in ("constant", "uniform") else 0


@attrs.frozen
class StreamProgram:
    """One stream: its jobs, each behind those that it needs, and its rules; NO_LIMIT where it has none.

    With `place_per_server` nobody has said `in_flight`: it is the number of servers that the jobs use.
    """

    name: str
    stages: tuple[StageProgram, ...]
    arrivals: Arrivals
    frames: int
    deadline_ticks: int | None = None
    in_flight: int = NO_LIMIT
    queue: int = NO_LIMIT
    on_full: str = "block"
    place_per_server: bool = False

    @property
    def least_ticks(self) -> int:
        """The ticks of a frame that never waits, at least."""
        ends: list[int] = []
        for stage in self.stages:
            ends.append(max((ends[other] for other in stage.after), default=0) + stage.least_ticks)
        return max(ends)


@attrs.frozen
class Signals:
    """What a device does about a job, in ticks from its begin: when it begins the next one, when the record is in
    place, and when interrupts with the job's number come; None for never. `good` is what the record says.
    """

    good: bool
    run_ticks: int | None
    record_ticks: int | None
    interrupts: tuple[int, ...]


@attrs.frozen
class FaultEffect:
    """What comes of a job that a fault strikes: whether it ends well, and after how many ticks from its start.

    Its server takes another job after `free_ticks`, which are more where a reset has to be confirmed first; what is
    behind it in its queue of the runtime waits for `final_ticks`. All this is of a server with no other job; where it
    has several, `signals` say what the host will see.
    """

    good: bool
    over_ticks: int
    free_ticks: int
    final_ticks: int = 0
    signals: Signals | None = None


@attrs.frozen
class StruckJob:
    """A job of one frame, by its numbers, and the effect of its faults: on a server that has its kernel, or has not.

    `kinds` says in words which faults they are.
    """

    stream: int
    frame: int
    job: int
    kinds: str
    loaded: FaultEffect
    unloaded: FaultEffect


@attrs.frozen
class LoadProgram:
    """All of a load. No frame comes at `horizon_ticks` or later. `struck` is in the order of its numbers.

    With `numbered` the tallies have the numbers of the frames whose latencies they have.
    """

    stations: tuple[Station, ...]
    streams: tuple[StreamProgram, ...]
    struck: tuple[StruckJob, ...] = ()
    numbered: bool = False
    kernels: int = 0
    lines: int = 0
    horizon_ticks: int = NO_LIMIT
    warmup: int = 0
    replications: int = 1
    seed: int = 0


def deep_stations(program: LoadProgram) -> list[int]:
    """The stations that hold several jobs and have one that a fault strikes."""
    stages = [program.streams[struck.stream].stages[struck.job] for struck in program.struck]
    return [number for number in dict.fromkeys(s.station for s in stages) if program.stations[number].depth > 1]
