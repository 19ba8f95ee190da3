"""The values of a load: which jobs follow which, on which servers, in which streams, and for how long.

Times are in ticks of the device's clock. Nothing here knows a tensor: a job of an operation is named, and how long it
takes is for `scenarios/study/load` to ask.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from tessbed.sim.fault_injection import Fault

ON_FULL = ("block", "drop_new", "drop_old")
"""What becomes of a frame that comes while the queue is full: it waits outside, it goes, or the oldest one goes."""
DISTRIBUTIONS = ("constant", "poisson", "uniform", "gamma")
A65_SERVER = "a65"
"""The server that the cores of the host are."""
DEVICE_SERVER = "ev74"
"""The server that the device is where no [[devices]] gives it another name."""


@attrs.frozen
class Distribution:
    """How many ticks something takes: `ticks` always, or on average, or from `ticks` to `high`.

    `kind` is one of DISTRIBUTIONS; "poisson" is exponential, as the time between the events of a Poisson process.
    """

    kind: str
    ticks: int
    high: int = 0
    cv: float = 1.0

    @property
    def mean(self) -> float:
        """The mean, in ticks."""
        return (self.ticks + self.high) / 2 if self.kind == "uniform" else self.ticks

    @property
    def words(self) -> str:
        """As a person says it."""
        if self.kind == "constant":
            return f"{self.ticks:,} ticks"
        if self.kind == "uniform":
            return f"{self.ticks:,} to {self.high:,} ticks, uniform"
        return (
            f"{self.ticks:,} ticks on average, {self.kind if self.kind == 'poisson' else f'gamma with cv {self.cv:g}'}"
        )

    @property
    def values(self) -> Any:
        """As a scenario says it."""
        if self.kind == "constant":
            return self.ticks
        if self.kind == "uniform":
            return {"uniform": [self.ticks, self.high]}
        return {self.kind: self.ticks, **({"cv": self.cv} if self.kind == "gamma" else {})}


@attrs.frozen
class Stage:
    """A job's place in a load. `index` is that of its entry in the file; `server` and `ticks` are an external job's.

    It reads the output of the job `reads`, or, as a kernel of one's own or an external job, those of `handed`; `ports`
    are an external job's, as the file says them. `places` has the places of some of its keys, for messages.
    """

    index: int
    name: str
    after: tuple[str, ...] = ()
    reads: str | None = None
    handed: tuple[str, ...] = ()
    ports: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = ()
    device: str | None = None
    priority: int | None = None
    queue: str | None = None
    server: str | None = None
    ticks: Distribution | None = None
    places: Mapping[str, Any] = attrs.field(factory=dict, eq=False, repr=False)

    @property
    def needs(self) -> tuple[str, ...]:
        """The jobs that must have ended before it."""
        return tuple(dict.fromkeys((*self.after, *((self.reads,) if self.reads else ()), *self.handed)))


@attrs.frozen
class Servers:
    """How many servers of a name there are, for external jobs."""

    name: str
    count: int


@attrs.frozen
class JobQueue:
    """The rules of a queue of the runtime, for the jobs that name it."""

    name: str
    grace_ticks: int = 0


@attrs.frozen
class DeviceGroup:
    """Devices of a name, `count` of them; `changes` are the fields that differ from the scenario's device.

    The host keeps up to `depth` jobs on each.
    """

    name: str
    count: int
    changes: Any
    spec: Any
    depth: int = 1
    place: Any = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class Arrivals:
    """When frames come. `kind` is every, random, trace, closed or at_once.

    `first` is the tick of the first frame of every and at_once; `between` is the time between two of every and random;
    `ticks` are those of a trace; `count` frames are at once, or circulate with `think` ticks between.
    """

    kind: str
    between: Distribution | None = None
    first: int = 0
    count: int = 0
    think: int = 0
    trace: str = ""
    ticks: tuple[int, ...] = attrs.field(default=(), repr=False)

    @property
    def values(self) -> dict[str, Any]:
        """As a scenario says it."""
        said: dict[str, Any] = {}
        if self.kind == "every" and self.between:
            said = {"every": self.between.ticks, "first": self.first}
        elif self.kind == "random" and self.between:
            said = self.between.values
        elif self.kind == "trace":
            said = {"trace": self.trace}
        elif self.kind == "closed":
            said = {"closed": self.count, "think": self.think}
        elif self.kind == "at_once":
            said = {"at_once": self.count, "first": self.first}
        return {name: value for name, value in said.items() if value or name not in ("first", "think")}

    @property
    def words(self) -> str:
        """As a person says it."""
        if self.between is not None:
            return f"every {self.between.words}{f', from {self.first:,} on' if self.first else ''}"
        if self.kind == "trace":
            return f"{len(self.ticks):,} of {self.trace}"
        if self.kind == "closed":
            return f"{self.count:,} that come again {self.think:,} ticks after their end"
        return f"{self.count:,} at tick {self.first:,}"

    @property
    def open(self) -> bool:
        """Whether frames come by a rate of their own, however long those before them take."""
        return self.kind in ("every", "random", "trace")


@attrs.frozen
class Stream:
    """Frames, each of which runs `jobs` once. None: no deadline, any number in flight or waiting, any device."""

    name: str
    jobs: tuple[str, ...]
    arrivals: Arrivals
    deadline_ticks: int | None = None
    in_flight: int | None = None
    queue: int | None = None
    on_full: str = "block"
    device: str | None = None
    priority: int = 0
    place: Any = attrs.field(default=None, eq=False, repr=False)
    arrivals_place: Any = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class FrameFault:
    """A fault that strikes one job of one frame of a stream; frames count from 0, as they come.

    `index` is that of its entry in the file.
    """

    stream: str
    frame: int
    job: str
    fault: Fault
    index: int = attrs.field(default=0, eq=False)
    place: Any = attrs.field(default=None, eq=False, repr=False)

    @property
    def words(self) -> str:
        """As a person says it."""
        return f"{self.fault.kind} in frame {self.frame} of {self.stream}, job {self.job}"

    @property
    def values(self) -> dict[str, Any]:
        """As a scenario says it."""
        where = {"stream": self.stream, "frame": self.frame, "job": self.job}
        return {**where, **attrs.asdict(self.fault)}


@attrs.frozen
class Load:
    """The load of a scenario: its servers, its streams, and how much of them is simulated.

    `frames` are those of each stream, `horizon_ticks` ends all arrivals; the first `warmup` frames of each stream are
    left out of the latencies. `seed` draws whatever is random, apart for each of the `replications`.
    """

    stages: tuple[Stage, ...] = ()
    streams: tuple[Stream, ...] = ()
    servers: tuple[Servers, ...] = ()
    devices: tuple[DeviceGroup, ...] = ()
    queues: tuple[JobQueue, ...] = ()
    faults: tuple[FrameFault, ...] = ()
    cores: int = 8
    frames: int | None = None
    horizon_ticks: int | None = None
    warmup: int = 0
    replications: int = 1
    seed: int = 0

    def stage(self, name: str) -> Stage:
        """The job of that name."""
        return next(stage for stage in self.stages if stage.name == name)

    def grace_ticks(self, stage: Stage) -> int:
        """Those of the job's queue."""
        return next((queue.grace_ticks for queue in self.queues if queue.name == stage.queue), 0)


