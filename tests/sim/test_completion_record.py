"""The completion record: golden bytes, and nothing else is one."""

import zlib

import pytest

from tessbed.sim import completion_record
from tessbed.sim.completion_record import FIELDS, STATUS, Completion, Record

GOLDEN = bytes.fromhex(
    "54454243 0100 4000"  # magic TEBC, version 1, size 64
    "2a00000000000000"  # cookie 42
    "03010000 07000000"  # status 0x103 unmapped, field 7
    "0010008000000000"  # detail 0x80001000
    "2300000000000000"  # 35 device ticks
    "04000000"  # 4 workers
    "00000000000000000000000000000000"
)


def test_golden_bytes() -> None:
    """A record is these bytes, and its CRC over the first 60; both ways."""
    record = Record(42, Completion(STATUS["unmapped"], 7, 0x8000_1000), 35, 4)
    data = completion_record.encode_record(record)
    assert data[:-4] == GOLDEN
    assert completion_record.decode_record(data) == record


def test_any_flipped_bit_is_no_record() -> None:
    """Each of the 512 bits is guarded."""
    data = completion_record.encode_record(Record(42, Completion(0), 35, 4))
    for bit in range(512):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        assert completion_record.decode_record(bytes(flipped)) is None


@pytest.mark.parametrize("nbytes", [0, 63, 65])
def test_other_lengths_are_no_record(nbytes) -> None:
    """Only 64 bytes can be a record."""
    assert completion_record.decode_record(bytes(nbytes)) is None


@pytest.mark.parametrize("field", [field for field in FIELDS if field.fixed is not None], ids=lambda field: field.name)
def test_a_field_that_is_fixed_makes_a_record(field) -> None:
    """Bytes with another magic, version, size or reserved value are no record, whatever their checksum says."""
    data = bytearray(completion_record.encode_record(Record(42, Completion(0), 35, 4)))
    data[field.end - 1] ^= 1
    data[-4:] = zlib.crc32(data[:-4]).to_bytes(4, "little")
    assert completion_record.decode_record(bytes(data)) is None


@pytest.mark.parametrize(
    "record",
    [Record(1 << 64, Completion(0), 0, 0), Record(0, Completion(1 << 32), 0, 0), Record(0, Completion(0), -1, 0)],
    ids=["cookie", "status", "device_ticks"],
)
def test_a_record_never_narrows_a_value(record) -> None:
    """A value that its field does not hold is an OverflowError."""
    with pytest.raises(OverflowError):
        completion_record.encode_record(record)
