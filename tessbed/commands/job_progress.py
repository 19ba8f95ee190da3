"""Progress within a run: a bar on a terminal with the rate and the time left, which is gone when the run is over."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from tessbed.firmware_models import worker_loop
from tessbed.scenarios.format.printable import escaped

EVERY_SECONDS = 0.2
NEARLY = 0.99
"""The bands of a job are at least as many as were forecast: until the end there may be more."""


@contextmanager
def job_progress(total_bands: int) -> Iterator[Callable[[str], None]]:
    """Show how many of about `total_bands` have begun; gives what to call with the name of each job."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = ("{task.description}", "{task.fields[rate]}")
    bar = Progress(
        TextColumn(columns[0]), BarColumn(), TaskProgressColumn(), TextColumn(columns[1]), TimeRemainingColumn(),
        console=Console(file=sys.stderr), transient=True, auto_refresh=False,
    )  # fmt: skip
    task, over, before = bar.add_task("", total=total_bands, rate=""), Event(), worker_loop.BEGUN.bands

    def show() -> None:
        done = min(worker_loop.BEGUN.bands - before, int(total_bands * NEARLY))
        speed = bar.tasks[0].speed
        bar.update(task, completed=done, rate=f"{speed:,.0f} bands/s" if speed else "")
        bar.refresh()

    def watch() -> None:
        while not over.wait(EVERY_SECONDS):
            show()

    watcher: Any = Thread(target=watch, daemon=True)
    with bar:
        watcher.start()
        try:
            yield lambda name: bar.update(task, description=escape(escaped(name)))
            bar.update(task, completed=total_bands)
        finally:
            over.set()
            watcher.join()
            bar.refresh()
