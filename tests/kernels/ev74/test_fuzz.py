"""Any bytes: a valid packet or a documented fault, and never anything else."""

from collections import Counter
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessbed.kernels.ev74.codec import seal
from tessbed.kernels.ev74.fields import BY_NAME, FIELDS, PACKET_BYTES
from tessbed.kernels.ev74.refusals import REFUSALS
from tests.kernels.ev74.cases import corrupted, golden_packets
from tests.kernels.ev74.invariant import VALID, listing_agrees, near_packets, outcome

SEEDS = list(golden_packets().values())

field_changes = st.sampled_from(FIELDS).flatmap(
    lambda field: st.tuples(st.just(field.name), st.integers(0, 256**field.width - 1))
)


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 30_000), *(pytest.param(seed, 250_000, marks=pytest.mark.long) for seed in (2, 3, 4))],
)
def test_near_packets_give_only_documented_faults(seed: int, count: int) -> None:
    """Mutated and random strings, half with a right checksum, meet every fault and some valid packets, nothing else."""
    seen = Counter(outcome(raw) for raw in islice(near_packets(SEEDS, Random(seed)), count))
    assert set(seen) == {VALID, *(row.code for row in REFUSALS if not row.on_device)}
    assert seen.total() == count
    assert seen["crc"] < 0.6 * count


def test_the_listing_says_what_the_decoder_says() -> None:
    """Whatever the bytes, the disassembly exists and its verdict is the decoder's."""
    assert all(listing_agrees(raw) for raw in islice(near_packets(SEEDS, Random(5)), 3_000))


@pytest.mark.parametrize("name", golden_packets())
def test_every_flipped_bit_is_noticed(name: str) -> None:
    """With the checksum as it is, each flipped bit of a packet is refused."""
    raw = golden_packets()[name]
    flipped = ((int.from_bytes(raw, "little") ^ 1 << bit).to_bytes(PACKET_BYTES, "little") for bit in range(1728))
    assert [bit for bit, damaged in enumerate(flipped) if outcome(damaged) == VALID] == []


@given(st.binary(max_size=300), st.booleans())
def test_random_bytes(raw: bytes, repaired: bool) -> None:
    """Bytes that hypothesis makes up give a documented outcome."""
    outcome(seal(raw) if repaired and len(raw) >= BY_NAME["crc32"].end else raw)


@settings(max_examples=300)
@given(st.sampled_from(SEEDS), st.lists(field_changes, min_size=1, max_size=4))
def test_random_fields(raw: bytes, changes: list[tuple[str, int]]) -> None:
    """Packets with up to four fields replaced give a documented outcome, their listing the same."""
    assert listing_agrees(corrupted(raw, **dict(changes)))
