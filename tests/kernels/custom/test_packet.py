"""Custom packets: golden bytes written by hand, canonical fields, and no error but the documented one."""

import struct
import zlib
from random import Random

import pytest

import tessbed
from tessbed.kernels.custom.codec import check_call_bound, decode_call, seal_custom
from tessbed.kernels.custom.encode import encode_kernel
from tessbed.kernels.custom.fields import BY_NAME, FIELDS, PACKET_BYTES
from tessbed.kernels.custom.kernel_plan import plan_kernel
from tessbed.kernels.disassembly import disassemble
from tessbed.kernels.ev74.codec import PacketFault
from tessbed.kernels.ev74.refusals import REFUSAL_BY_CODE


@tessbed.kernel(inputs={"src": "int16[rows, 3]"}, outputs={"dst": tessbed.Port("uint8[rows]", align=64)}, level="body")
def mine(w, src, dst, *, rows=5, gain=-0.5):
    yield


ADDRESSES = [0x8000_1002, 0x8000_2040]


def golden(digest: str) -> bytes:
    """The bound packet of `mine`, byte by byte."""
    head = b"TSBK" + bytes.fromhex(
        "0100 0000"  # version 1.0
        "80070000"  # 1,920 bytes
        "00000000"  # the checksum, below
        "0100"  # api 1
        "02"  # level body
        "01 01"  # one input, one output
        "02"  # two arguments
        "0000"
    )
    name = b"mine" + bytes(60)
    arguments = bytes.fromhex("01 00000000000000 050000000000000002 00000000000000 000000000000e0bf") + bytes(30 * 16)
    source = bytes.fromhex(
        "04 02 01 00 02000000"  # int16, two axes, read, alignment 2
        "0500000000000000 0300000000000000" + "00" * 32 + "1e00000000000000"  # 30 bytes
        "c8020000 00000000"  # the address is at 0x2c8
        "0210008000000000"
    )
    target = bytes.fromhex(
        "01 01 02 00 40000000"  # uint8, one axis, written, alignment 64
        "0500000000000000" + "00" * 40 + "0500000000000000"
        "18030000 00000000"  # the address is at 0x318
        "4020008000000000"
    )
    ports = source + target + bytes(14 * 80)
    raw = bytearray(head + name + bytes.fromhex(digest) + bytes(8) + arguments + ports)
    raw[12:16] = struct.pack("<I", zlib.crc32(bytes(raw[:12]) + bytes(raw[16:])))
    return bytes(raw)


def bound() -> bytes:
    return encode_kernel(plan_kernel(mine)).bind(ADDRESSES).raw


def test_golden_bytes():
    """Encoder and decoder agree with a packet that was written by hand."""
    plan = plan_kernel(mine)
    assert bound() == golden(plan.digest)
    call = decode_call(golden(plan.digest))
    assert (call.name, call.digest, call.level, call.arguments) == ("mine", plan.digest, "body", (5, -0.5))
    assert [(p.scalar, p.shape, p.written, p.alignment_bytes, p.required_bytes, p.address) for p in call.ports] == [
        ("int16", (5, 3), False, 2, 30, ADDRESSES[0]),
        ("uint8", (5,), True, 64, 5, ADDRESSES[1]),
    ]


def test_binding_changes_addresses_and_checksum_alone():
    """A template stays as it was, and a bound copy differs in addresses and checksum."""
    template = encode_kernel(plan_kernel(mine))
    raw = template.bind(ADDRESSES).raw
    places = [BY_NAME[name] for name in ("crc32", "port0_address", "port1_address")]
    allowed = {at for field in places for at in range(field.offset, field.end)}
    assert {at for at in range(PACKET_BYTES) if raw[at] != template.raw[at]} <= allowed
    assert all(port.address == 0 for port in decode_call(template.raw).ports)


def test_a_flipped_bit_is_refused_or_harmless():
    """Each flipped bit, its checksum made right again, gives a documented fault, or another call."""
    raw = bound()
    plain = decode_call(raw)
    for at in range(PACKET_BYTES):
        if BY_NAME["crc32"].offset <= at < BY_NAME["crc32"].end:
            continue
        for bit in range(0, 8, 3):
            changed = bytearray(raw)
            changed[at] ^= 1 << bit
            code, call = outcome(seal_custom(bytes(changed)))
            assert call != plain, f"bit {bit} of byte {at} is idle"
            assert code in ("", *REFUSAL_BY_CODE)


def outcome(raw: bytes):
    """The code of a packet's fault, "" where it has none, and its call."""
    try:
        call = decode_call(raw)
        check_call_bound(call)
    except PacketFault as fault:
        return fault.code, None
    return "", call


def test_any_bytes_raise_the_documented_fault_alone():
    """Random bytes, of any length, with and without the right beginning, raise PacketFault and nothing else."""
    random = Random(1)
    for number in range(300):
        raw = bytearray(random.randbytes(random.choice((0, 3, 15, 100, PACKET_BYTES, PACKET_BYTES + 1))))
        if number % 2 and len(raw) >= 16:
            raw[:12] = bound()[:12]
            raw = bytearray(seal_custom(bytes(raw)))
        with pytest.raises(PacketFault):
            decode_call(bytes(raw))
        assert disassemble(bytes(raw)).startswith(("custom packet", "packet"))


FAULTS = {
    "alignment": ([0x8000_1001, 0x8000_2040], "alignment"),
    "overlap": ([0x8000_2042, 0x8000_2040], "overlap"),
    "unbound": ([0x8000_1000, 0], "unbound"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_addresses_are_judged(case):
    """Addresses that do not suit the ports are refused by their codes."""
    addresses, code = FAULTS[case]
    call = decode_call(encode_kernel(plan_kernel(mine)).bind(addresses).raw)
    with pytest.raises(PacketFault) as caught:
        check_call_bound(call)
    assert caught.value.code == code


def test_the_listing_names_every_field_that_is_used():
    """A listing shows kernel, arguments and ports, and none of what is unused."""
    text = disassemble(bound())
    for word in ("custom packet of 1920 bytes, valid, bound", "mine", "argument1_value", "-0.5", "port1_address"):
        assert word in text
    assert "port2" not in text
    assert "argument2" not in text
    assert len(FIELDS) > 200
