"""The completion record: 64 little-endian bytes that the device writes before it raises the interrupt.

FIELDS is the format; STATUS names what `status` can say. Codes 1 to 0xFF belong to the firmware (what is wrong
with the packet, in its own table), codes from 0x100 to the device.
"""

import struct
import zlib

import attrs

from tessbed.sim.errors import DeviceFault, HazardError

MAGIC = 0x43424554  # "TEBC" in memory
VERSION = 1
RECORD_BYTES = 64

FIELDS = (  # name, struct code, meaning
    ("magic", "I", "TEBC"),
    ("version", "H", "of this format"),
    ("size", "H", "64"),
    ("cookie", "Q", "what the submission carried"),
    ("status", "I", "0 or a fault"),
    ("field", "I", "which packet field is at fault, for the firmware's own codes"),
    ("detail", "Q", "fault address or value"),
    ("device_ticks", "Q", "launch to last completion"),
    ("workers", "I", "logical workers launched"),
    ("reserved", "16s", "zero"),
    ("crc32", "I", "of the 60 bytes before it"),
)
LAYOUT = struct.Struct("<" + "".join(code for _, code, _ in FIELDS))

STATUS = {
    "ok": 0,
    "dma_error": 0x101,  # the bus answered with an error; detail is the first address
    "outside_window": 0x102,  # detail is the address, here and below
    "unmapped": 0x103,
    "read_only": 0x104,
    "straddles": 0x105,
    "packet_fetch": 0x106,  # the packet itself is not readable
    "worker_died": 0x107,  # detail is the worker
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
    """The 64 bytes of a record."""
    done = record.completion
    head = LAYOUT.pack(
        MAGIC, VERSION, RECORD_BYTES, record.cookie, done.status, done.field, done.detail,
        record.device_ticks, record.workers, bytes(16), 0,
    )[:-4]  # fmt: skip
    return head + struct.pack("<I", zlib.crc32(head))


def decode_record(data: bytes) -> Record | None:
    """The record in 64 bytes, or None when they are not one."""
    if len(data) != RECORD_BYTES:
        return None
    values = dict(zip((name for name, _, _ in FIELDS), LAYOUT.unpack(data), strict=True))
    known = (values["magic"], values["version"], values["size"]) == (MAGIC, VERSION, RECORD_BYTES)
    if not known or values["crc32"] != zlib.crc32(data[:-4]):
        return None
    done = Completion(values["status"], values["field"], values["detail"])
    return Record(values["cookie"], done, values["device_ticks"], values["workers"])
