"""Fault injection: the faults that a job can be given on purpose, chosen by the number of the job on its device.

KINDS is the whole list. Faults of a transfer strike at transfer `transfer` of worker `worker`, when there is one;
faults of the completion take `ticks` as their delay. A job may have several. What a fault does never depends on wall
time or on how many other faults there are, so a run with faults repeats exactly.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs

from tessbed.sim.errors import HazardError

TRANSFER_FAULTS = ("dma_error", "stall", "worker_died")
FAULT_KINDS = {
    "dma_error": "the bus answers a transfer with an error; the job ends with that status",
    "stall": "a channel never finishes a transfer; the job hangs until the device is reset",
    "worker_died": "a worker dies when it requests a transfer; the job ends with that status",
    "lost": "neither record nor interrupt arrives",
    "lost_interrupt": "the record is written, the interrupt never arrives",
    "torn_record": "the record is corrupted on its way, the interrupt arrives",
    "late": "record and interrupt arrive `ticks` later, while the device continues",
    "repeated": "a second interrupt arrives `ticks` after the first",
    "early": "an extra interrupt arrives before the job has started",
    "stranger": "an extra interrupt arrives with a cookie that was never submitted",
}
UNKNOWN_STATUS = 1 << 63  # no host counts that far
Strike = Callable[["Fault"], None]


@attrs.frozen
class Fault:
    """One fault: a key of KINDS, and where or how late it strikes."""

    kind: str
    ticks: int = 0
    worker: int = 0
    transfer: int = 0

    def __attrs_post_init__(self) -> None:
        if self.kind not in FAULT_KINDS or self.ticks < 0:
            raise HazardError(f"no fault {self.kind!r} of {self.ticks} ticks, there are {', '.join(FAULT_KINDS)}")


FaultPlan = Callable[[int], Sequence[Fault]]


def no_faults(_: int) -> Sequence[Fault]:
    """No job has a fault."""
    return ()


def by_number(table: Mapping[int, Sequence[Fault]]) -> FaultPlan:
    """The faults that a table gives to numbered jobs."""
    return lambda number: table.get(number, ())


def injections(faults: Sequence[Fault]) -> dict[tuple[int, int], str]:
    """The faults of transfers, by (worker, sequence), as the DMA engine wants them."""
    return {(fault.worker, fault.transfer): fault.kind for fault in faults if fault.kind in TRANSFER_FAULTS}


def struck_transfer(faults: Sequence[Fault], kind: str, worker: int, transfer: int) -> tuple[Fault, ...]:
    """Those of `faults` that strike when the DMA engine injects `kind` into that transfer."""
    where = (kind, worker, transfer)
    return tuple(fault for fault in faults if (fault.kind, fault.worker, fault.transfer) == where)
