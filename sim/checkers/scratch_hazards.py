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
from tessbed.sim.checkers.write_log import WriteLog
from tessbed.sim.finding import Hazard, HazardAccess
from tessbed.sim.source_line import SourceLine
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.descriptor_run import ascend, scratch_reach

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
    """One worker's watch. `stamp` gives the next step's number; `log` collects the job's drains.

    `line` is where a user's code asks for what comes next. `gathers` collects the job's gathers where they are wanted,
    as `Write`s: then `unused` has what was computed into the scratch and neither read nor drained since, and a drain
    that a computation has met is reported for the computation alone.
    """

    job: int
    worker: int
    core: int
    stamp: Callable[[], int]
    report: Callable[[Hazard], None]
    log: WriteLog
    gathers: list[Write] | None = None
    line: SourceLine | None = attrs.field(default=None, init=False)
    _reads: dict[int, Sequence[Descriptor]] = attrs.field(factory=dict, init=False)
    _drains: dict[int, tuple[Write, Span]] = attrs.field(factory=dict, init=False)
    _slots: dict[int, int] = attrs.field(factory=dict, init=False)
    _watched: dict[int, Write] = attrs.field(factory=dict, init=False)
    _unused: dict[Span, HazardAccess] = attrs.field(factory=dict, init=False)
    _blamed: int = attrs.field(default=-1, init=False)

    def check_oversized(self, reads: int) -> None:
        """A wait group of `reads` rows of a pitch that no field holds is about to be issued."""
        if reads > OVERSIZED_READS:
            wanted = f"wanted 1 to {OVERSIZED_READS}"
            text = f"waits for {reads} reads of an oversized pitch together, {wanted}"
            self._say("wait_group", text, self._now("gather", None), remedy=f"gather {OVERSIZED_READS} at a time")

    def gather(self, first_seq: int, group: Sequence[Descriptor]) -> None:
        """A wait group is issued; its transfers are numbered from `first_seq`."""
        reach = scratch_reach(group)
        if self.gathers is not None:
            self._watch_gather(first_seq, group)
        for seq, (write, drained) in self._drains.items():
            if reach[0] < drained[1] and drained[0] < reach[1] and meet(group, write.chain):
                text = f"gathers into bytes that transfer {seq} drains, and has not waited for it"
                self._late("scratch_reused", text, self._drain_of(seq), self._now("gather", first_seq, reach))
        alone = not self._reads
        self._reads[first_seq] = group
        if alone and ascend(group):
            return
        reads = self._gathers()
        if not apart(list(reads.values())):
            text = f"gathers {sorted(reads)} write the same bytes, and nothing orders them"
            earlier = self._gather_of(min(reads), reach)
            self._late("scratch_reused", text, earlier, self._now("gather", first_seq, reach))

    def pack(self, action: object) -> None:
        """Packing starts."""
        touches = getattr(action, "touches", None)
        if touches is None or not (self._reads or self._drains or self.gathers is not None):
            return
        reads, writes = touches()
        for seq, read in self._gathers().items() if self._reads else ():
            if _meets([*reads, *writes], span(read)):
                text = f"packs bytes of gather {seq}, and has not waited for it"
                sides = self._gather_of(seq, span(read)), self._now("computation", None, span(read))
                self._late("gather_not_retired", text, *sides)
        for seq, (_, drained) in self._drains.items():
            if _meets(writes, drained):
                text = f"packs into the slot that transfer {seq} drains, and has not waited for it"
                self._late("slot_in_flight", text, self._drain_of(seq), self._now("computation", None, drained))
                self._blamed = seq
        if self.gathers is not None:
            self._watch_packing(reads, writes)

    def drain(self, seq: int, slot: int, chain: Sequence[Descriptor]) -> None:
        """A chain is issued that empties `slot`."""
        reach = scratch_reach(chain)
        for number, read in self._gathers().items() if self._reads else ():
            if meet([read], chain):
                text = f"drains bytes of gather {number}, and has not waited for it"
                sides = self._gather_of(number, span(read)), self._now("drain", seq, reach)
                self._late("gather_not_retired", text, *sides)
        if self._slots.get(slot) in self._drains and not (
            self.gathers is not None and self._slots[slot] == self._blamed
        ):
            text = f"drains slot {slot} again, and has not waited for transfer {self._slots[slot]}"
            self._late("slot_in_flight", text, self._drain_of(self._slots[slot]), self._now("drain", seq, reach))
        self._slots[slot] = seq
        write = Write(self.job, self.worker, seq, self.core, chain, self.stamp(), line=self.line)
        self._drains[seq] = write, reach
        self.log.add(write)
        if self._unused:
            self._use([span(descriptor) for descriptor in chain])

    def gathered(self, first_seq: int) -> None:
        """The worker has waited for the wait group that is numbered from `first_seq`."""
        group = self._reads.pop(first_seq)
        if self._watched:
            known = self.stamp()
            for seq in range(first_seq, first_seq + len(group)):
                self._watched.pop(seq).known = known

    def retire(self, seqs: Sequence[int]) -> None:
        """The worker has waited for these transfers, for a wait group as a whole."""
        reads, drains = self._reads, self._drains
        if not (reads or drains or self._watched):
            return
        known = self.stamp()
        if self._watched:
            for seq in [seq for seq in self._watched if seq in seqs]:
                self._watched.pop(seq).known = known
        if reads:
            self._reads = {seq: group for seq, group in reads.items() if seq not in seqs}
        for seq in seqs if drains else ():
            if seq in drains:
                drains.pop(seq)[0].known = known

    @property
    def issued(self) -> list[int]:
        """The transfers that the worker has not waited for."""
        return sorted([*self._gathers(), *self._drains]) if self._reads else list(self._drains)

    def pending(self, slot: int | None) -> bool:
        """Whether the worker has not waited for the drain of a slot; without one, for anything."""
        return bool(self._reads or self._drains) if slot is None else self._slots.get(slot) in self._drains

    def end(self) -> None:
        """The worker ends, without a fault."""
        if self.issued:
            text = f"ends, and has not waited for transfers {self.issued}"
            sides = [self._drain_of(seq) for seq in self._drains] + [
                self._gather_of(seq, span(read)) for seq, read in self._gathers().items()
            ]
            last = sides[-1].line if sides else None
            remedy = f"wait_drains() after {last}, before the worker ends" if last else ""
            missing = f"worker {self.worker} ended without having waited for {sides[-1].what} {sides[-1].seq}"
            self._say("completion", text, sides[-1], missing=missing, remedy=remedy)

    def say(self, kind: str, text: str, low: int = 0, high: int = 0, *, remedy: str = "") -> None:
        """Report what a user's code did at `line`, with the scratch bytes that it is about."""
        self._say(kind, text, self._now("call", None, (low, high)), missing=text, remedy=remedy)

    def _gathers(self) -> dict[int, Descriptor]:
        """The reads that the worker has not waited for, by sequence."""
        return {seq: read for first, group in self._reads.items() for seq, read in enumerate(group, first)}

    def _watch_gather(self, first_seq: int, group: Sequence[Descriptor]) -> None:
        """Keep a wait group for the search for read races, and forget what it writes over."""
        assert self.gathers is not None
        issued = self.stamp()
        for seq, descriptor in enumerate(group, first_seq):
            read = Write(self.job, self.worker, seq, self.core, [descriptor], issued, line=self.line)
            self._watched[seq] = read
            self.gathers.append(read)
        if self._unused:
            self._use([span(descriptor) for descriptor in group])

    def _watch_packing(self, reads: Sequence[Span], writes: Sequence[Span]) -> None:
        """What is computed over what nobody has used since it was computed, all of it, was computed in vain."""
        self._use(reads)
        for low, high in writes:
            for earlier in [span for span in self._unused if low <= span[0] and span[1] <= high]:
                text = "packs bytes that it has packed before, and that nothing has read or drained since"
                sides = self._unused.pop(earlier), self._now("computation", None, earlier)
                missing = "the first result is neither drained nor read before the second replaces it"
                self._say("packed_twice", text, *sides, missing=missing, remedy="drain it between the two")
            self._unused[low, high] = self._now("computation", None, (low, high))

    def _use(self, spans: Sequence[Span]) -> None:
        for used in [one for one in self._unused if _meets(spans, one)]:
            del self._unused[used]

    def _now(self, what: str, seq: int | None, where: Span = (0, 0)) -> HazardAccess:
        """What the worker does at `line`."""
        return HazardAccess(self.worker, seq, what, self.line, "scratch", *where)

    def _drain_of(self, seq: int) -> HazardAccess:
        write, drained = self._drains[seq]
        return HazardAccess(self.worker, seq, "drain", write.line, "scratch", *drained)

    def _gather_of(self, seq: int, where: Span) -> HazardAccess:
        watched = self._watched.get(seq)
        return HazardAccess(self.worker, seq, "gather", watched.line if watched else None, "scratch", *where)

    def _late(self, kind: str, text: str, first: HazardAccess, second: HazardAccess) -> None:
        """The second access came before the worker had waited for the first."""
        missing = f"worker {self.worker} has not waited for {first.what} {first.seq}"
        wait = "wait_slot(...)" if first.what == "drain" else "wait_drains(), or gather(...) in place of prefetch(...),"
        self._say(kind, text, first, second, missing=missing, remedy=f"{wait} before {second.line or 'the second'}")

    def _say(self, kind: str, text: str, *sides: HazardAccess, missing: str = "", remedy: str = "") -> None:
        self.report(Hazard(kind, self.job, f"worker {self.worker} {text}", sides, missing, remedy))


def span(d: Descriptor) -> Span:
    """The scratch from a descriptor's first byte to its last."""
    return d.scratch, d.scratch + (d.rows - 1) * d.scratch_pitch + d.row_bytes


def meet(some: Sequence[Descriptor], others: Sequence[Descriptor]) -> bool:
    """Whether two sets of descriptors touch a common scratch byte."""
    if not _meets([scratch_reach(some)], scratch_reach(others)):
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


def _meets(spans: Sequence[Span], other: Span) -> bool:
    """Whether one of the spans has a byte in common with another."""
    start, end = other
    for low, high in spans:  # noqa: SIM110 - any(...) takes twice as long, and it is asked for each band
        if low < end and start < high:
            return True
    return False
