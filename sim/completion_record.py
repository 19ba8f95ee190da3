"""The completion record: 64 little-endian bytes that the device writes before it raises the interrupt.

FIELDS is the format, which encoder, decoder and documentation walk; all integers are little-endian and unsigned. STATUS
names what the device itself can say. Statuses 1 to 0xFF are refusals of the packet, which the firmware writes and
`kernels/ev74/refusals.py` numbers.
"""

import zlib

import attrs

from tessbed.sim.errors import DeviceFault, HazardError

MAGIC = 0x43424554  # "TEBC" in memory
VERSION = 1
RECORD_BYTES = 64


@attrs.frozen
class RecordField:
    """One field: where it is, what it means, and what it must hold, None where that is the job's.

    The packet's `Field` is the same for packets; a field's offset is written down and checked against the running sum.
    """

    offset: int
    width: int
    name: str
    meaning: str
    fixed: int | None = None

    @property
    def end(self) -> int:
        """Offset behind the field's last byte."""
        return self.offset + self.width


FIELDS = (
    RecordField(0, 4, "magic", "TEBC", MAGIC),
    RecordField(4, 2, "version", "of this format", VERSION),
    RecordField(6, 2, "size", "64", RECORD_BYTES),
    RecordField(8, 8, "cookie", "what the submission carried"),
    RecordField(16, 4, "status", "0 or a fault"),
    RecordField(20, 4, "field", "which packet field is at fault, for the firmware's own codes"),
    RecordField(24, 8, "detail", "fault address or value"),
    RecordField(32, 8, "device_ticks", "launch to last completion"),
    RecordField(40, 4, "workers", "logical workers launched"),
    RecordField(44, 16, "reserved", "zero", 0),
    RecordField(60, 4, "crc32", "of the 60 bytes before it"),
)
BODY, CRC = FIELDS[:-1], FIELDS[-1]


def _check_table() -> None:
    position = 0
    for field in FIELDS:
        assert field.offset == position, f"{field.name} is at {field.offset}, the table has reached {position}"
        position = field.end
    assert position == RECORD_BYTES


_check_table()

STATUS = {
    "ok": 0,
    "dma_error": 0x101,  # the bus answered with an error; detail is the first address
    "outside_window": 0x102,  # detail is the address, here and below
    "unmapped": 0x103,
    "read_only": 0x104,
    "straddles": 0x105,
    "packet_fetch": 0x106,  # the packet itself is not readable
    "worker_died": 0x107,  # detail is the worker
    "kernel_error": 0x108,  # a user's kernel raised or never ended: detail is the worker, field the line in its file
    "kernel_hazard": 0x109,  # the checker objects to a user's kernel: detail and field as before
}


@attrs.frozen
class Completion:
    """How a job ended: `status` 0 or a fault code, the field and detail of the fault."""

    status: int
    field: int = 0
    detail: int = 0


@attrs.frozen
class Record:
    """What a completion record says."""

    cookie: int
    completion: Completion
    device_ticks: int
    workers: int


def from_fault(fault: DeviceFault) -> Completion:
    """The completion of a job that a device fault ended; raises HazardError for a code without a status."""
    if fault.code not in STATUS:
        raise HazardError(f"no status for the device fault {fault.code!r}")
    return Completion(STATUS[fault.code], fault.field, fault.detail)


def encode_record(record: Record) -> bytes:
    """The 64 bytes of a record. Raises OverflowError for a value that its field does not hold, never narrows."""
    values = attrs.asdict(record.completion) | {
        name: getattr(record, name) for name in ("cookie", "device_ticks", "workers")
    }
    body = b"".join(
        (values[field.name] if field.fixed is None else field.fixed).to_bytes(field.width, "little") for field in BODY
    )
    return body + zlib.crc32(body).to_bytes(CRC.width, "little")


def decode_record(data: bytes) -> Record | None:
    """The record in 64 bytes, or None when they are not one."""
    if len(data) != RECORD_BYTES:
        return None
    values = {field.name: int.from_bytes(data[field.offset : field.end], "little") for field in FIELDS}
    if any(field.fixed not in (None, values[field.name]) for field in FIELDS):
        return None
    if values["crc32"] != zlib.crc32(data[: CRC.offset]):
        return None
    done = Completion(values["status"], values["field"], values["detail"])
    return Record(values["cookie"], done, values["device_ticks"], values["workers"])
