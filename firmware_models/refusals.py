"""Refusals: the status codes with which the firmware refuses a packet, for the completion record.

Codes below 0x100 are the firmware's, the device's own trouble has codes above. A number never changes its meaning.
"""

from tessbed.kernels.ev74.codec import PacketFault
from tessbed.kernels.ev74.fields import BY_NAME
from tessbed.sim.completion_record import Completion

STATUS = {
    "size": 1,
    "magic": 2,
    "version": 3,
    "crc": 4,
    "range": 5,
    "noncanonical": 6,
    "geometry": 7,
    "alignment": 8,
    "overlap": 9,
    "unbound": 10,
    "capability": 11,
    "unmapped": 12,
    "read_only": 13,
}


def refusal(fault: PacketFault) -> Completion:
    """The completion that tells the host what is wrong: the code, and the offset of the field at fault."""
    return Completion(STATUS[fault.code], BY_NAME[fault.field].offset)
