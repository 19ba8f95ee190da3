"""Encoding: from a kernel plan to a relocatable custom packet."""

import struct
from functools import lru_cache

from tessbed.kernels.custom.codec import CustomPacket, pack_custom
from tessbed.kernels.custom.fields import BY_NAME, LEVELS, MAGIC, PACKET_BYTES, VERSION_MAJOR, VERSION_MINOR
from tessbed.kernels.custom.kernel_plan import KernelPlan

LEVEL_CODES = {name: code for code, name in LEVELS.items()}


def encode_kernel(plan: KernelPlan) -> CustomPacket:
    """The relocatable packet of a plan, addresses zero."""
    return _encoded(plan, plan.level, plan.kernel.api)


@lru_cache(maxsize=64)
def _encoded(plan: KernelPlan, level: str, api: int) -> CustomPacket:
    """A plan does not compare its kernel, and one source may declare kernels of one name that differ in these."""
    values = {
        "magic": MAGIC,
        "version_major": VERSION_MAJOR,
        "version_minor": VERSION_MINOR,
        "packet_bytes": PACKET_BYTES,
        "api": api,
        "level": LEVEL_CODES[level],
        "inputs": len(plan.inputs),
        "outputs": len(plan.outputs),
        "arguments": len(plan.arguments),
        "name": int.from_bytes(plan.name.encode(), "little"),
        "hash": int.from_bytes(bytes.fromhex(plan.digest), "little"),
    }
    for index, (_, value) in enumerate(plan.arguments):
        values[f"argument{index}_kind"] = 2 if isinstance(value, float) else 1
        values[f"argument{index}_value"] = int.from_bytes(_argument(value), "little")
    for index, port in enumerate(plan.ports):
        values |= {
            f"port{index}_scalar": port.type.code,
            f"port{index}_rank": len(port.shape),
            f"port{index}_access": 2 if port.written else 1,
            f"port{index}_alignment": port.alignment_bytes,
            f"port{index}_required_bytes": port.required_bytes,
            f"port{index}_relocation": BY_NAME[f"port{index}_address"].offset,
            **{f"port{index}_extent{axis}": extent for axis, extent in enumerate(port.shape)},
        }
    return pack_custom(values)


def _argument(value: int | float) -> bytes:
    return struct.pack("<d", value) if isinstance(value, float) else struct.pack("<q", value)
