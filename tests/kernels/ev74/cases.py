"""Jobs whose packets are kept as golden bytes, and ways to make and to corrupt packets."""

from pathlib import Path

from tessbed.kernels import OPERATIONS
from tessbed.kernels.ev74.codec import Packet, decode, pack_packet, seal
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ev74.fields import BY_NAME
from tessbed.kernels.ops import requests_of
from tessbed.kernels.plan import Plan
from tests.oracle import Geometry
from tests.requests import request_of

FOLDER = Path(__file__).parents[2] / "golden" / "packets"
WC = (-1, -1, 0, 1)
HWC = (-1, 0, 1, 2)

GOLDEN: dict[str, Geometry] = {
    "detess-2x3": Geometry("detess", (2, 3), "bf16", WC, (1, 1, 2, 3)),
    "cast-2x3-pitched": Geometry("detesscast", (2, 3), "bf16", WC, (1, 1, 2, 3), strides_bytes=(16, 4), to="fp32"),
    "tess-2x17-pad16": Geometry("tess", (2, 17), "bf16", WC, (1, 1, 2, 16), pad16=True),
    "tess-int8-fill": Geometry("tess", (3, 5, 18), "int8", HWC, (1, 2, 3, 16), pad16=True, fill=-128),
    "cast-head": Geometry("detesscast", (80, 80, 64), "bf16", cblocked=(16, 16, 16), to="fp32"),
    "cast-identity": Geometry("detesscast", (4, 17), "bf16", WC, (1, 1, 3, 16), to="bf16"),
    "tess-depth-batch": Geometry("tess", (2, 3, 4, 5, 6, 7), "int8", (2, 3, 4, 5), (3, 2, 4, 7)),
    "detess-planar": Geometry("detess", (20, 6, 10), "int8", (-1, 1, 2, 0), (1, 4, 10, 16), strides_bytes=(64, 10, 1)),
    "detess-large": Geometry("detess", (1280, 1280, 64), "bf16", HWC, (1, 32, 32, 64)),
    "cast-outer": Geometry("detesscast", (1, 3, 2, 9, 20), "bf16", cblocked=(2, 4, 16), to="bf16"),
}
BOUND = ("cast-2x3-pitched", 0x8000_0000, 0x8000_1004)


def plan_of(geometry: Geometry) -> Plan:
    """The plan of an admitted geometry."""
    return requests_of(OPERATIONS[geometry.op]).check_inference(request_of(geometry))


def packet_of(geometry: Geometry) -> Packet:
    """The relocatable packet of an admitted, nonempty geometry."""
    return encode_plan(plan_of(geometry))


def golden_packets() -> dict[str, bytes]:
    """What today's encoder makes of the golden jobs: the relocatable packets, and one bound copy."""
    packets = {name: packet_of(geometry) for name, geometry in GOLDEN.items()}
    name, *addresses = BOUND
    packets[f"{name}-bound"] = packets[name].bind(*addresses)
    return {name: packet.raw for name, packet in packets.items()}


def corrupted(raw: bytes, **changes: int) -> bytes:
    """`raw` with some fields overwritten, and the checksum repaired unless it is itself among them."""
    changed = bytearray(raw)
    for name, value in changes.items():
        field = BY_NAME[name]
        changed[field.offset : field.end] = value.to_bytes(field.width, "little")
    return bytes(changed) if "crc32" in changes else seal(bytes(changed))


def repacked(raw: bytes, **changes: int) -> bytes:
    """`raw` with some fields changed, packed anew."""
    return pack_packet(decode(raw) | changes).raw
