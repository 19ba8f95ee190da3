"""The EV74 encoder of detess."""

from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ev74.packet import Packet
from tessbed.kernels.plan import Op, Plan


def encode_relocatable(plan: Plan) -> Packet:
    """The relocatable packet of a detess plan; encoding only, no device work. Errors as in encode_plan."""
    return encode_plan(plan, Op.DETESS)
