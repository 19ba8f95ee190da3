"""The timing rules once more, slow and literal: every tick is visited, nothing is scheduled.

It knows no SimPy and none of the engine; it is given programs and the five integers of each transfer. A program
is a list of steps: ("spend", reason, ticks), ("read", [transfer cost, ...]), ("slot", slot), ("drain", slot, transfer
cost), ("drains", reason).
"""

from typing import Any

import attrs


@attrs.define(eq=False)
class Going:
    """A transfer: key, cost, and ticks as they become known."""

    worker: int
    seq: int
    cost: Any
    arrival: int
    slot: int = -1
    grant: int = -1
    start: int = -1
    end: int = -1
    done: int = 1 << 60
    channel: int = -1

    @property
    def key(self) -> tuple[int, int, int]:
        """The order of arrival."""
        return (self.arrival, self.worker, self.seq)


@attrs.define(eq=False)
class WorkerSteps:
    """A worker walking its program from tick `start`."""

    worker: int
    steps: list[Any]
    start: int
    at: int = 0
    until: int = -1
    since: int = -1
    seq: int = 0
    mine: list[Going] = attrs.Factory(list)
    group: list[Going] = attrs.Factory(list)
    stalls: dict[str, int] = attrs.Factory(dict)
    finish: int = -1

    def advance(self, tick: int, arrivals: list[Going]) -> None:
        """Take every step that can be taken at `tick`."""
        while self.finish < 0 and tick >= self.start:
            if self.at == len(self.steps):
                self.finish = tick
            elif not self.step(tick, arrivals):
                return

    def step(self, tick: int, arrivals: list[Going]) -> bool:
        """Take one step; False when it must wait."""
        kind, *args = self.steps[self.at]
        if self.since < 0:
            self.since = tick
            self.begin(kind, args, tick, arrivals)
        blockers = {
            "spend": lambda: tick < self.until,
            "read": lambda: any(t.done > tick for t in self.group),
            "slot": lambda: any(t.done > tick for t in self.mine if t.slot == args[0]),
            "drain": lambda: False,
            "drains": lambda: any(t.done > tick for t in self.mine if t.slot >= 0),
        }
        if blockers[kind]():
            return False
        reason = {"spend": args[0], "read": "gather", "slot": "slot", "drains": args[0], "drain": "none"}[kind]
        self.stalls[reason] = self.stalls.get(reason, 0) + tick - self.since
        self.at, self.since = self.at + 1, -1
        return True

    def begin(self, kind: str, args: list[Any], tick: int, arrivals: list[Going]) -> None:
        """What a step does when it is reached."""
        if kind == "spend":
            self.until = tick + args[1]
        transfer_costs = args[0] if kind == "read" else [args[1]] if kind == "drain" else []
        slot = args[0] if kind == "drain" else -1
        self.group = [Going(self.worker, self.seq + i, cost, tick, slot) for i, cost in enumerate(transfer_costs)]
        self.seq += len(transfer_costs)
        self.mine += self.group
        arrivals += self.group


@attrs.define(eq=False)
class Side:
    """A pool: its channels (idle from which tick), requests, grants, pointer."""

    channels: list[int]
    waiting: list[Going] = attrs.Factory(list)
    granted: list[Going] = attrs.Factory(list)
    pointer: int = 0

    def head(self, rule: str) -> Going:
        """Who is served next."""
        if rule == "fifo":
            return min(self.waiting, key=lambda t: t.key)
        turn = sorted(self.waiting, key=lambda t: (t.worker < self.pointer, t.worker, t.arrival, t.seq))
        return turn[0]


def walk(spec: Any, programs: list[list[Any]]) -> tuple[list[Going], list[WorkerSteps], int]:
    """Run the programs, worker i the i-th; returns transfers, worker states and the last tick."""
    dma, cores = spec.dma, spec.cores
    sides: dict[tuple[str, int], Side] = {}
    for core in range(cores if dma.channel_scope == "per_core" else 1):
        sides["read", core] = Side([0] * dma.read_channels)
        sides["write", core] = Side([0] * dma.write_channels)
    port = {"read": 0, "write": 0}
    worker_states = [WorkerSteps(w, p, (w % cores) * spec.launch_stagger_ticks) for w, p in enumerate(programs)]
    for later in worker_states[cores:]:
        later.start = 1 << 60
    tick = 0
    while True:
        arrivals: list[Going] = []
        for worker_state in worker_states:
            worker_state.advance(tick, arrivals)
            if worker_state.finish == tick and worker_state.worker + cores < len(worker_states):
                heir = worker_states[worker_state.worker + cores]
                heir.start = min(heir.start, tick + spec.relaunch_ticks)
        for going in arrivals:
            core = going.worker % cores if dma.channel_scope == "per_core" else 0
            sides[going.cost.d, core].waiting.append(going)
        grant_all(spec, sides, port, tick)
        if all(worker_state.finish >= 0 for worker_state in worker_states):
            return [t for worker_state in worker_states for t in worker_state.mine], worker_states, tick
        tick += 1


def grant_all(spec: Any, sides: dict[tuple[str, int], Side], port: dict[str, int], tick: int) -> None:
    """The end of a tick."""
    while True:
        able = [
            side
            for side in sides.values()
            if side.waiting
            and min(side.channels) <= tick
            and sum(t.done > tick for t in side.granted) < spec.dma.outstanding
        ]
        if not able:
            return
        side = min(able, key=lambda s: s.head(spec.dma.arbitration).key)
        going = side.head(spec.dma.arbitration)
        name = going.cost.d if spec.memory.split_port else "read"
        going.channel = next(i for i, free in enumerate(side.channels) if free <= tick)
        going.grant = tick
        going.start = max(port[name], tick + going.cost.s)
        going.end = going.start + going.cost.c
        going.done = going.end + going.cost.l
        port[name] = going.start + going.cost.m
        side.channels[going.channel] = going.end
        side.waiting.remove(going)
        side.granted.append(going)
        side.pointer = going.worker + 1
