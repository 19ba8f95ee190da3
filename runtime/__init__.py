"""Who owns a buffer until when: mapping, binding, submission, retirement."""

from tessbed.runtime.buffers import Buffer, View
from tessbed.runtime.errors import (
    CapabilityError,
    GranuleConflict,
    HeapExhausted,
    JobCancelled,
    JobFault,
    JobLost,
    LifetimeError,
    QueueFull,
    StateError,
    SubmitError,
)
from tessbed.runtime.jobs import Job, JobResult
from tessbed.runtime.prepared import Prepared, prepare
from tessbed.runtime.runtime import Runtime
from tessbed.runtime.states import Move, State

__all__ = [
    "Buffer",
    "CapabilityError",
    "GranuleConflict",
    "HeapExhausted",
    "Job",
    "JobCancelled",
    "JobFault",
    "JobLost",
    "JobResult",
    "LifetimeError",
    "Move",
    "Prepared",
    "QueueFull",
    "Runtime",
    "State",
    "StateError",
    "SubmitError",
    "View",
    "prepare",
]
