"""From an admitted plan to a relocatable packet, with the device's representability checks."""

from functools import cache

import attrs

import tessbed.kernels.ev74.fields as fields
from tessbed.kernels.errors import ContractError, NotRepresentable
from tessbed.kernels.ev74.codec import Packet, pack_packet
from tessbed.kernels.operations import Operation
from tessbed.kernels.plan import Plan
from tessbed.kernels.plan_check import check_plan

_NUMBERS = {
    table_name: {name: number for number, name in table.items()}
    for table_name, table in (("dtype", fields.DTYPES), ("format", fields.TILE_FORMATS))
}


@attrs.frozen(eq=False)
class Encoder:
    """The EV74 encoder of one operation."""

    operation: Operation

    def encode_relocatable(self, plan: Plan) -> Packet:
        """The relocatable packet of a plan of this operation; encoding only, no device work. Errors as encode_plan."""
        return encode_plan(plan, self.operation)


@cache
def encoder_of(op: Operation) -> Encoder:
    """The encoder of a row."""
    return Encoder(op)


def encode_plan(plan: Plan, op: Operation | None = None) -> Packet:
    """The relocatable packet of `plan`, addresses zero; a plan of `op` where that is given.

    Raises NotRepresentable where a field can not hold a value, ContractError for what is no plan, a plan of another
    operation or an empty one: an empty tensor submits nothing.
    """
    check_plan(plan, op)
    if plan.empty:
        raise ContractError("plan_empty", "plan.shape", f"got {list(plan.shape)}; an empty tensor submits nothing")
    values = _header(plan) | _axes(plan) | _outer(plan) | _relocations(plan) | dict(plan.parameters)
    for name, value in values.items():
        if value > fields.BY_NAME[name].limit:
            raise NotRepresentable(name, value, fields.BY_NAME[name].limit)
    return pack_packet(values)


def _header(plan: Plan) -> dict[str, int]:
    return {
        "magic": fields.MAGIC,
        "version_major": fields.VERSION_MAJOR,
        "version_minor": plan.op.version_minor,
        "packet_bytes": fields.PACKET_BYTES,
        "op": plan.op.code,
        "tiled_dtype": _NUMBERS["dtype"][plan.tiled_dtype.value],
        "linear_dtype": _NUMBERS["dtype"][plan.linear_dtype.value],
        "tile_format": _NUMBERS["format"][plan.tile_format.value],
        "channel_fill": plan.channel_fill if _fills_channels(plan) else 0,
        "outer_rank": len(plan.outer),
    }


def _fills_channels(plan: Plan) -> bool:
    """Whether a tile stores channels beyond its own."""
    return any(tiles.stored_channels != tiles.extents[0] for tiles in plan.classes)


def _axes(plan: Plan) -> dict[str, int]:
    values = {}
    for name, axis in zip(fields.AXES, plan.axes, strict=True):
        values[f"{name}_extent"] = axis.extent
        values[f"{name}_tile"] = axis.tile
        values[f"{name}_stride"] = axis.stride_bytes if axis.extent > 1 else 0
    return values


def _outer(plan: Plan) -> dict[str, int]:
    values = {}
    for index, axis in enumerate(plan.outer):
        values[f"outer{index}_extent"] = axis.extent
        values[f"outer{index}_stride"] = axis.linear_stride_bytes if axis.extent > 1 else 0
    return values


def _relocations(plan: Plan) -> dict[str, int]:
    values = {}
    for index, (name, port) in enumerate(zip(fields.PORTS, (plan.input, plan.output), strict=True)):
        values[f"reloc{index}_field"] = fields.BY_NAME[f"{name}_address"].offset
        values[f"reloc{index}_port"] = index
        values[f"reloc{index}_access"] = index + 1
        values[f"reloc{index}_alignment"] = port.alignment_bytes
        values[f"reloc{index}_required_bytes"] = port.required_bytes
    return values
