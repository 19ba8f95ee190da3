"""The state of an event run: frames, the host's queues of stations, and streams."""

from collections import deque
from typing import Any

import attrs

from tessbed.runtime.runtime import Runtime
from tessbed.runtime.scheduling.queues import Queue
from tessbed.scenarios.load.program import StreamProgram
from tessbed.scenarios.study.load.frame_storage import FrameStorage
from tessbed.sim.fault_injection import Fault


@attrs.define(eq=False)
class Frame:
    """A frame: its jobs that are left, and the jobs that each of them still waits for.

    The recurrence's FrameState counts the same in another way, on purpose: the two share no code.
    """

    number: int
    storage: FrameStorage
    missing: list[set[int]]
    ready: dict[int, int] = attrs.field(factory=dict)
    came: int = 0
    begun: bool = False
    failed: bool = False
    inside: bool = False
    flying: bool = False


@attrs.define(eq=False)
class HostQueue:
    """The jobs that wait for one station, and how many it has started."""

    number: int
    waiting: list[tuple[Any, int, Frame, int]] = attrs.field(factory=list, kw_only=True)
    started: int = attrs.field(default=0, kw_only=True)


@attrs.define(eq=False)
class ServerQueue(HostQueue):
    """That of a station whose servers take a job each: those that are idle, by number."""

    idle: list[int]

    @property
    def next_server(self) -> int | None:
        """The lowest idle server."""
        return min(self.idle, default=None)

    def take(self, server: int) -> None:
        """The server is not idle any more."""
        self.idle.remove(server)

    def give_back(self, server: int) -> None:
        """The server is idle again."""
        self.idle.append(server)


@attrs.define(eq=False)
class DeviceQueue(HostQueue):
    """That of the devices of a runtime, whose links say what room they have.

    `faults` has those of each submission to each device, in their order; `lines` are the queues of the runtime, by
    stream and name; `moments` are the devices that an empty tensor has for its moment, which no link knows of.
    """

    runtime: Runtime
    faults: list[list[tuple[Fault, ...]]]
    lines: dict[tuple[int, str], Queue] = attrs.field(factory=dict)
    moments: list[int] = attrs.field(factory=list)

    @property
    def next_server(self) -> int | None:
        """The lowest device that has room for another job."""
        links = self.runtime.scheduler.links
        return next((link.index for link in links if link.room > self.moments.count(link.index)), None)


@attrs.define(eq=False)
class StreamRun:
    """A stream: frames that have not begun, in their order, and how many have entered."""

    program: StreamProgram
    idle: deque[Frame] = attrs.field(factory=deque)
    flying: int = 0
    made: int = 0
    come: int = 0
