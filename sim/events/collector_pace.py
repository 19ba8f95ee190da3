"""Collector pace: Python's collector of cycles looks less often while events happen.

Transfers, bands and events hold each other in no cycle, so counting references frees them; the collector finds nothing
among them, and looks at those that live once in every 700 that are made. Here it is once in COLLECT_AFTER: at most that
many dead objects more are in memory, and whoever has set another pace, or none, before keeps it afterwards.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECT_AFTER = 10_000
"""So many objects more than have been freed, and the collector looks at the young ones."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Within, the collector looks at most once in COLLECT_AFTER new objects; not at all where it was disabled."""
    before = gc.get_threshold()
    if 0 < before[0] < COLLECT_AFTER:
        gc.set_threshold(COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
