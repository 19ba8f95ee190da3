"""Jobs: one submission from its preparation to its final state, and what it leaves behind."""

from collections.abc import Callable
from typing import Any

import attrs

from tessbed.runtime.address_ranges import JobFootprint
from tessbed.runtime.jobs.control_block import ControlBlock
from tessbed.runtime.jobs.held_resources import Owners
from tessbed.runtime.jobs.job_ticks import job_parts
from tessbed.runtime.jobs.states import FINAL, State, Transition, step
from tessbed.sim.completion_record import Record
from tessbed.sim.stats import JobStats

OK, LOST = "ok", "lost"


@attrs.frozen
class JobResult:
    """How a job ended. Ticks are 0, record and stats None, where nothing was submitted, and while it is not over.

    `outcome` is "ok", the name of a device fault, "lost", or "recovered" and "cancelled" as the states of those names.
    `job_ticks` go from submission to the host's wake, `parts` says where they went and sums to them; see
    `job_ticks.job_parts`. A job without a record has no stats.
    """

    name: str
    cookie: int
    state: State
    outcome: str
    device_ticks: int
    job_ticks: int
    record: Record | None
    stats: JobStats | None
    packet: bytes
    parts: dict[str, int] = attrs.field(factory=dict)


@attrs.define(eq=False, repr=False)
class Job:
    """A job. `cookie` is its number, unique in its runtime; 0 for one that was never submitted.

    `after` are the jobs that must end well before it starts. `history` is every move with its tick and the state it
    led to. `late` is True when its record came after its deadline. `lost_tick` is when it was given up.
    """

    cookie: int
    name: str
    raw: bytes
    footprint: JobFootprint
    queue: Any
    after: tuple["Job", ...] = ()
    timeout_ticks: int | None = None
    control: ControlBlock | None = None
    owners: Owners = attrs.field(init=False)
    history: list[tuple[int, Transition, State]] = attrs.field(factory=list, init=False)
    mark: int = attrs.field(default=0, init=False)
    outcome: str = attrs.field(default="", init=False)
    reason: str = attrs.field(default="", init=False)
    late: bool = attrs.field(default=False, init=False)
    submit_tick: int = attrs.field(default=0, init=False)
    final_tick: int = attrs.field(default=0, init=False)
    lost_tick: int | None = attrs.field(default=None, init=False)
    record: Record | None = attrs.field(default=None, init=False)
    stats: JobStats | None = attrs.field(default=None, init=False)
    _state: State = attrs.field(default=State.PREPARED, init=False)
    _on_final: list[Callable[["Job"], None]] = attrs.field(factory=list, init=False)
    _on_over: list[Callable[["Job"], None]] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.owners = Owners(str(self))

    @property
    def state(self) -> State:
        """Where the job is; only `move` changes it."""
        return self._state

    @property
    def final(self) -> bool:
        """True when nothing will happen to the job any more."""
        return self._state in FINAL

    @property
    def over(self) -> bool:
        """True when waiting is no use: the job is final, or lost, with its buffers still held until that is proved."""
        return self._state in FINAL or (self.lost_tick is not None and self._state is not State.LOST)

    @property
    def deadline(self) -> int | None:
        """The tick at which the runtime looks for its record; None where it waits for ever."""
        return None if self.timeout_ticks is None else self.submit_tick + self.timeout_ticks

    def move(self, move: Transition, tick: int) -> None:
        """One move of the table. Raises StateError, and then nothing has changed. A final state lets the owners go."""
        self._state = step(self._state, move, str(self))
        self.history.append((tick, move, self._state))
        if self._state is State.LOST:
            self.lost_tick = tick
        if self.final:
            self.final_tick = tick
            self.after = ()
            self.owners.release()
            self._report(self._on_final)
        if self.over:
            self._report(self._on_over)

    def on_final(self, callback: Callable[["Job"], None]) -> None:
        """Call `callback` with the job once its state is final, at once where it is."""
        if self.final:
            callback(self)
        else:
            self._on_final.append(callback)

    def on_over(self, callback: Callable[["Job"], None]) -> None:
        """Call `callback` with the job once there is nothing to wait for, at once where it is so."""
        if self.over:
            callback(self)
        else:
            self._on_over.append(callback)

    def result(self) -> JobResult:
        """What is known of the job now."""
        woken = self.lost_tick if self.lost_tick is not None else self.final_tick if self.final else None
        parts = {} if woken is None else job_parts(self.history, woken, self.stats)
        job_ticks = 0 if woken is None or not parts else woken - self.submit_tick
        stats = None
        if self.stats and parts:
            stats = attrs.evolve(self.stats, submit_tick=self.submit_tick, job_ticks=job_ticks, parts=parts)
        return JobResult(
            name=self.name,
            cookie=self.cookie,
            state=self._state,
            outcome=self.outcome,
            device_ticks=self.record.device_ticks if self.record else 0,
            job_ticks=job_ticks,
            record=self.record,
            stats=stats,
            packet=self.raw,
            parts=parts,
        )

    def _report(self, callbacks: list[Callable[["Job"], None]]) -> None:
        reported = tuple(callbacks)
        callbacks.clear()
        for callback in reported:
            callback(self)

    def __repr__(self) -> str:
        return f"<{self}, {self._state.value}>"

    def __str__(self) -> str:
        return f"job {self.name!r} (cookie {self.cookie})" if self.name else f"job {self.cookie}"
