"""Argument checks for queues and jobs: of the right type, known, and of this runtime."""

from collections.abc import Iterable, Mapping

from tessbed.runtime.errors import SubmitError
from tessbed.runtime.identity import Identity
from tessbed.runtime.jobs.job import Job
from tessbed.runtime.memory.storage_entry import kind_of
from tessbed.runtime.scheduling.queues import Queue


def queue(identity: Identity, given: object) -> Queue:
    """A queue of this runtime. Raises SubmitError."""
    if not isinstance(given, Queue):
        raise SubmitError("type", "queue", f"got {kind_of(given)}, wanted a Queue of {identity}")
    if given.owner is not identity:
        text = f"queue {given.name!r} {identity.refusal(given.owner)}; make it with Runtime.queue"
        raise SubmitError("foreign", "queue", text)
    return given


def job(identity: Identity, where: str, given: object, live: Mapping[int, Job]) -> Job:
    """A job that was submitted on this runtime; `live` are those that are not final. Raises SubmitError."""
    if not isinstance(given, Job):
        raise SubmitError("type", where, f"got {kind_of(given)}, wanted a Job of {identity}")
    owner = getattr(given.queue, "owner", None)
    if owner is not identity:
        raise SubmitError("foreign", where, f"{given} {identity.refusal(owner)}; wait for it there")
    if not given.final and live.get(given.cookie) is not given:
        raise SubmitError("not_submitted", where, f"{given} was never submitted; use what `submit` returns")
    return given


def jobs(identity: Identity, where: str, given: object, live: Mapping[int, Job]) -> tuple[Job, ...]:
    """Several of them. Raises SubmitError."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise SubmitError("type", where, f"got {kind_of(given)}, wanted a list or tuple of jobs")
    return tuple(job(identity, f"{where}[{i}]", one, live) for i, one in enumerate(given))
