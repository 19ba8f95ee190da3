"""Packets: encoding, relocation, versions, and the order in which a decoder refuses."""

import pytest

from tessbed.kernels import ContractError, NotRepresentable
from tessbed.kernels.ev74 import tess
from tessbed.kernels.ev74.codec import Packet, PacketFault, decode, pack_packet, seal
from tessbed.kernels.ev74.fields import BY_NAME, FIELDS, PACKET_BYTES, VERSION_MAJOR
from tessbed.kernels.ev74.rules import check_bound, check_packet
from tests.geometries import name_of, random_geometries
from tests.kernels.ev74.cases import GOLDEN, HWC, WC, corrupted, packet_of, plan_of, repacked
from tests.oracle import Geometry, linear_bytes, tiled_bytes

TEMPLATE = packet_of(GOLDEN["cast-2x3-pitched"])
GEOMETRIES = [geometry for geometry in random_geometries(144, seed=41) if 0 not in geometry.shape]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=name_of)
def test_every_admitted_job_has_a_valid_packet(geometry: Geometry) -> None:
    """What the encoder writes passes the checks, which know no plan, and carries the sizes that the oracle counts."""
    values = check_packet(packet_of(geometry).raw)
    sizes = [linear_bytes(geometry), tiled_bytes(geometry)]
    wanted = sizes if geometry.op == "tess" else sizes[::-1]
    assert [values["reloc0_required_bytes"], values["reloc1_required_bytes"]] == wanted


def test_encoding_leaves_addresses_zero_and_binding_leaves_the_template() -> None:
    """A template is unbound, gives the same bytes after any number of bindings, and refuses to pass as bound."""
    before = TEMPLATE.raw
    assert TEMPLATE.bind(0x8000_0000, 0x8000_1000).bound
    assert TEMPLATE.raw == before
    assert not TEMPLATE.bound
    with pytest.raises(PacketFault, match=r"input_address.*\[unbound\]"):
        check_bound(decode(TEMPLATE.raw))


@pytest.mark.parametrize("name", GOLDEN)
def test_two_bindings_differ_in_relocated_fields_and_checksum_only(name: str) -> None:
    """Of two address sets, the packets differ only in the fields that the relocation table names and the checksum."""
    template = packet_of(GOLDEN[name])
    values = decode(template.raw)
    one, two = template.bind(0x8000_0000, 0xA000_0000).raw, template.bind(0x9123_4560, 0xF234_5670).raw
    relocated = {values["reloc0_field"], values["reloc1_field"], BY_NAME["crc32"].offset}
    fields = [field for field in FIELDS if field.offset in relocated]
    allowed = {offset for field in fields for offset in range(field.offset, field.end)}
    assert {offset for offset in range(PACKET_BYTES) if one[offset] != two[offset]} <= allowed
    assert [field.name for field in fields] == ["crc32", "input_address", "output_address"]
    assert all(decode(one)[field.name] != decode(two)[field.name] for field in fields)


def test_a_bound_packet_can_be_bound_again() -> None:
    """Binding replaces earlier addresses: the result is that of binding the template."""
    once = TEMPLATE.bind(0x8000_0000, 0x8000_1000)
    assert once.bind(0x9000_0000, 0x9000_1000) == TEMPLATE.bind(0x9000_0000, 0x9000_1000)


@pytest.mark.parametrize("addresses", [(-16, 0x8000_0000), (0x8000_0000, 2**64)], ids=["negative", "65 bits"])
def test_an_address_is_never_narrowed(addresses: tuple[int, int]) -> None:
    """An address that 64 bits can not hold raises."""
    with pytest.raises(OverflowError):
        TEMPLATE.bind(*addresses)


def test_binding_refuses_what_is_no_packet() -> None:
    """Binding damaged bytes raises the decoder's fault instead of sealing the damage with a new checksum."""
    damaged = bytearray(TEMPLATE.raw)
    damaged[0x18] ^= 1
    with pytest.raises(PacketFault, match=r"\[crc\]"):
        Packet(bytes(damaged)).bind(0x8000_0000, 0x8000_1000)


