"""Guarded worker: what a user's body sees of a worker. Its calls are noted with their lines, and never raise there.

Each call of a worker's method makes a WorkerStep at once, which notes the line that called. `yield from` begins it. So
one that was never begun when the next is made is a forgotten `yield from`, and its line is known. What goes wrong
inside a step, a misuse of the hardware or a fault of the device, is handed to whoever drives the body (`guarded_body`)
as a Stop; the body is then closed. It is never raised inside the body, where an `except Exception` could swallow it.

What the device would only notice later, outside of any worker, is looked at here first: scratch and fields.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise
from operator import index
from typing import Any

import attrs
import numpy as np

import tessbed.sim.source_line as source_line
from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.checkers.scratch_hazards import Span
from tessbed.sim.errors import DeviceFault, HazardError
from tessbed.sim.finding import HazardAccess
from tessbed.sim.kernel_report import KernelError
from tessbed.sim.source_line import SourceLine, lines_of
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor, check_fields
from tessbed.sim.transfer.movement import check_scratch
from tessbed.sim.user_code.captured_variables import Captured, capture
from tessbed.sim.user_code.errors import EndlessLoop, KernelMisuse
from tessbed.sim.user_code.loop_watch import Turn
from tessbed.sim.user_code.user_code import UserCode

Steps = Generator[Any, Any, None]


@attrs.frozen
class Stop:
    """What ended a worker inside a step: an exception that is not to pass through the user's frames."""

    error: BaseException


class WorkerStep:
    """One call of a worker's method, to be awaited with `yield from`."""

    __slots__ = ("guard", "line", "make", "name")

    def __init__(
        self, guard: "GuardedWorker", name: str, line: SourceLine | None, make: Callable[[], Iterator[Any]]
    ) -> None:
        self.guard, self.name, self.line, self.make = guard, name, line, make

    def __iter__(self) -> Iterator[Any]:
        return self.guard.perform(self)

    def __repr__(self) -> str:
        return f"w.{self.name}(...)"


