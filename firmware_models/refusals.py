"""Refusing a packet in firmware: the fault that the completion record of such a job reports."""

from tessbed.kernels.ev74.codec import PacketFault
from tessbed.kernels.ev74.fields import BY_NAME
from tessbed.kernels.ev74.refusals import REFUSAL_BY_CODE
from tessbed.sim.completion_record import Completion


def refusal(fault: PacketFault) -> Completion:
    """The completion that reports to the host what is wrong: the status, and the offset of the field at fault."""
    return Completion(REFUSAL_BY_CODE[fault.code].status, BY_NAME[fault.field].offset)
