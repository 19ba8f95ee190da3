"""Who owns a buffer until when: mapping, binding, submission, retirement."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from tessbed.runtime.jobs.job import Job, JobResult
    from tessbed.runtime.jobs.prepared import PreparedJob, prepare
    from tessbed.runtime.jobs.states import State, Transition
    from tessbed.runtime.memory.buffers import Buffer, View
    from tessbed.runtime.runtime import Runtime

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
    "PreparedJob",
    "QueueFull",
    "Runtime",
    "State",
    "StateError",
    "SubmitError",
    "Transition",
    "View",
    "prepare",
]
_HOMES = {
    "Buffer": "tessbed.runtime.memory.buffers",
    "CapabilityError": "tessbed.runtime.errors",
    "GranuleConflict": "tessbed.runtime.errors",
    "HeapExhausted": "tessbed.runtime.errors",
    "Job": "tessbed.runtime.jobs.job",
    "JobCancelled": "tessbed.runtime.errors",
    "JobFault": "tessbed.runtime.errors",
    "JobLost": "tessbed.runtime.errors",
    "JobResult": "tessbed.runtime.jobs.job",
    "LifetimeError": "tessbed.runtime.errors",
    "PreparedJob": "tessbed.runtime.jobs.prepared",
    "QueueFull": "tessbed.runtime.errors",
    "Runtime": "tessbed.runtime.runtime",
    "State": "tessbed.runtime.jobs.states",
    "StateError": "tessbed.runtime.errors",
    "SubmitError": "tessbed.runtime.errors",
    "Transition": "tessbed.runtime.jobs.states",
    "View": "tessbed.runtime.memory.buffers",
    "prepare": "tessbed.runtime.jobs.prepared",
}


def __getattr__(name: str) -> object:
    """The names of the package on first use: importing one of its modules loads nothing else."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