def load_values(load: Load) -> dict[str, Any]:
    """The sections of a load as a file would say them, every default spelled out."""
    amount = {"frames": load.frames, "horizon_ticks": load.horizon_ticks}
    return {
        "host": {"cores": load.cores},
        "load": {
            **{name: value for name, value in amount.items() if value is not None},
            "warmup": load.warmup,
            "replications": load.replications,
            "seed": load.seed,
        },
        "servers": [attrs.asdict(server) for server in load.servers],
        "devices": [_device_values(group) for group in load.devices],
        "queues": [attrs.asdict(queue) for queue in load.queues],
        "streams": [_stream_values(stream) for stream in load.streams],
        "faults": [fault.values for fault in load.faults],
    }


def _device_values(group: DeviceGroup) -> dict[str, Any]:
    changes = {"device": group.changes} if group.changes else {}
    return {"name": group.name, "count": group.count, "depth": group.depth, **changes}


def _stream_values(stream: Stream) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": stream.name,
        "jobs": list(stream.jobs),
        "arrivals": stream.arrivals.values,
        "deadline_ticks": stream.deadline_ticks,
        "in_flight": stream.in_flight,
        "queue": stream.queue,
        "on_full": stream.on_full,
        "device": stream.device,
        "priority": stream.priority,
    }
    return {name: value for name, value in values.items() if value is not None}


def stage_values(stage: Stage) -> dict[str, Any]:
    """What a load adds to the keys of a job; all keys of an external one."""
    order = {"after": list(stage.after)} if stage.after else {}
    if stage.ticks is not None:
        ports = {side: [_without_none(port) for port in listed] for side, listed in stage.ports}
        own = {"name": stage.name, "op": "external", "server": stage.server, "ticks": stage.ticks.values}
        return {**own, **ports, **order}
    own = {"device": stage.device, "priority": stage.priority, "queue": stage.queue}
    return {**order, **{name: value for name, value in own.items() if value is not None}}


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def order_of(stages: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The names, each behind those that it needs; names on a circle are left out."""
    done: set[str] = set()
    left = list(stages)
    while ready := [name for name in left if all(other in done for other in stages[name])]:
        yield from ready
        done.update(ready)
        left = [name for name in left if name not in done]
