"""Packet refusals: the table of their status numbers, all below the device's own, their codes and meanings.

This is the only place that numbers them: the decoder raises by code, the firmware writes the status, the runtime reads
it back, and the packet's page lists the meanings. Statuses below 0x100 are these; from 0x100 on they are the device's
own, in `sim/completion_record.py`. A number never changes its meaning.
"""

import attrs

DEVICE_FROM = 0x100
"""The first status that is no refusal of a packet."""


@attrs.frozen
class PacketRefusal:
    """Why a packet is refused. `on_device`: only a device, with its firmware image and its memory, can find it."""

    status: int
    code: str
    meaning: str
    on_device: bool = False


REFUSALS = (
    PacketRefusal(1, "size", "the bytes are fewer or more than a packet"),
    PacketRefusal(2, "magic", "the bytes are not a packet"),
    PacketRefusal(3, "version", "the packet's version is not one that this reader knows"),
    PacketRefusal(4, "crc", "the checksum does not match the bytes"),
    PacketRefusal(5, "range", "a field holds a value outside its limits"),
    PacketRefusal(6, "noncanonical", "a field that must be zero here is not"),
    PacketRefusal(7, "geometry", "fields contradict each other"),
    PacketRefusal(8, "alignment", "an address is not a multiple of what its port needs"),
    PacketRefusal(9, "overlap", "the spans of input and output intersect"),
    PacketRefusal(10, "unbound", "an address is still zero"),
    PacketRefusal(
        11,
        "capability",
        "the firmware image lacks the operation, its scalar type or tile format, or the packet version",
        on_device=True,
    ),
    PacketRefusal(12, "unmapped", "a span is not mapped into the device's window", on_device=True),
    PacketRefusal(13, "read_only", "the output's span may not be written", on_device=True),
)
REFUSAL_BY_CODE = {refusal.code: refusal for refusal in REFUSALS}
REFUSAL_BY_STATUS = {refusal.status: refusal for refusal in REFUSALS}


def _check_table() -> None:
    assert len(REFUSAL_BY_CODE) == len(REFUSAL_BY_STATUS) == len(REFUSALS)
    assert all(0 < status < DEVICE_FROM for status in REFUSAL_BY_STATUS)


_check_table()
