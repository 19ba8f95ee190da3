"""Interrupts: Ctrl-C ends tessbed with exit code 130 and one word, whatever it is about to do.

Before and after a command's own work (imports, the end of the process) there is nothing to clean up, and a
KeyboardInterrupt there would end in a traceback from the middle of an import: the process leaves at once.
While a command works, Python's KeyboardInterrupt lets it put its things in order.
"""

import os
import signal
from collections.abc import Callable
from typing import Any

INTERRUPTED = 130


def _leave(number: int, frame: Any) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def leave_at_once() -> Callable[[], None]:
    """From now on, Ctrl-C leaves at once. Returns what puts back the handler that was there before."""
    return _handle(_leave)


def interrupt_work() -> Callable[[], None]:
    """From now on, Ctrl-C raises KeyboardInterrupt. Returns what puts back the handler that was there before."""
    return _handle(signal.default_int_handler)


def _handle(handler: Any) -> Callable[[], None]:
    """Changes nothing where whoever started us ignores interrupts (nohup, a shell's &), nor beside the main thread."""
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):
        return lambda: None
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:
        return lambda: None
    return lambda: void(signal.signal(signal.SIGINT, before))


def void(_: Any) -> None:
    """For a call whose result nobody wants."""
