"""What the toy operations must write, byte by byte, in plain integers, by the layout of the literal oracle."""

from collections.abc import Callable

from tests.oracle import ALIGNMENT, PADDING, PREFILL, Geometry, linear_bytes, walk

VALUES: dict[str, Callable[[bytes], bytes]] = {
    "invert": lambda read: bytes(255 - byte for byte in read),
    "fold": lambda read: bytes([read[0] ^ read[1] ^ read[2] ^ read[3]]),
    "spread": lambda read: bytes([read[0], 255 - read[0]] * 2),
}


def expected(geometry: Geometry, source: bytes) -> bytes:
    """The output of a toy: INT8 tiles, whose padding and alignment are zero, or FP32 in gaps that keep the prefill."""
    make = VALUES[geometry.op]
    if geometry.op == "spread":
        output = bytearray([PREFILL]) * linear_bytes(geometry)
        for place, (address, _) in enumerate(walk(geometry)):
            if address not in (PADDING, ALIGNMENT):
                output[address : address + 4] = make(source[place : place + 1])
        return bytes(output)
    width = 4 if geometry.op == "fold" else 1
    stored = (address for address, _ in walk(geometry))
    return b"".join(b"\0" if at in (PADDING, ALIGNMENT) else make(source[at : at + width]) for at in stored)
