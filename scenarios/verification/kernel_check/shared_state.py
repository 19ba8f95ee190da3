"""Shared state: whether what a worker plans depends on what other workers have planned before.

A kernel at level "bands" plans by its worker, grid, ports and arguments alone, so that a launch can be planned once.
Its generators are run one worker after the other, and again in turns, from the last worker to the first: a kernel whose
workers share a variable makes other bands then.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.firmware_models.custom.band_worker import KernelBand
from tessbed.firmware_models.custom.launches import KernelLaunch, launch_of
from tessbed.kernels.custom.codec import decode_call
from tessbed.scenarios.verification.kernel_check.bench import CheckCase, KernelBench
from tessbed.sim.source_line import SourceLine, line_of


@attrs.frozen
class SharedState:
    """A band that differs: whose it is, its number, where it is yielded, and what differs."""

    case: CheckCase
    worker: int
    band: int
    line: SourceLine | None
    what: str

    def lines(self) -> list[str]:
        """Words for people."""
        text = f"band {self.band} of worker {self.worker} depends on what other workers planned before: {self.what}"
        return [f"shared_state: {text}"]


def find_shared_state(bench: KernelBench) -> SharedState | None:
    """The first band that differs. Raises what the kernel raises."""
    case = bench.case
    call = decode_call(bench.raw)
    launch = launch_of(case.plan.kernel, call, case.spec, case.workers)
    one = [list(_bands(launch, worker)) for worker in range(case.workers)]
    other = _in_turns(launch, case.workers)
    for worker, (some, others) in enumerate(zip(one, other, strict=True)):
        for number, ((line, band), (_, again)) in enumerate(zip(some, others, strict=False)):
            if what := _difference(band, again):
                return SharedState(case, worker, number, line, what)
        if len(some) != len(others):
            line = (some or others)[-1][0]
            return SharedState(
                case, worker, min(len(some), len(others)), line, f"{len(some)} bands, then {len(others)}"
            )
    return None


def _bands(launch: KernelLaunch, worker: int) -> Iterator[tuple[SourceLine | None, Any]]:
    """The bands of one worker with their lines."""
    _, generator = launch.generator(worker)
    for band in generator:
        yield line_of(generator), band


def _in_turns(launch: KernelLaunch, workers: int) -> list[list[tuple[SourceLine | None, Any]]]:
    """The bands of all workers, a band of each in turn, the last worker first."""
    made: list[list[tuple[SourceLine | None, Any]]] = [[] for _ in range(workers)]
    running = {worker: _bands(launch, worker) for worker in reversed(range(workers))}
    while running:
        for worker in list(running):
            entry = next(running[worker], None)
            if entry is None:
                del running[worker]
            else:
                made[worker].append(entry)
    return made


def _difference(some: Any, other: Any) -> str:
    """What differs between two bands, "" where nothing does."""
    if not isinstance(some, KernelBand) or not isinstance(other, KernelBand):
        return "" if type(some) is type(other) else "what it yields"
    if some.reads != other.reads:
        return "what it gathers"
    if some.chain != other.chain:
        return "what it drains"
    if some.ticks != other.ticks:
        return f"{some.ticks:,} ticks, then {other.ticks:,}"
    return ""
