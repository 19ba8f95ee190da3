"""Ranges of device addresses: what a job reads and writes, and when two jobs conflict."""

from collections.abc import Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """The bytes [start, end)."""

    start: int
    end: int

    def meets(self, other: "Span") -> bool:
        """True where the two have a byte in common; an empty span meets nothing."""
        return self.start < other.end and other.start < self.end and self.start < self.end and other.start < other.end

    def widened(self, unit_bytes: int) -> "Span":
        """The span of all units that it touches; an empty span stays as it is."""
        if self.start == self.end:
            return self
        return Span(self.start // unit_bytes * unit_bytes, -(-self.end // unit_bytes) * unit_bytes)

    def __str__(self) -> str:
        return f"{self.start:#x}..{self.end:#x}"


class JobFootprint(NamedTuple):
    """What a job touches: the bytes it reads, the bytes it writes, and the writes widened to what is rewritten.

    A device without byte strobes rewrites whole write granules, and a CPU cache cleans whole lines. So two jobs
    that write different bytes of one granule lose bytes, though their spans are disjoint.
    """

    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()
    rewrites: tuple[Span, ...] = ()


class Clash(NamedTuple):
    """A pair of spans that two footprints must not touch unordered, and in words what each does there."""

    words: str
    mine: Span
    theirs: Span


def conflicts(mine: JobFootprint, theirs: JobFootprint) -> Iterator[Clash]:
    """What goes wrong when both run without an order, pair by pair; nothing where nothing can."""
    cases = (
        ("both write into", mine.rewrites, theirs.rewrites),
        ("the first reads what the second writes,", mine.reads, theirs.writes),
        ("the first writes what the second reads,", mine.writes, theirs.reads),
    )
    return (Clash(words, a, b) for words, left, right in cases for a in left for b in right if a.meets(b))
