"""The runtime's errors: the caller's errors at submission, the device's faults, and lifetime violations.

Where users of such chips know an error by the name of an errno, `errno_name` has it.
Storage that does not fit a plan raises `tessbed.kernels.BindingError`, as on every backend.
"""

from typing import Any


class SubmitError(ValueError):
    """A job that can not be submitted as asked; nothing has reached the device. `code` is stable."""

    def __init__(self, code: str, where: str, text: str) -> None:
        super().__init__(f"{where}: {text} [{code}]")
        self.code = code
        self.where = where
        self.text = text


class QueueFull(SubmitError):
    """The bounded queue has no room: wait for one of its jobs, then submit again."""

    errno_name = "EAGAIN"


class GranuleConflict(SubmitError):
    """Two jobs in flight touch one write granule or one CPU line, and no dependency orders them.

    `blocker` is the job in flight: submit with it in `after`.
    """

    def __init__(self, where: str, text: str, blocker: Any) -> None:
        super().__init__("granule_conflict", where, text)
        self.blocker = blocker


class CapabilityError(ValueError):
    """The firmware image lacks what a job or a graph needs. There is no fallback to another backend.

    `needed` and `offered` name both sides; `missing` holds one line for every difference.
    """

    errno_name = "ENOSYS"

    def __init__(self, needed: str, offered: str, missing: tuple[str, ...]) -> None:
        super().__init__(f"{'; '.join(missing)} (needed: {needed}; the firmware image has: {offered})")
        self.needed = needed
        self.offered = offered
        self.missing = missing


class HeapExhausted(MemoryError):
    """No hole of the heap is large enough; the text distinguishes exhaustion from fragmentation."""


class LifetimeError(RuntimeError):
    """A buffer used after it was closed, closed twice, or never closed; the text says where it was made."""


class StateError(RuntimeError):
    """A move that the table of job states does not have; the job stays as it was."""


class JobFault(RuntimeError):
    """The device ended the job with a fault: `status` by name, `field` and `detail` of the completion record."""

    errno_name = "EBADRQC"

    def __init__(self, job: str, status: str, field: str, detail: int) -> None:
        where = f" in packet field {field}" if field else ""
        super().__init__(f"{job}: the device reports {status}{where} (detail {detail:#x})")
        self.job = job
        self.status = status
        self.field = field
        self.detail = detail


class JobLost(RuntimeError):
    """No completion came in time, or a device reset ended the job: its output is not to be trusted."""

    errno_name = "EBADMSG"


class JobCancelled(RuntimeError):
    """The job was cancelled before it started; the device never saw it."""
