"""Who owns a buffer until when: mapping, binding, submission, retirement."""

from typing import TYPE_CHECKING

from tessbed.lazy_exports import lazy_exports

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
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "errors": [
            "CapabilityError",
            "GranuleConflict",
            "HeapExhausted",
            "JobCancelled",
            "JobFault",
            "JobLost",
            "LifetimeError",
            "QueueFull",
            "StateError",
            "SubmitError",
        ],
        "jobs.job": ["Job", "JobResult"],
        "jobs.prepared": ["PreparedJob", "prepare"],
        "jobs.states": ["State", "Transition"],
        "memory.buffers": ["Buffer", "View"],
        "runtime": ["Runtime"],
    },
)
