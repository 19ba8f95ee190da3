"""Accesses that conflict, and the actions of a transfer's halves; by hand."""

from typing import Any

import pytest

from tessbed.sim.interleavings.actions import EVERYTHING, MEMORY, ByteAccess, actions_conflict

PAIRS = {  # (space, low, high, write) of each, whether their order matters
    "one byte, one writes": ((MEMORY, 0, 4, True), (MEMORY, 3, 5, False), True),
    "one byte, the other writes": ((MEMORY, 0, 4, False), (MEMORY, 3, 5, True), True),
    "both read": ((MEMORY, 0, 4, False), (MEMORY, 3, 5, False), False),
    "side by side": ((MEMORY, 0, 4, True), (MEMORY, 4, 8, True), False),
    "one inside the other": ((MEMORY, 0, 64, True), (MEMORY, 8, 9, True), True),
    "two scratches": ((0, 0, 64, True), (1, 0, 64, True), False),
    "scratch and memory": ((0, 0, 64, True), (MEMORY, 0, 64, True), False),
    "all of a scratch": ((2, *EVERYTHING, True), (2, 5, 6, False), True),
}


@pytest.mark.parametrize(("one", "other", "conflict"), PAIRS.values(), ids=PAIRS)
def test_conflicts(one: Any, other: Any, conflict: bool) -> None:
    """Two accesses conflict where they have a byte in common and one writes; the relation is symmetric."""
    some, others = (ByteAccess(*one),), (ByteAccess(*other),)
    assert actions_conflict(some, others) is actions_conflict(others, some) is conflict
    assert not actions_conflict(some, ())


def test_any_of_many() -> None:
    """Of several accesses one pair is enough."""
    reads = tuple(ByteAccess(MEMORY, 64 * n, 64 * n + 64, False) for n in range(4))
    assert actions_conflict(reads, (ByteAccess(MEMORY, 1000, 1001, True), ByteAccess(MEMORY, 255, 256, True)))
    assert not actions_conflict(reads, (ByteAccess(MEMORY, 256, 1001, True),))