@attrs.define(eq=False)
class GuardedWorker:
    """One worker, as a user's body sees it; `_ctx` is the WorkerContext or UntimedWorker that does the work.

    `failure` is what has to end the worker. For whoever drives the body: `here` is the line of the step under way,
    `transfers` has the line, the kind and the descriptors of each transfer by its sequence. `turn` is for the loop
    watch.
    """

    _ctx: Any
    _code: UserCode
    _check: JobCheck
    turn: Turn
    here: SourceLine | None = attrs.field(default=None, init=False)
    failure: DeviceFault | None = attrs.field(default=None, init=False)
    transfers: list[tuple[SourceLine | None, str, Sequence[Descriptor]]] = attrs.field(factory=list, init=False)
    _idle: list[WorkerStep] = attrs.field(factory=list, init=False)
    _composed: bool = attrs.field(default=False, init=False)

    @property
    def worker(self) -> int:
        """Its number in the grid."""
        return self._ctx.worker

    @property
    def workers(self) -> int:
        """The number of workers in the grid."""
        return self._ctx.workers

    @property
    def spec(self) -> DeviceSpec:
        """The device."""
        return self._ctx.spec

    @property
    def scratch(self) -> np.ndarray:
        """1-D uint8, dirty at the start."""
        return self._ctx.scratch

    @property
    def counts(self) -> dict[str, int]:
        """The kernel's own statistics."""
        return self._ctx.counts

    @property
    def faulty(self) -> int:
        """The sequence of the first transfer that met a fault; the last one where that is not known."""
        return self._ctx.faulty if self._ctx.faulty >= 0 else len(self.transfers) - 1

    def count(self, name: str, n: int = 1) -> None:
        """Add `n` to one of the kernel's statistics."""
        self._ctx.count(name, n)

    def gather(self, descriptors: Sequence[Descriptor], *, oversized: bool = False) -> WorkerStep:
        """Read one wait group into scratch and wait for all of it."""
        return self._step("gather", lambda: self._read(self._ctx.gather, descriptors, oversized))

    def prefetch(self, descriptors: Sequence[Descriptor], *, oversized: bool = False) -> WorkerStep:
        """Read one wait group into scratch, and go on; `wait_drains` waits for it too."""
        return self._step("prefetch", lambda: self._read(self._ctx.prefetch, descriptors, oversized))

    def wait_slot(self, slot: int) -> WorkerStep:
        """Wait until the earlier drain of `slot` has completed."""
        return self._step("wait_slot", lambda: self._with_slot(slot, lambda: self._wait("wait_slot", slot)))

    def compute(
        self,
        ticks: int,
        action: Callable[[], None],
        *,
        reads: Sequence[Span] | None = None,
        writes: Sequence[Span] | None = None,
        fn: Callable[..., Any] | None = None,
        captured: Captured | None = None,
    ) -> WorkerStep:
        """Spend `ticks` computing; `action` moves bytes from the scratch of `reads` to that of `writes`.

        Both default to what `action.touches()` says, if it does. `fn` is the function whose captured variables must
        not change until then, `action` by default, unless they were `captured` earlier.
        """
        noted = captured or capture(fn or action)
        step = self._step("compute", lambda: self._ctx.compute(_ticks(ticks), watched))
        watched = WatchedAction(action, noted, self, step.line, reads, writes)
        return step

    def drain(self, slot: int, descriptors: Sequence[Descriptor]) -> WorkerStep:
        """Issue the chain that empties `slot`, and go on."""
        return self._step("drain", lambda: self._write(slot, descriptors))

    def pack(
        self,
        slot: int,
        ticks: int,
        action: Callable[[], None],
        descriptors: Sequence[Descriptor],
        *,
        ordered: bool,
        fn: Callable[..., Any] | None = None,
        captured: Captured | None = None,
    ) -> WorkerStep:
        """Wait for `slot`, compute, drain it; after all earlier drains if `ordered`."""
        noted = captured or capture(fn or action)

        def run() -> Iterator[Any]:
            chain = self._check_chain(descriptors)
            self.transfers.append((self.here, "drain", chain))
            return self._ctx.pack(slot, _ticks(ticks), watched, chain, ordered=ordered)

        step = self._step("pack", lambda: self._with_slot(slot, run))
        watched = WatchedAction(action, noted, self, step.line, None, None)
        return step

    def wait_drains(self, reason: str = "end") -> WorkerStep:
        """Wait for every earlier transfer."""
        return self._step("wait_drains", lambda: self._wait("wait_drains", None, reason))

    def chain(self, *steps: WorkerStep) -> WorkerStep:
        """One step of several, made in one call of the user's, one after the other."""
        self._idle = [step for step in self._idle if step not in steps]

        def run() -> Iterator[Any]:
            self._composed = len(steps) > 1
            for step in steps:
                yield from step.make()
            self._composed = False

        return self._step(steps[-1].name, run)

    def at(self, line: SourceLine | None) -> None:
        """What follows is asked for at that line, where no call of the user's asks for it."""
        self.here = line
        if line is not None and self._ctx.traced:
            self._ctx.note(source=str(line), function=line.function)
        if self._ctx.staging:
            self._ctx.staging.line = line

    def gathered(self, line: SourceLine | None, descriptors: Sequence[Descriptor], *, oversized: bool) -> Iterator[Any]:
        """The steps of a gather that is asked for at `line`, by whoever does a user's waits."""
        self._begin(line)
        self.transfers += [(line, "gather", [descriptor]) for descriptor in descriptors]
        return self._ctx.gather(descriptors, oversized=oversized)

    def packed(
        self,
        line: SourceLine | None,
        slot: int,
        ticks: int,
        action: Any,
        descriptors: Sequence[Descriptor],
        *,
        ordered: bool,
        captured: Captured | None,
    ) -> Iterator[Any]:
        """The steps of a `pack` that is asked for at `line`; `action` is a user's function on views."""
        self._begin(line)
        self.transfers.append((line, "drain", descriptors))
        watched = WatchedAction(action, captured, self, line, None, None)
        return self._ctx.pack(slot, ticks, watched, descriptors, ordered=ordered)

    def next_of(self, generator: Iterator[Any]) -> Any:
        """The next thing that a user's generator yields, which is asked for at its line; None at its end."""
        if (fault := self.given_up()) is not None:
            raise fault
        made = next(generator, None)
        self.at(source_line.line_of(generator) or self.here)
        return made

    def perform(self, step: WorkerStep) -> Steps:
        """Run a step; what ends it comes out as a Stop, after which nothing goes on."""
        if len(self._idle) > 1 or step not in self._idle:
            self._idle = [idle for idle in self._idle if idle is not step]
            self.check_awaited()
        self._idle.clear()
        try:
            self._begin(step.line or self.here)
            if self.failure is None:
                yield from step.make()
            if (fault := self.failure or self.given_up()) is not None:
                yield Stop(fault)
        except (KeyboardInterrupt, GeneratorExit, MemoryError):
            raise
        except (KernelMisuse, HazardError) as error:
            yield Stop(self.misused(str(error), self.here))
        except BaseException as error:
            yield Stop(error)

    def check_awaited(self) -> None:
        """The worker fails where a step that was made was never begun."""
        idle, self._idle = self._idle, []
        for step in idle[:1]:
            text = f"w.{step.name}(...) was called without `yield from`, so it never happened"
            remedy = f"yield from w.{step.name}(...)"
            self.failure = self.failure or self.misused(text, step.line, "not_awaited", remedy)

    def misused(self, text: str, line: SourceLine | None, kind: str = "misuse", remedy: str = "") -> DeviceFault:
        """Report a finding at a line; returns what ends the worker."""
        self.say(kind, text, line, remedy)
        return DeviceFault("kernel_hazard", self.worker, line.line if line else 0, text)

    def broken(
        self, kind: str, text: str, trace: Sequence[SourceLine], access: HazardAccess | None = None
    ) -> DeviceFault:
        """Note an error of the kernel's; returns what ends the worker."""
        line = trace[-1] if trace else self.here
        error = KernelError(kind, self.worker, self._ctx.tick, line, text, tuple(trace), access)
        self._check.errors.append(error)
        return DeviceFault("kernel_error", self.worker, line.line if line else 0, text)

    def given_up(self) -> DeviceFault | None:
        """What ends the worker where another one of the job was ended in a loop: each would take that long again."""
        if not self._check.endless:
            return None
        return self.failure or DeviceFault("kernel_error", self.worker, 0, "another worker was ended in a loop")

    def raised(self, error: BaseException) -> DeviceFault:
        """The kernel raised, or was ended in a loop; returns what ends the worker."""
        trace = lines_of(error.__traceback__) or tuple(filter(None, [self.here]))
        if isinstance(error, EndlessLoop):
            text = str(error) or f"it has not come back to the device for {self._code.loop_seconds:g} s"
            return self.broken("endless_loop", text, trace)
        return self.broken("exception", f"{type(error).__name__}: {error}", trace)

    def say(self, kind: str, text: str, line: SourceLine | None, remedy: str = "") -> None:
        """Report a finding at a line."""
        if staging := self._ctx.staging:
            before, staging.line = staging.line, line
            staging.say(kind, text, remedy=remedy)
            staging.line = before

    def _begin(self, line: SourceLine | None) -> None:
        """A step begins that is asked for at a line. Raises EndlessLoop for one too many."""
        self.at(line)
        self._check.steps += 1
        if self._check.steps > self._code.most_steps:
            raise EndlessLoop(f"the job has taken {self._code.most_steps:,} steps and has not ended")

    def _step(self, name: str, make: Callable[[], Iterator[Any]]) -> WorkerStep:
        step = WorkerStep(self, name, source_line.line_above(3), make)
        self._idle.append(step)
        return step

    def _wait(self, name: str, slot: int | None, reason: str = "end") -> Iterator[Any]:
        """A wait, unless it is to be skipped; one that is part of another step is not the user's."""
        watch, staging = self._code.waits, self._ctx.staging
        if (
            watch
            and staging
            and self.here
            and not self._composed
            and watch.skips(self.here, name, staging.pending(slot))
        ):
            return iter(())
        return self._ctx.wait_drains(reason) if slot is None else self._ctx.wait_slot(slot)

    def _with_slot(self, slot: int, make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        if not isinstance(slot, int) or not 0 <= slot < self.spec.slots:
            raise KernelMisuse(f"got slot {slot!r}, wanted 0 to {self.spec.slots - 1}")
        return make()

    def _read(self, gather: Any, descriptors: Sequence[Descriptor], oversized: bool) -> Iterator[Any]:
        descriptors = self._checked(descriptors)
        if not 1 <= len(descriptors) <= self.spec.dma.wait_group:
            limit = self.spec.dma.wait_group
            raise KernelMisuse(f"got a wait group of {len(descriptors)} gathers, wanted 1 to {limit} (dma.wait_group)")
        for descriptor in descriptors:
            check_scratch(descriptor, self.scratch.size, write=False)
        oversized = oversized or _rows_of_oversized_pitch(descriptors, self.spec.dma.field_limit)
        self.transfers += [(self.here, "gather", [descriptor]) for descriptor in descriptors]
        return gather(descriptors, oversized=oversized)

    def _write(self, slot: int, descriptors: Sequence[Descriptor]) -> Iterator[Any]:
        chain = self._check_chain(descriptors)

        def run() -> Iterator[Any]:
            self.transfers.append((self.here, "drain", chain))
            return self._ctx.drain(slot, chain)

        return self._with_slot(slot, run)

    def _check_chain(self, descriptors: Sequence[Descriptor]) -> list[Descriptor]:
        chain = self._checked(descriptors)
        if not chain:
            raise KernelMisuse("got a drain of no descriptor, wanted one at least")
        for descriptor in chain:
            check_scratch(descriptor, self.scratch.size, write=True)
        return chain

    def _checked(self, descriptors: Sequence[Descriptor]) -> list[Descriptor]:
        """The descriptors, each of six integers that fit their fields."""
        checked = []
        for descriptor in descriptors:
            fields = tuple(map(int, descriptor))
            if len(fields) != len(Descriptor._fields):
                raise KernelMisuse(f"got a descriptor of {len(fields)} fields, wanted {', '.join(Descriptor._fields)}")
            checked.append(Descriptor(*fields))
            check_fields(self.spec, checked[-1])
        return checked


@attrs.define(eq=False)
class WatchedAction:
    """A user's computation: says what it touches, compares its captured variables, keeps its exceptions to itself."""

    _action: Callable[[], None]
    _captured: Captured | None
    _guard: GuardedWorker
    _line: SourceLine | None
    _reads: Sequence[Span] | None
    _writes: Sequence[Span] | None
    touches: Any = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.touches = getattr(self._action, "touches", None)
        if self._reads is not None or self._writes is not None:
            self.touches = lambda: (self._reads or (), self._writes or ())

    def __call__(self) -> None:
        guard = self._guard
        if self._captured is not None and (changed := self._captured.changed()):
            text = f"the captured variable {changed} changed before the device computed"
            name = changed.partition(" ")[0]
            guard.say("late_binding", text, self._line, f"bind it as a default: lambda ..., {name}={name}: ...")
        if guard.given_up() is not None:
            return
        with guard.turn:
            try:
                self._action()
            except (Exception, EndlessLoop) as error:
                guard.failure = guard.failure or guard.raised(error)


def _rows_of_oversized_pitch(group: Sequence[Descriptor], limit: int) -> bool:
    """Whether single rows of a wait group are apart by a pitch that no field holds, written out one by one."""
    steps = {after.address - before.address for before, after in pairwise(group)}
    return len(steps) == 1 and max(steps) > limit and all(descriptor.rows == 1 for descriptor in group)


def _ticks(ticks: Any) -> int:
    """A computation's ticks as an int."""
    try:
        whole = index(ticks)
    except TypeError:
        raise KernelMisuse(f"got {ticks!r} ticks, wanted an integer") from None
    if whole < 0:
        raise KernelMisuse(f"got {whole} ticks, wanted 0 or more")
    return whole
