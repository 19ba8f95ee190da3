"""Work that kills its process: what a farm must survive. In a module of its own, so that a process can import it."""

import os
from pathlib import Path

from tessbed.scenarios.study.sweep.point import Batch, Row, run_batch

FOLDER = "TESSBED_TEST_FOLDER"


def once(batch: Batch) -> list[tuple[str, Row]]:
    """Dies the first time that it meets the batch of slots = 2 and workers = 2."""
    return _deadly(batch, forever=False)


def always(batch: Batch) -> list[tuple[str, Row]]:
    """Dies whenever it meets that point."""
    return _deadly(batch, forever=True)


def _deadly(batch: Batch, *, forever: bool) -> list[tuple[str, Row]]:
    marker = Path(os.environ[FOLDER]) / "died"
    point = (("device.workers", "2"), ("device.slots", "2"))
    if any(changes == point for _, changes in batch.points) and (forever or not marker.exists()):
        marker.touch()
        os._exit(9)
    return run_batch(batch)
