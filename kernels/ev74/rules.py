"""Cross-field rules: what the fields of one packet must say together, judged from the packet alone.

A packet is canonical: what a job does not use is zero, so that no bit of a packet is idle. The sizes in the relocation
table are redundant on purpose: they must equal what the geometry gives, so a damaged extent, tile or stride contradicts
them. The rules know no Plan; the firmware and `tessbed verify` share them.
Source: "Contract" sections of the three documents.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from tessbed.kernels.dtypes import DType
from tessbed.kernels.ev74.codec import PacketFault, decode
from tessbed.kernels.ev74.fields import (
    AXES,
    BY_NAME,
    DTYPES,
    FIELDS,
    MAX_OUTER,
    MAX_RANK,
    PORTS,
    TILE_FORMATS,
)
from tessbed.kernels.operations import OPERATIONS, Operation, TileFormat

TILE_ALIGNMENT_BYTES = 16
CHANNEL_BLOCK = 16


def operation_of(values: Mapping[str, int]) -> Operation:
    """The row of the packet's operation. Raises PacketFault where the table has none of that code."""
    for row in OPERATIONS.values():
        if row.code == values["op"]:
            return row
    raise PacketFault("range", "op", f"got {values['op']:#x}, wanted the code of an operation")


def tiled_dtype(values: Mapping[str, int]) -> DType:
    """The scalar type of the tiled port."""
    return DType(DTYPES[values["tiled_dtype"]])


def linear_dtype(values: Mapping[str, int]) -> DType:
    """The scalar type of the linear port."""
    return DType(DTYPES[values["linear_dtype"]])


def check_rules(values: Mapping[str, int]) -> None:
    """Refuses decoded fields that contradict each other. Addresses that are still zero are not judged.

    `values` are the fields by name, each within its own limits, as `decode` returns them. Raises PacketFault with code
    geometry, noncanonical, alignment or overlap.
    """
    for rule in RULES:
        rule(values)


def check_packet(raw: bytes) -> dict[str, int]:
    """The fields of a valid packet, unbound or bound. Raises PacketFault as decode, check_rules and check_bound do."""
    values = decode(raw)
    check_rules(values)
    if values["input_address"] or values["output_address"]:
        check_bound(values)
    return values


def check_bound(values: Mapping[str, int]) -> None:
    """Refuses a packet of which an address is still zero. Raises PacketFault with code unbound."""
    for port in PORTS:
        if not values[f"{port}_address"]:
            raise PacketFault("unbound", f"{port}_address", f"got 0, wanted the {port}'s device address; bind first")


def tiled_port(values: Mapping[str, int]) -> int:
    """The number of the port whose storage is tiled, which is also its relocation's: 0 input, 1 output."""
    return int(operation_of(values).packs)


def tiled_bytes(values: Mapping[str, int]) -> int:
    """Bytes of all tiles of all outer slices, padding and alignment included."""
    parts = [_parts(values[f"{axis}_extent"], values[f"{axis}_tile"]) for axis in AXES]
    volume = sum(
        prod(count for count, _ in tile) * _tile_bytes(values, *(extent for _, extent in tile))
        for tile in product(*parts)
    )
    return volume * prod(values[f"outer{index}_extent"] for index in range(values["outer_rank"]))


def linear_bytes(values: Mapping[str, int]) -> int:
    """Bytes from the linear port's first byte to behind its last scalar, holes included."""
    return sum((extent - 1) * stride for _, extent, stride in _linear_axes(values)) + _width(values, "linear_dtype")


def _parts(extent: int, tile: int) -> list[tuple[int, int]]:
    """(number of tiles, tile extent) of the full tiles and of the boundary tile, where there is one."""
    full, rest = divmod(extent, tile)
    return [(full, tile), *([(1, rest)] if rest else [])]


def _tile_bytes(values: Mapping[str, int], c: int, d: int, h: int, w: int) -> int:
    stored = c if TILE_FORMATS[values["tile_format"]] == "compact" else _round_up(c, CHANNEL_BLOCK)
    return _round_up(stored * d * h * w * _width(values, "tiled_dtype"), TILE_ALIGNMENT_BYTES)


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _width(values: Mapping[str, int], field: str) -> int:
    return DType(DTYPES[values[field]]).width


