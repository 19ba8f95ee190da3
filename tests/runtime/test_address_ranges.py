"""Ranges of addresses and the conflicts of two jobs; by hand."""

import pytest

from tessbed.runtime.address_ranges import Clash, JobFootprint, Span, conflicts

MEETINGS = {
    "a byte in common": ((0, 10), (9, 20), True),
    "side by side": ((0, 10), (10, 20), False),
    "apart": ((0, 10), (15, 20), False),
    "one inside the other": ((0, 100), (40, 41), True),
    "the same": ((5, 6), (5, 6), True),
    "an empty one inside": ((0, 10), (5, 5), False),
    "two empty ones": ((5, 5), (5, 5), False),
}


@pytest.mark.parametrize(("one", "other", "meets"), MEETINGS.values(), ids=MEETINGS)
def test_meets(one: tuple[int, int], other: tuple[int, int], meets: bool) -> None:
    """Two ranges meet where they have a byte in common, in either order."""
    assert Span(*one).meets(Span(*other)) is Span(*other).meets(Span(*one)) is meets


WIDENED = [((3, 5), (0, 64)), ((0, 64), (0, 64)), ((63, 65), (0, 128)), ((64, 65), (64, 128)), ((70, 70), (70, 70))]


@pytest.mark.parametrize(("span", "wide"), WIDENED, ids=[str(span) for span, _ in WIDENED])
def test_widened(span: tuple[int, int], wide: tuple[int, int]) -> None:
    """A range takes in every unit that it touches; one without bytes touches none."""
    assert Span(*span).widened(64) == Span(*wide)
    assert Span(*span).widened(1) == Span(*span)


def test_a_range_is_written_in_hex() -> None:
    """As messages show it."""
    assert str(Span(0x1000, 0x1040)) == "0x1000..0x1040"


def footprint(reads: tuple[int, int], writes: tuple[int, int], unit: int = 64) -> JobFootprint:
    """A job with one input and one output on a device that rewrites whole units."""
    return JobFootprint((Span(*reads),), (Span(*writes),), (Span(*writes).widened(unit),))


READS_A, WRITES_B = (0, 100), (256, 300)
PAIRS = {  # of the second job: what it reads, what it writes; what is said
    "nothing in common": ((100, 200), (512, 600), []),
    "the same input": ((0, 100), (512, 600), []),
    "reads what the first writes": ((299, 310), (512, 600), ["the first writes what the second reads,"]),
    "writes what the first reads": ((100, 200), (99, 100), ["the first reads what the second writes,"]),
    "writes the same bytes": ((100, 200), (280, 290), ["both write into"]),
    "writes another byte of the granule": ((100, 200), (319, 330), ["both write into"]),
    "writes the next granule": ((100, 200), (320, 330), []),
    "reads another byte of the granule": ((300, 310), (512, 600), []),
    "all of it": (
        (256, 300), (0, 300),
        ["both write into", "the first reads what the second writes,", "the first writes what the second reads,"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("reads", "writes", "words"), PAIRS.values(), ids=PAIRS)
def test_conflicts(reads: tuple[int, int], writes: tuple[int, int], words: list[str]) -> None:
    """Reads never conflict with reads, bytes conflict with bytes, and rewritten units with rewritten units."""
    first, second = footprint(READS_A, WRITES_B), footprint(reads, writes)
    assert [clash.words for clash in conflicts(first, second)] == words
    assert len([*conflicts(second, first)]) == len(words)


def test_a_conflict_has_both_ranges() -> None:
    """As each of the two touches it."""
    first, second = footprint(READS_A, WRITES_B), footprint((100, 200), (319, 330))
    assert [*conflicts(first, second)] == [Clash("both write into", Span(256, 320), Span(256, 384))]
