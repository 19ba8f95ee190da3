"""Planning without a device: the bands of a worker for whoever moves no byte, with a kernel's mistakes as one error."""

from collections.abc import Iterator
from typing import Any

from tessbed.firmware_models.custom.band_worker import KernelBand
from tessbed.firmware_models.custom.launches import EndlessKernel, ForeignYield, KernelLaunch
from tessbed.sim.errors import HazardError
from tessbed.sim.source_line import SourceLine, line_of, lines_of, snippet
from tessbed.sim.user_code import loop_watch
from tessbed.sim.user_code.errors import EndlessLoop, KernelMisuse
from tessbed.sim.user_code.user_code import UserCode


class KernelFailure(Exception):
    """A kernel that can not be planned. `status` is that of a completion record: kernel_error, or kernel_hazard."""

    def __init__(self, status: str, kind: str, worker: int, line: SourceLine | None, text: str) -> None:
        super().__init__(status, kind, worker, line, text)
        self.status = status
        self.kind = kind
        self.worker = worker
        self.line = line
        self.text = text

    def __str__(self) -> str:
        said = f"{self.kind}: worker {self.worker}: {self.text}"
        return f"{said}\n  {self.line}: {snippet(self.line)}" if self.line else said


def planned_bands(launch: KernelLaunch, worker: int) -> Iterator[KernelBand]:
    """The bands of a worker. Raises KernelFailure for whatever the kernel does wrong."""
    turn = loop_watch.Turn(UserCode().loop_seconds)

    def advance(generator: Iterator[Any]) -> Any:
        with turn:
            return next(generator, None)

    loop_watch.watch(turn)
    try:
        yield from launch.planned(worker, advance)
    except (KeyboardInterrupt, MemoryError, GeneratorExit):
        raise
    except BaseException as error:
        raise _failure(error, worker) from error
    finally:
        loop_watch.forget(turn)


def _failure(error: BaseException, worker: int) -> KernelFailure:
    trace = lines_of(error.__traceback__)
    line = trace[-1] if trace else None
    if isinstance(error, ForeignYield | EndlessKernel):
        kind = "foreign_event" if isinstance(error, ForeignYield) else "endless_loop"
        return KernelFailure("kernel_error", kind, worker, line_of(error.generator), str(error))
    if isinstance(error, KernelMisuse | HazardError):
        return KernelFailure("kernel_hazard", "misuse", worker, line, str(error))
    if isinstance(error, EndlessLoop):
        text = f"it has not come back for {UserCode().loop_seconds:g} s"
        return KernelFailure("kernel_error", "endless_loop", worker, line, text)
    return KernelFailure("kernel_error", "exception", worker, line, f"{type(error).__name__}: {error}")
