"""Loop watch: ends a loop of a user's code that never comes back to the device.

Nothing inside a simulation can end `while True: pass`. One thread of the process looks every fraction of a second at
the workers whose code runs in the others. A worker that has been in the same turn for longer than it may gets an
EndlessLoop raised inside it, again and again until it leaves. No result of code that comes back depends on this.
"""

import ctypes
import os
import threading
import time

import attrs

from tessbed.sim.user_code.errors import EndlessLoop

LOOK_SECONDS = 0.1
IDLE_LOOKS = 20
"""The thread ends when it has had nobody to look at for so long."""


@attrs.define(eq=False)
class Turn:
    """One worker's code: whether it runs now, how often it has been entered, and how long it may stay.

    It is a context, in which the code runs; one inside another is the same turn.
    """

    seconds: float
    thread: int = attrs.field(default=0, init=False)
    inside: int = attrs.field(default=0, init=False)
    turns: int = attrs.field(default=0, init=False)
    seen: int = attrs.field(default=-1, init=False)
    since: float = attrs.field(default=0.0, init=False)

    def __enter__(self) -> None:
        self.thread = threading.get_ident()
        self.turns += not self.inside
        self.inside += 1

    def __exit__(self, *_: object) -> None:
        self.inside -= 1


_turns: dict[int, Turn] = {}
_lock = threading.Lock()
_watcher: threading.Thread | None = None


def watch(turn: Turn) -> None:
    """Watch a worker's code from now on."""
    global _watcher
    with _lock:
        _turns[id(turn)] = turn
        if _watcher is None or not _watcher.is_alive():
            _watcher = threading.Thread(target=_look, name="tessbed loop watch", daemon=True)
            _watcher.start()


def forget(turn: Turn) -> None:
    """The worker has ended."""
    with _lock:
        _turns.pop(id(turn), None)


def _forget_parent() -> None:
    """A process that was forked has none of its parent's threads, and perhaps the lock that one of them held."""
    global _lock, _watcher
    _lock, _watcher = threading.Lock(), None
    _turns.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def _look() -> None:
    global _watcher
    idle = 0
    while True:
        time.sleep(LOOK_SECONDS)
        with _lock:
            idle = 0 if _turns else idle + 1
            if idle > IDLE_LOOKS:
                _watcher = None
                return
            now = time.monotonic()
            for turn in _turns.values():
                _judge(turn, now)


def _judge(turn: Turn, now: float) -> None:
    """Note that a worker's code is in another turn, or end it where it has been in this one too long."""
    if not turn.inside or turn.seen != turn.turns:
        turn.seen, turn.since = turn.turns, now
    elif now - turn.since > turn.seconds:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(turn.thread), ctypes.py_object(EndlessLoop))