@pytest.mark.parametrize(
    ("geometry", "field", "value"),
    [
        (Geometry("detess", (2**32, 1, 1), "int8", HWC, (1, 1, 1, 1)), "h_extent", 2**32),
        (Geometry("detess", (1, 1, 2**33), "int8", HWC, (1, 1, 1, 16)), "c_extent", 2**33),
        (Geometry("detess", (2**34, 1, 1, 1), "int8", (-1, 1, 2, 3), (1, 1, 1, 1)), "outer0_extent", 2**34),
    ],
    ids=["h", "c", "outer"],
)
def test_what_a_field_can_not_hold_is_refused(geometry: Geometry, field: str, value: int) -> None:
    """An admitted plan beyond a field's limit raises NotRepresentable with field, value and limit; the limit fits."""
    with pytest.raises(NotRepresentable) as caught:
        packet_of(geometry)
    assert (caught.value.field, caught.value.value, caught.value.limit) == (field, value, 2**32 - 1)
    smaller = Geometry(
        geometry.op,
        tuple(2**32 - 1 if extent == value else extent for extent in geometry.shape),
        geometry.dtype,
        geometry.axes,
        geometry.tile,
    )
    assert decode(packet_of(smaller).raw)[field] == 2**32 - 1


@pytest.mark.parametrize(
    ("geometry", "code", "where"),
    [
        (Geometry("tess", (0, 3), "bf16", WC, (1, 1, 2, 3)), "plan_empty", "plan.shape"),
        (Geometry("detess", (2, 3), "bf16", WC, (1, 1, 2, 3)), "plan_op", "plan"),
    ],
    ids=["empty", "another operation"],
)
def test_plans_without_a_packet(geometry: Geometry, code: str, where: str) -> None:
    """An empty plan, and one of another operation, raise instead of becoming a packet."""
    with pytest.raises(ContractError) as caught:
        tess.encode_relocatable(plan_of(geometry))
    assert (caught.value.code, caught.value.where) == (code, where)


@pytest.mark.parametrize(
    ("channels", "tile", "fill"), [(32, 16, 0), (18, 16, 0x85), (32, 20, 0x85)], ids=["none", "boundary", "every tile"]
)
def test_the_fill_is_zero_where_no_channel_is_padded(channels: int, tile: int, fill: int) -> None:
    """A fill that the job never writes is not in its packet, and such a packet with a fill is refused."""
    geometry = Geometry("tess", (2, channels), "int8", WC, (1, 1, 2, tile), pad16=True, fill=-123)
    raw = packet_of(geometry).raw
    assert decode(raw)["channel_fill"] == fill
    if not fill:
        with pytest.raises(PacketFault, match=r"channel_fill.*\[noncanonical\]"):
            check_packet(repacked(raw, channel_fill=1))


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"version_major": VERSION_MAJOR + 1}, "version", "version_major"),
        ({"version_major": 0}, "version", "version_major"),
        ({"version_minor": 2}, "version", "version_minor"),
        ({"flags": 1}, "noncanonical", "flags"),
        ({"flags": 0x8000}, "noncanonical", "flags"),
        ({"magic": 0x50425355}, "magic", "magic"),
        ({"packet_bytes": 232}, "range", "packet_bytes"),
    ],
    ids=lambda value: str(value),
)
def test_other_versions_and_unknown_flags_are_refused(change: dict[str, int], code: str, field: str) -> None:
    """With the checksum repaired: another major, a newer minor, an undefined flag, magic and size are each refused."""
    with pytest.raises(PacketFault) as caught:
        decode(corrupted(TEMPLATE.raw, **change))
    assert (caught.value.code, caught.value.field) == (code, field)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "size"),
        (TEMPLATE.raw[:3], "size"),
        (b"nope" + TEMPLATE.raw[4:], "magic"),
        (TEMPLATE.raw[:-1], "size"),
        (TEMPLATE.raw + b"\0", "size"),
        (corrupted(TEMPLATE.raw, version_major=2) + bytes(16), "version"),
        (corrupted(TEMPLATE.raw, crc32=0), "crc"),
        (corrupted(TEMPLATE.raw, crc32=0, op=0), "crc"),
        (corrupted(TEMPLATE.raw, op=0), "range"),
    ],
    ids=["empty", "3 bytes", "magic", "short", "trailing", "longer later version", "crc", "crc before range", "range"],
)
def test_the_decoder_refuses_in_a_fixed_order(raw: bytes, code: str) -> None:
    """Magic and version, then the size, then the checksum, then the limits of the fields."""
    with pytest.raises(PacketFault) as caught:
        decode(raw)
    assert caught.value.code == code


def test_packing_is_the_inverse_of_decoding() -> None:
    """Every golden packet is what packing its decoded fields gives, and absent fields are zero."""
    for geometry in GOLDEN.values():
        raw = packet_of(geometry).raw
        assert pack_packet(decode(raw)).raw == raw
    assert pack_packet({}).raw == seal(bytes(PACKET_BYTES))
    with pytest.raises(OverflowError):
        pack_packet({"op": 256})
    assert repacked(TEMPLATE.raw, op=2) == corrupted(TEMPLATE.raw, op=2)
