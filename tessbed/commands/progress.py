"""Progress: a bar on a terminal with a percentage, the rate and the time left, which is gone when the work is over.

Work that reports its parts one by one (points, orders, bits) moves a bar by itself: `counted`. A run does not, since it
is inside one job for long: a thread looks now and then how far it is, and shows a bar where it takes more than a
moment: `run_progress`. Either bar ends at 100 %, unless the work does not end.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

import attrs

from tessbed.scenarios.format.printable import escaped

if TYPE_CHECKING:
    from tessbed.scenarios.forecast import Meter

EVERY_SECONDS = 0.2
AFTER_SECONDS = 0.5
"""What takes less than this is shown no bar."""

Advance = Callable[[int], None]


@attrs.define
class Bar:
    """One bar on stderr, of rich's; it draws nothing by itself and starts no thread.

    Without a total nobody knows how much there is to do: then the bar moves to and fro until the end.
    """

    total: float
    _shown: Any = None
    _task: Any = None

    def start(self) -> None:
        """Draw it for the first time."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._shown = Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(), console=Console(file=sys.stderr), transient=True, auto_refresh=False,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._task = self._shown.add_task("", total=self.total or None, rate="")
        self._shown.start()

    def show(self, done: float, what: str, rate: str) -> None:
        """Draw it anew."""
        from rich.markup import escape

        self._shown.update(self._task, completed=done, description=escape(escaped(what)), rate=rate)
        self._shown.refresh()

    def stop(self, *, complete: bool) -> None:
        """Erase it, at 100 % where the work came to its end."""
        if self._shown is None:
            return
        if complete:
            whole = self.total or 1
            self._shown.update(self._task, total=whole, completed=whole)
            self._shown.refresh()
        self._shown.stop()


def watches(*, quiet: bool) -> bool:
    """Whether somebody at a terminal wants to see progress."""
    return not quiet and sys.stderr.isatty()


@contextmanager
def counted(total: int, unit: str, *, quiet: bool, resumes: bool = False) -> Iterator[Advance]:
    """Gives what to call with the number of units that are done since the last call.

    Where the work `resumes`, the first call says how many were done before, which count for no rate.
    """
    if not watches(quiet=quiet):
        yield lambda done: None
        return
    bar, began, drawn, finished, before = Bar(total), monotonic(), 0.0, 0, None if resumes else 0

    def advance(done: int) -> None:
        nonlocal drawn, finished, before
        finished, now = finished + done, monotonic()
        before = finished if before is None else before
        if now - drawn >= EVERY_SECONDS:
            drawn, rate = now, (finished - before) / max(EVERY_SECONDS, now - began)
            bar.show(finished, f"{finished:,} of {total:,} {unit}", f"{rate:,.0f} {unit}/s")

    complete = False
    try:  # Ctrl-C can come at any moment
        bar.start()
        bar.show(0, f"0 of {total:,} {unit}", "")
        yield advance
        complete = True
    finally:
        bar.stop(complete=complete)


@contextmanager
def run_progress(meter: "Meter", *, quiet: bool) -> Iterator[None]:
    """Watch a meter while something runs that moves it."""
    if not watches(quiet=quiet):
        yield
        return
    over, ended = Event(), Event()
    watcher = Thread(target=_watch, args=(meter, over, ended), daemon=True)
    try:
        watcher.start()
        yield
        ended.set()
    finally:
        over.set()
        if watcher.ident is not None:
            watcher.join()


def _watch(meter: "Meter", over: Event, ended: Event) -> None:
    if over.wait(AFTER_SECONDS):
        return
    bar = Bar(meter.total)
    try:
        bar.start()
        while True:
            bar.show(*meter.reading())
            if over.wait(EVERY_SECONDS):
                break
    finally:
        bar.stop(complete=ended.is_set())
