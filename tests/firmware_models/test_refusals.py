"""The firmware trusts nothing: what it refuses, it refuses by itself, before a byte moves, and says why in the record.

The packets here are submitted as they are: no check of the runtime comes before the device.
"""

from collections import Counter
from itertools import islice
from random import Random

import pytest

from tessbed.firmware_models.image import Composition, FirmwareImage
from tessbed.kernels.ev74.codec import decode
from tessbed.kernels.ev74.fields import BY_NAME
from tessbed.kernels.ev74.refusals import DEVICE_FROM, REFUSAL_BY_CODE, REFUSALS
from tessbed.runtime.jobs.job import OK, JobResult
from tessbed.runtime.memory.buffers import Buffer
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios import backends
from tessbed.scenarios.oracle.comparison import golden_bytes, verify
from tessbed.scenarios.verification.packet_case import case_of
from tessbed.sim import completion_record
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.kernels.ev74.cases import GOLDEN, corrupted, packet_of
from tests.kernels.ev74.invariant import near_packets

TEMPLATE = packet_of(GOLDEN["cast-2x3-pitched"])
INPUT_BYTES, OUTPUT_BYTES = 16, 28
PAGE = 4096
PREFILL = 0xC3
NOWHERE = 0xFFFF_0000


class Desk:
    """A runtime with the buffers of one job, and a page that the device may only read."""

    def __init__(self, composition: Composition | None = None) -> None:
        image = FirmwareImage(composition) if composition else None
        self.runtime: Runtime = backends.ev74(DeviceSpec(), firmware=image)
        self.locked = self.allocate(PAGE, writable=False)
        self.source = self.allocate(INPUT_BYTES, writable=False)
        self.target = self.allocate(OUTPUT_BYTES)
        self.source.host[:] = golden_bytes(INPUT_BYTES)

    def allocate(self, nbytes: int, writable: bool = True) -> Buffer:
        return self.runtime.allocate(nbytes, prefill=PREFILL, writable=writable)

    def submit(self, raw: bytes) -> JobResult:
        return self.runtime.settle(self.runtime.submit_packet(raw, [self.source], [self.target]))

    def bound(self) -> bytes:
        return TEMPLATE.bind(self.source.address, self.target.address).raw


# what is wrong: (fields changed as (name, base buffer or None, offset), status, field at fault)
REFUSED = {
    "nothing bound": ((("input_address", None, 0), ("output_address", None, 0)), "unbound", "input_address"),
    "input not bound": ((("input_address", None, 0),), "unbound", "input_address"),
    "output not bound": ((("output_address", None, 0),), "unbound", "output_address"),
    "input misaligned": ((("input_address", "source", 8),), "alignment", "input_address"),
    "output misaligned": ((("output_address", "target", 2),), "alignment", "output_address"),
    "input unmapped": ((("input_address", None, NOWHERE),), "unmapped", "input_address"),
    "output unmapped": ((("output_address", None, NOWHERE),), "unmapped", "output_address"),
    "input outside the window": ((("input_address", None, 0x1000),), "unmapped", "input_address"),
    "output outside the window": ((("output_address", None, 2**40),), "unmapped", "output_address"),
    "input ends behind its buffer": ((("input_address", None, 0xFFFF_FFF0),), "unmapped", "input_address"),
    "output ends behind the address space": ((("output_address", None, 2**64 - 16),), "geometry", "output_address"),
    "output read-only": ((("output_address", "locked", 0),), "read_only", "output_address"),
    "output over the input": ((("output_address", "source", 0),), "overlap", "output_address"),
    "output into the input's end": ((("output_address", "source", 12),), "overlap", "output_address"),
    "contradiction": ((("w_tile", None, 3),), "geometry", "w_tile"),
    "idle field in use": ((("h_stride", None, 4),), "noncanonical", "h_stride"),
    "unknown flag": ((("flags", None, 1),), "noncanonical", "flags"),
    "other major version": ((("version_major", None, 2),), "version", "version_major"),
    "newer minor version": ((("version_minor", None, 2),), "version", "version_minor"),
    "an operation that came later": ((("op", None, 8),), "geometry", "version_minor"),
    "unknown operation": ((("op", None, 64),), "range", "op"),
    "no packet": ((("magic", None, 0),), "magic", "magic"),
    "damaged": ((("crc32", None, 0),), "crc", "crc32"),
}


