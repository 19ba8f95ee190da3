"""Outcome: how a job ended, as its result or as the error to raise; the status codes of records, by name.

Codes from 0x100 are the device's own. Those below are the firmware's refusals of a packet; both sides keep this table,
and a test holds the two together. In a refusal `field` is the byte offset of the packet field at fault.
"""

from tessbed.kernels.ev74.fields import FIELDS
from tessbed.runtime.errors import JobCancelled, JobFault, JobLost
from tessbed.runtime.jobs.job import LOST, OK, Job, JobResult
from tessbed.runtime.jobs.states import State
from tessbed.sim.completion_record import STATUS, Record

REFUSALS = {
    1: "size",
    2: "magic",
    3: "version",
    4: "crc",
    5: "range",
    6: "noncanonical",
    7: "geometry",
    8: "alignment",
    9: "overlap",
    10: "unbound",
    11: "capability",
    12: "unmapped",
    13: "read_only",
}
_DEVICE = {code: name for name, code in STATUS.items()}
_FIELD_AT = {field.offset: field.name for field in FIELDS}


def status_name(status: int) -> str:
    """The name of a status; "status 0x..." for one that no table has."""
    return REFUSALS.get(status) or _DEVICE.get(status) or f"status {status:#x}"


def field_name(record: Record) -> str:
    """The packet field that a refusal blames, "" where no field is at fault."""
    return _FIELD_AT.get(record.completion.field, "") if record.completion.status in REFUSALS else ""


def outcome_of(job: Job) -> JobResult:
    """The result of a job that is over and went well. Raises JobFault, JobCancelled, JobLost for any other."""
    if job.outcome == OK:
        return job.result()
    if job.state is State.RETIRED:
        assert job.record is not None
        raise _fault(str(job), job.record)
    if job.state is State.CANCELLED and job.outcome != LOST:
        raise JobCancelled(f"{job}: {job.reason}")
    raise JobLost(f"{job}: {job.reason}")


def _fault(job: str, record: Record) -> JobFault:
    """The error for a job whose record says that it failed."""
    done = record.completion
    return JobFault(job, status_name(done.status), field_name(record), done.detail)