def _linear_axes(values: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """(name, extent, stride in bytes) of C, D, H, W and of the outer axes in use."""
    for name in (*AXES, *(f"outer{index}" for index in range(values["outer_rank"]))):
        yield name, values[f"{name}_extent"], values[f"{name}_stride"]


def _operation(values: Mapping[str, int]) -> None:
    op, pair = operation_of(values), (tiled_dtype(values), linear_dtype(values))
    if pair not in [(scalars.tiled, scalars.linear) for scalars in op.scalars]:
        wanted = " or ".join(f"{scalars.tiled.value}/{scalars.linear.value}" for scalars in op.scalars)
        got = "/".join(dtype.value for dtype in pair)
        raise PacketFault("geometry", "linear_dtype", f"got {got} (tiled/linear), {op.name} has {wanted}")
    tile_format = TILE_FORMATS[values["tile_format"]]
    formats = [form.value for form in op.formats]
    if tile_format not in formats:
        raise PacketFault("geometry", "tile_format", f"got {tile_format}, {op.name} has {' or '.join(formats)}")
    if tile_format == "cblocked" and values["d_extent"] != 1:
        raise PacketFault("geometry", "d_extent", f"got {values['d_extent']}, wanted 1: channel blocks have no depth")
    if values["version_minor"] != op.version_minor:
        text = f"got {values['version_minor']}, wanted {op.version_minor}, with which {op.name} came"
        raise PacketFault("geometry", "version_minor", text)


def _parameters(values: Mapping[str, int]) -> None:
    """A parameter's field stands for a value, and is zero in packets of other operations."""
    op = operation_of(values)
    held = [parameter.field for parameter in op.parameters]
    for parameter in op.parameters:
        word = values[parameter.field]
        if BY_NAME[parameter.field].since_minor and not parameter.stands_for(word):
            text = f"got {word:#x}, which stands for no value that {op.name} takes: {parameter.meaning}"
            raise PacketFault("geometry", parameter.field, text)
    for field in FIELDS:
        if field.since_minor and not field.reserved and field.name not in held and values[field.name]:
            text = f"got {values[field.name]:#x}, wanted 0: {op.name} has no such parameter"
            raise PacketFault("noncanonical", field.name, text)


def _fill(values: Mapping[str, int]) -> None:
    """The fill is zero where no tile has an INT8 channel to fill."""
    c, tile = values["c_extent"], values["c_tile"]
    padded = any(extent % CHANNEL_BLOCK for _, extent in _parts(c, tile))
    filled = TILE_FORMATS[values["tile_format"]] == TileFormat.PAD16.value and tiled_dtype(values) is DType.INT8
    held = any(parameter.field == "channel_fill" for parameter in operation_of(values).parameters)
    if values["channel_fill"] and not (padded and filled and held):
        raise PacketFault(
            "noncanonical", "channel_fill", f"got {values['channel_fill']:#04x}, wanted 0: no channel is filled"
        )


def _outer(values: Mapping[str, int]) -> None:
    rank = values["outer_rank"] + 1 + sum(values[f"{axis}_extent"] > 1 for axis in "dhw")
    if rank > MAX_RANK:
        raise PacketFault("geometry", "outer_rank", f"got {rank} axes in all, wanted at most {MAX_RANK}")
    for index in range(MAX_OUTER):
        extent, stride = (f"outer{index}_{part}" for part in ("extent", "stride"))
        if index < values["outer_rank"]:
            if not values[extent]:
                raise PacketFault("geometry", extent, f"got 0, wanted at least 1: outer_rank is {values['outer_rank']}")
        elif values[extent] or values[stride]:
            field = extent if values[extent] else stride
            raise PacketFault("noncanonical", field, f"got {values[field]}, wanted 0: outer axis {index} is unused")


def _tiles(values: Mapping[str, int]) -> None:
    for axis in AXES:
        extent, tile = values[f"{axis}_extent"], values[f"{axis}_tile"]
        if tile > extent:
            raise PacketFault("geometry", f"{axis}_tile", f"got {tile}, wanted at most the extent {extent}")


def _strides(values: Mapping[str, int]) -> None:
    width = _width(values, "linear_dtype")
    for name, extent, stride in _linear_axes(values):
        if extent == 1 and stride:
            raise PacketFault("noncanonical", f"{name}_stride", f"got {stride}, wanted 0: the axis has one element")
        if stride % width:
            raise PacketFault("geometry", f"{name}_stride", f"got {stride}, wanted a multiple of {width} bytes")
    _prove_nonoverlapping(values, width)


def _prove_nonoverlapping(values: Mapping[str, int], width: int) -> None:
    """The sorted-span proof: a stride clears the span of all axes with smaller strides; unit axes do not count."""
    span = width
    for name, extent, stride in sorted(_linear_axes(values), key=lambda axis: axis[2]):
        if extent > 1:
            if stride < span:
                raise PacketFault(
                    "geometry", f"{name}_stride", f"got {stride}, wanted at least {span}: elements overlap"
                )
            span += (extent - 1) * stride


def _relocations(values: Mapping[str, int]) -> None:
    tiled = tiled_port(values)
    expected = {tiled: (TILE_ALIGNMENT_BYTES, tiled_bytes(values))}
    expected[1 - tiled] = _width(values, "linear_dtype"), linear_bytes(values)
    for port, numbers in sorted(expected.items()):
        for name, wanted in zip((f"reloc{port}_alignment", f"reloc{port}_required_bytes"), numbers, strict=True):
            if values[name] != wanted:
                raise PacketFault("geometry", name, f"got {values[name]}, the geometry gives {wanted}")


def _addresses(values: Mapping[str, int]) -> None:
    spans = []
    for port, name in enumerate(PORTS):
        address, alignment = values[f"{name}_address"], values[f"reloc{port}_alignment"]
        end = address + values[f"reloc{port}_required_bytes"]
        if address % alignment:
            raise PacketFault("alignment", f"{name}_address", f"got {address:#x}, wanted a multiple of {alignment}")
        if end > BY_NAME[f"{name}_address"].limit + 1:
            raise PacketFault("geometry", f"{name}_address", f"got {address:#x}, its span ends past the address space")
        spans.append((address, end))
    (source, source_end), (target, target_end) = spans
    if source and target and source < target_end and target < source_end:
        raise PacketFault("overlap", "output_address", f"got {target:#x}, its span intersects the input's {source:#x}")


RULES = (_operation, _outer, _tiles, _fill, _parameters, _strides, _relocations, _addresses)
