"""Control blocks: a page that is used again never shows one job the record of another."""

import pytest

from tessbed.runtime import LifetimeError, Runtime, SubmitError
from tessbed.runtime.jobs.control_block import BLANK, ControlBlock
from tessbed.runtime.memory.heap import PAGE_BYTES
from tessbed.sim.completion_record import RECORD_BYTES, Completion, Record, encode_record
from tests.runtime.bench import make_device


@pytest.fixture
def block() -> ControlBlock:
    """A block whose page holds the record of job 7."""
    block = Runtime(make_device()).submitter.control.take()
    block.load(b"first")
    write(block, encode_record(Record(7, Completion(0), 100, 1)))
    return block


def write(block: ControlBlock, raw: bytes) -> None:
    """What a device does at the end of a job."""
    block.record.host[:RECORD_BYTES] = list(raw)


def test_a_record_is_read_by_its_own_job_alone(block: ControlBlock) -> None:
    """Job 7 finds its record; any other cookie finds none, whatever the page holds."""
    record = block.read_record(7)
    assert record is not None
    assert (record.cookie, record.device_ticks) == (7, 100)
    assert block.read_record(6) is block.read_record(8) is block.read_record(0) is None


def test_a_damaged_record_is_none(block: ControlBlock) -> None:
    """One bit that turned on the way makes it no record, for its own job too."""
    raw = bytearray(encode_record(Record(7, Completion(0), 100, 1)))
    raw[40] ^= 1
    write(block, bytes(raw))
    assert block.read_record(7) is None


def test_a_block_that_is_loaded_again_holds_no_record(block: ControlBlock) -> None:
    """The old record is overwritten before the next submission, so that its own cookie finds none any more."""
    block.load(b"second")
    assert bytes(block.packet.host[:6]) == b"second"
    assert bytes(block.record.host[:RECORD_BYTES]) == bytes([BLANK]) * RECORD_BYTES
    assert block.read_record(7) is None


@pytest.mark.parametrize("size", [0, PAGE_BYTES + 1])
def test_a_packet_beyond_its_page_is_refused(block: ControlBlock, size: int) -> None:
    """An empty packet and one of more than a page raise SubmitError, and the record that is there stays."""
    with pytest.raises(SubmitError, match=f"got {size} bytes, wanted 1 to {PAGE_BYTES}"):
        block.load(bytes(size))
    assert block.read_record(7) is not None


def test_a_block_has_one_holder(block: ControlBlock) -> None:
    """A block is not given to a second job, nor taken back from one that does not have it."""
    block.hold("job 7")
    with pytest.raises(LifetimeError, match="a control block of job 7 is given to job 8"):
        block.hold("job 8")
    with pytest.raises(LifetimeError, match="job 8 drops a control block of job 7"):
        block.drop("job 8")
    block.drop("job 7")
    assert block.pool.take() is block
