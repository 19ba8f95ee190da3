"""Work that kills its process, or fails: what a farm must survive. In a module that a process can import."""

import os
import time
from pathlib import Path

from tessbed.scenarios.study.sweep.point import Batch, Result, run_batch

FOLDER = "TESSBED_TEST_FOLDER"


def once(batch: Batch) -> list[Result]:
    """Dies the first time that it meets the batch of slots = 2 and workers = 2."""
    return _deadly(batch, forever=False)


def always(batch: Batch) -> list[Result]:
    """Dies whenever it meets that point."""
    return _deadly(batch, forever=True)


def wrong(batch: Batch) -> list[Result]:
    """Fails, and leaves a line for each time that it was asked: workers and slots of every point."""
    with (Path(os.environ[FOLDER]) / "asked").open("a") as file:
        file.write(" ".join(f"{device.workers},{device.slots}" for _, device in batch.points) + "\n")
    raise LookupError("a bug")


def endless(batch: Batch) -> list[Result]:
    """Ends with the first point, and not with another."""
    if batch.points[0][0] != "0":
        time.sleep(250)
    return [(key, {"error": "quick"}) for key, _ in batch.points]


def _deadly(batch: Batch, *, forever: bool) -> list[Result]:
    marker = Path(os.environ[FOLDER]) / "died"
    met = any((device.workers, device.slots) == (2, 2) for _, device in batch.points)
    if met and (forever or not marker.exists()):
        marker.touch()
        os._exit(9)
    return run_batch(batch)
