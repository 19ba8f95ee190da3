"""Scratch hazards: checks one worker's scratch by what the worker has waited for, never by what happens to be done.

A gather's bytes are there when the worker has waited for it; a slot is free when the worker has waited for its drain.
Between, the DMA may read or write those bytes at any moment. So each use of scratch is compared with everything that
the worker has issued and not waited for. Packing is judged where its action says what it touches (`Packing`).
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol, runtime_checkable

import attrs
import numpy as np

from tessbed.sim.checkers.granule_races import Write
from tessbed.sim.transfer.descriptor import Descriptor

OVERSIZED_READS = 4
"""At most so many reads of an oversized pitch wait together (Tess document, "Execution and ownership")."""

Span = tuple[int, int]  # scratch bytes, the end exclusive


@runtime_checkable
class Packing(Protocol):
    """An action that says which scratch bytes it touches."""

    def touches(self) -> tuple[Sequence[Span], Sequence[Span]]:
        """Spans read, spans written; each may be wider than what is really touched, inside one area of the scratch."""
        ...


@attrs.define(eq=False)
class Staging:
    """One worker's watch. `stamp` gives the next step's number; `writes` collects the job's drains."""

    job: int
    worker: int
    core: int
    stamp: Callable[[], int]
    report: Callable[[str, str], None]
    writes: list[Write]
    _reads: dict[int, Sequence[Descriptor]] = attrs.field(factory=dict, init=False)
    _drains: dict[int, tuple[Write, Span]] = attrs.field(factory=dict, init=False)
    _slots: dict[int, int] = attrs.field(factory=dict, init=False)

    def check_oversized(self, reads: int) -> None:
        """A wait group of `reads` rows of a pitch that no field holds is about to be issued."""
        if reads > OVERSIZED_READS:
            self._say(
                "wait_group", f"waits for {reads} reads of an oversized pitch together, wanted 1 to {OVERSIZED_READS}"
            )

    def gather(self, first_seq: int, group: Sequence[Descriptor]) -> None:
        """A wait group is issued; its transfers are numbered from `first_seq`."""
        spans = [(low, low + (rows - 1) * pitch + row_bytes) for _, low, rows, row_bytes, _, pitch in group]
        reach = min(spans)[0], max([end for _, end in spans])
        for seq, (write, drained) in self._drains.items():
            if reach[0] < drained[1] and drained[0] < reach[1] and meet(group, write.chain):
                self._say("scratch_reused", f"gathers into bytes that transfer {seq} drains, and has not waited for it")
        alone = not self._reads
        self._reads[first_seq] = group
        if alone and all(before[1] <= after[0] for before, after in pairwise(spans)):
            return
        reads = self._gathers()
        if not apart(list(reads.values())):
            self._say("scratch_reused", f"gathers {sorted(reads)} write the same bytes, and nothing orders them")

    def pack(self, action: object) -> None:
        """Packing starts."""
        touches = getattr(action, "touches", None)
        if touches is None or not (self._reads or self._drains):
            return
        reads, writes = touches()
        for seq, read in self._gathers().items() if self._reads else ():
            if _meets([*reads, *writes], span(read)):
                self._say("gather_not_retired", f"packs bytes of gather {seq}, and has not waited for it")
        for seq, (_, drained) in self._drains.items():
            if _meets(writes, drained):
                self._say(
                    "slot_in_flight", f"packs into the slot that transfer {seq} drains, and has not waited for it"
                )

    def drain(self, seq: int, slot: int, chain: Sequence[Descriptor]) -> None:
        """A chain is issued that empties `slot`."""
        for number, read in self._gathers().items() if self._reads else ():
            if meet([read], chain):
                self._say("gather_not_retired", f"drains bytes of gather {number}, and has not waited for it")
        if self._slots.get(slot) in self._drains:
            self._say(
                "slot_in_flight", f"drains slot {slot} again, and has not waited for transfer {self._slots[slot]}"
            )
        self._slots[slot] = seq
        write = Write(self.job, self.worker, seq, self.core, chain, self.stamp())
        self._drains[seq] = write, _reach(chain)
        self.writes.append(write)

    def retire(self, seqs: Sequence[int]) -> None:
        """The worker has waited for these transfers, for a wait group as a whole."""
        known, reads, drains = self.stamp(), self._reads, self._drains
        if reads:
            self._reads = {seq: group for seq, group in reads.items() if seq not in seqs}
        for seq in [seq for seq in drains if seq in seqs] if drains else ():
            drains.pop(seq)[0].known = known

    @property
    def issued(self) -> list[int]:
        """The transfers that the worker has not waited for."""
        return sorted([*self._gathers(), *self._drains])

    def end(self) -> None:
        """The worker ends, without a fault."""
        if self.issued:
            self._say("completion", f"ends, and has not waited for transfers {self.issued}")

    def _gathers(self) -> dict[int, Descriptor]:
        """The reads that the worker has not waited for, by sequence."""
        return {seq: read for first, group in self._reads.items() for seq, read in enumerate(group, first)}

    def _say(self, kind: str, text: str) -> None:
        self.report(kind, f"worker {self.worker} {text}")


def span(d: Descriptor) -> Span:
    """The scratch from a descriptor's first byte to its last."""
    return d.scratch, d.scratch + (d.rows - 1) * d.scratch_pitch + d.row_bytes


def meet(some: Sequence[Descriptor], others: Sequence[Descriptor]) -> bool:
    """Whether two sets of descriptors touch a common scratch byte."""
    if not _meets([_reach(some)], _reach(others)):
        return False
    low, high, owner = _rows(some, others)
    order = np.argsort(low, kind="stable")
    low, high, owner = low[order], high[order], owner[order]
    reach = [np.maximum.accumulate(np.where(owner == side, high, 0)) for side in (0, 1)]
    return bool(
        ((low[1:] < reach[1][:-1]) & (owner[1:] == 0)).any() or ((low[1:] < reach[0][:-1]) & (owner[1:] == 1)).any()
    )


def apart(group: Sequence[Descriptor]) -> bool:
    """Whether no scratch byte belongs to two of the descriptors."""
    spans = sorted(map(span, group))
    if all(before[1] <= after[0] for before, after in pairwise(spans)):
        return True
    low, high, _ = _rows(group)
    order = np.argsort(low, kind="stable")
    return bool((low[order][1:] >= np.maximum.accumulate(high[order])[:-1]).all())


def _rows(*sides: Sequence[Descriptor]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First byte, end and side of every row."""
    parts = [
        (np.arange(d.rows) * d.scratch_pitch + d.scratch, d.row_bytes, s) for s, side in enumerate(sides) for d in side
    ]
    low = np.concatenate([starts for starts, _, _ in parts])
    sizes = np.concatenate([np.full(starts.size, size) for starts, size, _ in parts])
    return low, low + sizes, np.concatenate([np.full(starts.size, side) for starts, _, side in parts])


def _reach(chain: Sequence[Descriptor]) -> Span:
    """From the first byte of all to behind the last."""
    spans = [(low, low + (rows - 1) * pitch + row_bytes) for _, low, rows, row_bytes, _, pitch in chain]
    return min([low for low, _ in spans], default=0), max([end for _, end in spans], default=0)


def _meets(spans: Sequence[Span], other: Span) -> bool:
    """Whether one of the spans has a byte in common with another."""
    start, end = other
    return any(low < end and start < high for low, high in spans)
