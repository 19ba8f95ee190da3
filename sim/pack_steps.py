"""Pack steps: what packing a band is on any worker, timed or not: wait for its slot, compute, drain it in order."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Protocol

from tessbed.sim.transfer.descriptor import Descriptor

Waits = Iterable[Any]


class PackingWorker(Protocol):
    """What packing asks of a worker: four steps, each of which may wait by yielding what its kind of worker yields."""

    def wait_slot(self, slot: int) -> Waits: ...
    def compute(self, ticks: int, action: Callable[[], None]) -> Waits: ...
    def wait_drains(self, reason: str = ...) -> Waits: ...
    def drain(self, slot: int, descriptors: Sequence[Descriptor]) -> Waits: ...


def pack_by_steps(
    worker: PackingWorker,
    slot: int,
    ticks: int,
    action: Callable[[], None],
    descriptors: Sequence[Descriptor],
    *,
    ordered: bool,
) -> Generator[Any, Any, None]:
    """Wait for `slot`, compute for `ticks`, and drain the slot, after all earlier drains if `ordered`."""
    yield from worker.wait_slot(slot)
    yield from worker.compute(ticks, action)
    if ordered:
        yield from worker.wait_drains("order")
    yield from worker.drain(slot, descriptors)