def assert_refused(desk: Desk, raw: bytes, status: str, field: str) -> None:
    result = desk.submit(raw)
    assert result.outcome == status
    assert result.record is not None
    assert result.record.completion.status == REFUSAL_BY_CODE[status].status
    assert result.record.completion.field == BY_NAME[field].offset
    assert result.stats is not None
    assert result.stats.reads.transfers == result.stats.writes.transfers == 0
    assert (desk.target.host == PREFILL).all()


@pytest.mark.parametrize("case", REFUSED)
def test_the_firmware_refuses_by_itself(case: str) -> None:
    """The record has the status and the field at fault, no transfer was made, the output is as it was."""
    changes, status, field = REFUSED[case]
    desk = Desk()
    moved = {name: (getattr(desk, base).address if base else 0) + offset for name, base, offset in changes}
    assert_refused(desk, corrupted(desk.bound(), **moved), status, field)
    assert desk.submit(desk.bound()).outcome == OK


@pytest.mark.parametrize("length", [1, 8, 215, 217, PAGE])
def test_packets_of_another_length_are_refused(length: int) -> None:
    """Too few bytes or too many are refused as such, where magic and version are those of a packet."""
    desk = Desk()
    assert_refused(desk, (desk.bound() + bytes(PAGE))[:length], "size", "packet_bytes")


@pytest.mark.parametrize("port", ["input", "output"])
def test_a_buffer_that_is_too_small_is_refused(port: str) -> None:
    """A span that begins in the last mapped page and ends behind it is refused; the very end of the page will do."""
    desk = Desk()
    assert desk.submit(desk.bound()).outcome == OK
    edge = desk.allocate(PAGE)
    assert edge.address > max(desk.source.address, desk.target.address)
    desk.target.host[:] = PREFILL
    size = {"input": INPUT_BYTES, "output": OUTPUT_BYTES}[port]
    fits, over = edge.address + PAGE - size, edge.address + PAGE - size + 16
    assert_refused(desk, corrupted(desk.bound(), **{f"{port}_address": over}), "unmapped", f"{port}_address")
    assert desk.submit(corrupted(desk.bound(), **{f"{port}_address": fits})).outcome == OK


@pytest.mark.parametrize(
    ("composition", "field"),
    [
        (Composition(ops=("tess", "detess")), "op"),
        (Composition(dtypes=("int8",)), "tiled_dtype"),
        (Composition(packet_versions=((1, 1), (2, 0))), "version_major"),
    ],
    ids=["op", "dtype", "version"],
)
def test_an_image_that_lacks_something_says_so(composition: Composition, field: str) -> None:
    """A packet for an operation, dtype or version that the image was built without is a capability fault there."""
    desk = Desk(composition)
    assert_refused(desk, desk.bound(), "capability", field)


def test_no_status_means_two_things() -> None:
    """The firmware's refusals and the device's own statuses share no number, and 0 is neither's fault."""
    assert [refusal.status for refusal in REFUSALS] == list(range(1, len(REFUSALS) + 1))
    assert sorted(completion_record.STATUS.values())[0] == 0
    assert all(status >= DEVICE_FROM for name, status in completion_record.STATUS.items() if name != "ok")


@pytest.mark.parametrize(
    ("seed", "count"), [(11, 600), *(pytest.param(seed, 5000, marks=pytest.mark.long) for seed in (12, 13))]
)
def test_any_bytes_end_in_a_record(seed: int, count: int) -> None:
    """Near packets on a device run, and then write what the oracle reads in them, or end in a firmware status."""
    desk = Desk()
    seen = Counter[str]()
    for raw in islice(near_packets([desk.bound()], Random(seed)), count):
        desk.target.host[:] = PREFILL
        result = desk.submit(raw or b"\0")
        seen[result.outcome] += 1
        assert result.outcome == OK or result.outcome in REFUSAL_BY_CODE
        if result.outcome == OK and stays(raw, desk.bound()):
            assert verify(case_of(decode(raw)), desk.source.host, desk.target.host, PREFILL) is None
    assert {OK, "crc", "geometry", "noncanonical", "unmapped", "range"} <= seen.keys()


def stays(raw: bytes, bound: bytes) -> bool:
    """Whether the addresses are those of the buffers."""
    addresses = slice(BY_NAME["input_address"].offset, BY_NAME["output_address"].end)
    return raw[addresses] == bound[addresses]
