"""Guarded body: drives a user's body on a worker, so that its errors end the job and leave the device as it was.

A body is resumed only here. What comes out of it is one of four things:

| out comes | what happens |
|---|---|
| an event of the worker's own | it is passed on: the worker waits |
| a Stop (see `guarded_worker`) | the body is closed, the worker fails with the device's status |
| anything else, a WorkerStep without `from` among it | the same, at the line that yielded it |
| an exception of its own, or EndlessLoop | the same, with the lines of its traceback |

Closing a body runs its `finally` blocks, and nothing that they do counts any more.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.errors import DeviceFault
from tessbed.sim.finding import HazardAccess
from tessbed.sim.source_line import first_line, line_of, lines_of
from tessbed.sim.user_code import loop_watch
from tessbed.sim.user_code.errors import KernelMisuse
from tessbed.sim.user_code.guarded_worker import GuardedWorker, Steps, Stop, WorkerStep
from tessbed.sim.user_code.user_code import UserCode

ENDED = object()
KERNEL_CODES = ("kernel_error", "kernel_hazard")


def guarded(body: Callable[[Any], Any], code: UserCode, check: JobCheck) -> Callable[[Any], Steps]:
    """The body of a launch that runs a user's body; what it finds is in `check.report()` when the job has ended."""
    check.kernel = code.name
    return lambda ctx: _run(ctx, body, code, check)


def _run(ctx: Any, body: Callable[[Any], Any], code: UserCode, check: JobCheck) -> Steps:
    turn = loop_watch.Turn(code.loop_seconds)
    guard = GuardedWorker(ctx, code, check, turn)
    loop_watch.watch(turn)
    try:
        fault = yield from _drive(ctx, body, guard)
        if fault is None:
            yield from ctx.catch_up()
            fault = guard.failure
    finally:
        loop_watch.forget(turn)
    if fault is not None:
        raise fault


def _drive(ctx: Any, body: Callable[[Any], Any], guard: GuardedWorker) -> Any:
    """Resume the body until it ends; returns the fault that ended it early, or None."""
    steps, fault = _begin(body, guard)
    while fault is None:
        event, fault = _resume(steps, guard)
        if event is ENDED:
            guard.check_awaited()
            return fault or guard.failure
        if fault is None and ctx.owns(event):
            yield event
        elif fault is None:
            fault = _fault_of(event, steps, guard)
    _close(steps, guard)
    return fault


def _begin(body: Callable[[Any], Any], guard: GuardedWorker) -> tuple[Any, DeviceFault | None]:
    """The body as an iterator. One that is no generator function has run to its end now, and has not waited once."""
    if (fault := guard.given_up()) is not None:
        return None, fault
    try:
        with guard.turn:
            steps = body(guard)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        return None, _fault_of(Stop(error), None, guard)
    if isinstance(steps, Iterator):
        return steps, None
    guard.check_awaited()
    text = f"the body returned {type(steps).__name__}, wanted a generator: a function with `yield from w. ...` in it"
    return None, guard.failure or guard.broken("exception", text, tuple(filter(None, [first_line(body)])))


def _resume(steps: Any, guard: GuardedWorker) -> tuple[Any, DeviceFault | None]:
    """What the body yields next, ENDED at its end; or the fault that it is."""
    try:
        with guard.turn:
            return next(steps, ENDED), None
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        return None, _fault_of(Stop(error), steps, guard)


def _fault_of(event: Any, steps: Any, guard: GuardedWorker) -> DeviceFault:
    """The fault that ends a worker whose body yielded that, which is no event of the worker's own."""
    if isinstance(event, WorkerStep):
        text = f"got `yield w.{event.name}(...)`, wanted `yield from w.{event.name}(...)`"
        return guard.misused(text, event.line, "not_awaited", f"yield from w.{event.name}(...)")
    if not isinstance(event, Stop):
        guard.check_awaited()
        text = f"the body yielded {_short(event)}, wanted `yield from` and a method of the worker"
        line = line_of(steps)
        return guard.failure or guard.broken("foreign_event", text, (line,) if line else ())
    error = event.error
    if isinstance(error, KernelMisuse):
        trace = lines_of(error.__traceback__)
        return guard.misused(str(error), trace[-1] if trace else guard.here)
    if not isinstance(error, DeviceFault):
        return guard.raised(error)
    return error if error.code in KERNEL_CODES else _noted(error, guard)


def _noted(fault: DeviceFault, guard: GuardedWorker) -> DeviceFault:
    """A fault of the device, with the line that asked for the transfer that met it."""
    line, access = guard.here, None
    if 0 <= guard.faulty < len(guard.transfers):
        line, what, chain = guard.transfers[guard.faulty]
        low = min(d.address for d in chain)
        high = max(d.address + (d.rows - 1) * d.pitch + d.row_bytes for d in chain)
        access = HazardAccess(guard.worker, guard.faulty, what, line, "memory", low, high)
    guard.broken("fault", str(fault), (line,) if line else (), access)
    return fault


def _close(steps: Any, guard: GuardedWorker) -> None:
    """Let go of the body; whatever it still does."""
    try:
        with guard.turn:
            getattr(steps, "close", lambda: None)()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
