"""Exploration of a scenario's job that runs a kernel of one's own: its orders, as those of an operation are explored.

Bytes are compared with the kernel's reference; without one with those of the plainest order, since a kernel that is
right does not depend on the order.
"""

from collections.abc import Callable, Sequence

import attrs
import numpy as np

from tessbed.scenarios.custom.buffers import fill_port, streams
from tessbed.scenarios.custom.kernel_run import array_of
from tessbed.scenarios.format.option_values import FEW_TRANSFERS
from tessbed.scenarios.model import KernelJob
from tessbed.scenarios.verification.explore import schedules
from tessbed.scenarios.verification.explore.exploration import MOST_ORDERS, Exploration, Failure
from tessbed.scenarios.verification.kernel_check.bench import CaseRun, CheckCase, KernelBench, bench_of
from tessbed.sim.finding import Finding
from tessbed.sim.interleavings.actions import Name
from tessbed.sim.interleavings.dpor import Search
from tessbed.sim.interleavings.untimed_engine import Choose, ExecutedAction
from tessbed.sim.spec.device_spec import DeviceSpec


def explore_kernel(
    job: KernelJob, spec: DeviceSpec, orders: int, seed: int, on_order: Callable[[], None] = lambda: None
) -> Exploration:
    """Explore a prepared job: all orders where there are few transfers, else seeded ones.

    Raises ContractError for a reference that fails, OSError for an input file that has changed.
    """
    bench = bench_of(CheckCase("as asked", job.planned, spec, _grid(job, spec), 0), _inputs(job, seed))
    plain, engine = bench.plain_order()
    tried = TriedOrders(bench, plain, on_order)
    if plain.fine and engine.transfers <= FEW_TRANSFERS:
        search = Search(tried.recorded, MOST_ORDERS)
        for _ in search.orders():
            pass
        mode = "exhaustive" if search.complete else "bounded"
    else:
        mode = "seeded"
        for number in range(orders):
            tried.order(schedules.seeded(seed, number))
    findings = tuple(_words(finding) for finding in plain.report.findings)
    return Exploration(
        None, mode, engine.transfers, engine.actions, tried.orders, tried.corrupted, findings, tried.failure
    )


def _grid(job: KernelJob, spec: DeviceSpec) -> int:
    return min(job.workers or spec.workers, spec.workers)


def _inputs(job: KernelJob, seed: int) -> dict[str, np.ndarray]:
    """What the job's inputs hold."""
    found = {}
    for port, stream in zip(job.planned.ports, streams(job.index), strict=False):
        if not port.written:
            raw = np.empty(port.required_bytes, np.uint8)
            fill_port(raw, port, job.buffer(port.name), seed, stream)
            found[port.name] = array_of(port, raw)
    return found


@attrs.define(eq=False)
class TriedOrders:
    """The orders of a job so far; `plain` is the run of the plainest."""

    bench: KernelBench
    plain: CaseRun
    on_order: Callable[[], None]
    orders: int = 0
    corrupted: int = 0
    failure: Failure | None = None

    def order(self, choose: Choose) -> None:
        """Run one more order."""
        names: list[Name] = []

        def noting(ready: Sequence[schedules.Thread]) -> int:
            index = choose(ready)
            names.append(ready[index].name)
            return index

        self._note(self.bench.run_order(noting)[0], names)

    def recorded(self, choose: Choose) -> Sequence[ExecutedAction]:
        """Run one more order, and say what happened in it."""
        ran, engine = self.bench.run_order(choose, recording=True)
        self._note(ran, [action.name for action in engine.executed])
        return engine.executed

    def _note(self, ran: CaseRun, names: Sequence[Name]) -> None:
        self.orders += 1
        what = self._wrong(ran)
        self.corrupted += what is not None
        if what is not None and self.failure is None:
            self.failure = Failure(tuple(names), "byte" if ran.wrong else "trouble", what)
        self.on_order()

    def _wrong(self, ran: CaseRun) -> str | None:
        """What is wrong with the outcome of an order."""
        if ran.report.errors:
            error = ran.report.errors[0]
            return f"{error.kind} at {error.line}: {error.text}"
        if ran.wrong is not None:
            return str(ran.wrong)
        pairs = zip(self.plain.outputs, ran.outputs, strict=True)
        if any(not np.array_equal(first, other) for first, other in pairs):
            return "the outputs are not those of the plainest order"
        return ran.hang or ran.refusal


def _words(finding: Finding) -> str:
    """A finding in one line, with the lines of both accesses."""
    places = [str(access.line) for access in finding.accesses if access.line]
    said = finding.hazard.missing or finding.hazard.text
    return f"{finding.kind}: {said}" + (f" ({', '.join(places)})" if places else "")
