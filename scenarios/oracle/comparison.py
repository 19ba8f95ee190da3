"""The independent check of bytes: what an output must hold, and the first byte that is wrong.

The documents give each logical scalar one place among the tiles. Here that place is computed from the scalar's
coordinates alone, one closed form evaluated over open meshes of indices (`places`), and the whole output is
claimed byte by byte (`claims`). Nothing is sorted into tile classes, merged or viewed with strides, and nothing
of the product is imported. Whether a case is admitted is not checked.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tessbed.scenarios.oracle.byte_layout import OracleCase, required_bytes
from tessbed.scenarios.oracle.claims import Claim, claims_of

__all__ = ["Mismatch", "OracleCase", "expected_output", "golden_bytes", "place_of_byte", "required_bytes", "verify"]

PATTERN_STEP = 2654435761
PATTERN_BLOCK_BYTES = 1 << 16

Bytes = bytes | bytearray | memoryview | np.ndarray
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Mismatch:
    """The first wrong byte of an output.

    `kind` is scalar, padding, alignment or gap. `coordinates` are the logical index of the scalar that the byte is
    part of, or that the padding or gap follows, or that begins the tile whose alignment it is; `byte` counts in it.
    """

    offset: int
    got: int
    expected: int
    kind: str
    coordinates: tuple[int, ...]
    byte: int

    def __str__(self) -> str:
        return f"output byte {self.offset}: got {self.got:#04x}, expected {self.expected:#04x} ({self.place})"

    @property
    def place(self) -> str:
        """Where the byte is, in words."""
        return _PHRASES[self.kind].format(byte=self.byte, at=list(self.coordinates))


_PHRASES = {
    "scalar": "byte {byte} of scalar {at}",
    "padding": "channel padding behind scalar {at}, byte plane {byte}",
    "alignment": "alignment byte {byte} of the tile that begins with scalar {at}",
    "gap": "byte {byte} of the stride gap behind scalar {at}",
}


def expected_output(case: OracleCase, source: Bytes, prefill: int) -> np.ndarray:
    """The output's required span as uint8, for an output that held `prefill` everywhere before.

    Raises ValueError where `source` is shorter than the input's required span.
    """
    input_bytes, output_bytes = required_bytes(case)
    output = np.zeros(output_bytes, np.uint8)
    for claim in claims_of(case, _span(source, input_bytes, "source"), prefill):
        output[claim.offsets if claim.real is None else claim.offsets[claim.real]] = claim.expected
    return output


def verify(
    case: OracleCase, source: Bytes, output: Bytes, prefill: int, advance: Advance = lambda count: None
) -> Mismatch | None:
    """The wrong byte of the lowest offset in the output's required span, or None where all are right.

    `advance` hears how many places were compared since its last call. Temporaries stay within a few MiB. Raises
    ValueError where `source` or `output` is shorter than its required span.
    """
    input_bytes, output_bytes = required_bytes(case)
    written = _span(output, output_bytes, "output")
    first = None
    for claim in claims_of(case, _span(source, input_bytes, "source"), prefill):
        found = _mismatch(claim, written)
        if found is not None and (first is None or found.offset < first.offset):
            first = found
        advance(claim.offsets.size)
    return first


def place_of_byte(case: OracleCase, offset: int, got: int, expected: int) -> Mismatch:
    """What a byte of the output is: that at `offset`, which must lie in its required span."""
    source = np.zeros(required_bytes(case)[0], np.uint8)
    for claim in claims_of(case, source, 0):
        there = claim.offsets == offset
        if claim.real is not None:
            there = there & claim.real
        if there.any():
            index = np.unravel_index(int(there.argmax()), there.shape)
            byte, *anchor = (int(np.broadcast_to(e, there.shape)[index]) for e in (claim.byte, *claim.anchor))
            return Mismatch(offset, got, expected, claim.kind, tuple(anchor), byte)
    raise ValueError(f"offset {offset} is not in the output of {required_bytes(case)[1]} bytes")


def golden_bytes(count: int) -> np.ndarray:
    """The source pattern of the golden cases, uint8: byte k is the top byte of the 32-bit product k * 2654435761."""
    pattern = np.empty(count, np.uint8)
    products = np.arange(PATTERN_BLOCK_BYTES, dtype=np.uint32) * np.uint32(PATTERN_STEP)
    for first in range(0, count, PATTERN_BLOCK_BYTES):
        block = pattern[first : first + PATTERN_BLOCK_BYTES]
        block[:] = (products[: block.size] + np.uint32(first * PATTERN_STEP % 2**32)) >> np.uint32(24)
    return pattern


def _span(buffer: Bytes, required: int, name: str) -> np.ndarray:
    held = np.asarray(buffer if isinstance(buffer, np.ndarray) else memoryview(buffer)).reshape(-1).view(np.uint8)
    if held.size < required:
        raise ValueError(f"{name}: got {held.size} bytes, wanted at least {required}")
    return held[:required]


def _mismatch(claim: Claim, written: np.ndarray) -> Mismatch | None:
    wrong = written.take(claim.offsets, mode="clip") != claim.expected
    if claim.real is not None:
        wrong &= claim.real
    if not wrong.any():
        return None
    candidates = np.where(wrong, claim.offsets, np.iinfo(np.int64).max)
    index = np.unravel_index(int(candidates.argmin()), wrong.shape)
    offset, expected, byte, *anchor = (
        int(np.broadcast_to(entry, wrong.shape)[index])
        for entry in (claim.offsets, claim.expected, claim.byte, *claim.anchor)
    )
    return Mismatch(offset, int(written[offset]), expected, claim.kind, tuple(anchor), byte)
