"""The invariant: any bytes either are a valid packet, the only one that says what it says, or raise PacketFault with a
documented code and field; and any bytes have a disassembly that says the same. Half of the inputs get a right checksum.

Run from the top of the repository, with atheris installed: python fuzz/packets.py [CORPUS] [libFuzzer options].
`tests/golden/packets` is a good corpus to begin with.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))
with atheris.instrument_imports(include=["tessbed.kernels.ev74"]):
    from tessbed.kernels.ev74.codec import seal
    from tests.kernels.ev74.invariant import listing_agrees

CHECKSUM_END = 16


def one_input(data: bytes) -> None:
    """Checks `data` as it is, and with its checksum repaired."""
    assert listing_agrees(data)
    if len(data) >= CHECKSUM_END:
        assert listing_agrees(seal(data))


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
