"""Outcome: how a job ended, as its result or as the error to raise; the statuses of records, by name.

Statuses from 0x100 on are the device's own. Those below are the firmware's refusals of a packet: there `field` is the
byte offset of the packet field at fault.
"""

from tessbed.kernels.custom.codec import is_custom
from tessbed.kernels.custom.fields import FIELDS as CUSTOM_FIELDS
from tessbed.kernels.ev74.fields import FIELDS
from tessbed.kernels.ev74.refusals import REFUSAL_BY_STATUS
from tessbed.runtime.errors import JobCancelled, JobFault, JobLost
from tessbed.runtime.jobs.job import LOST, OK, Job, JobResult
from tessbed.runtime.jobs.states import State
from tessbed.sim.completion_record import STATUS, Record

_NAMES = {status: row.code for status, row in REFUSAL_BY_STATUS.items()} | {code: name for name, code in STATUS.items()}
_FIELD_AT = {field.offset: field.name for field in FIELDS}
_CUSTOM_FIELD_AT = {field.offset: field.name for field in CUSTOM_FIELDS}


def status_name(status: int) -> str:
    """The name of a status; "status 0x..." for one that no table has."""
    return _NAMES.get(status) or f"status {status:#x}"


def field_name(record: Record, packet: bytes = b"") -> str:
    """The field of a packet that a refusal reports, "" where no field is at fault."""
    names = _CUSTOM_FIELD_AT if is_custom(packet) else _FIELD_AT
    return names.get(record.completion.field, "") if record.completion.status in REFUSAL_BY_STATUS else ""


def outcome_of(job: Job) -> JobResult:
    """The result of a job that is over and went well. Raises JobFault, JobCancelled, JobLost for any other."""
    if job.outcome == OK:
        return job.result()
    if job.state is State.RETIRED:
        assert job.record is not None
        raise _fault(str(job), job.record, job.raw)
    if job.state is State.CANCELLED and job.outcome != LOST:
        raise JobCancelled(f"{job}: {job.reason}")
    raise JobLost(f"{job}: {job.reason}")


def _fault(job: str, record: Record, packet: bytes) -> JobFault:
    """The error for a job whose record says that it failed."""
    done = record.completion
    return JobFault(job, status_name(done.status), field_name(record, packet), done.detail)
