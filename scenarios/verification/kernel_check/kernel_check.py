"""Kernel check: "is my kernel right?", asked at every size, device, grid, address and order, and what it then costs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.custom.launch_view import LaunchView
from tessbed.firmware_models.custom.region import ports_of
from tessbed.kernels.custom.codec import decode_call
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.kernel_plan import KernelPlan, plan_kernel
from tessbed.scenarios.verification.kernel_check.bench import CaseRun, CheckCase, KernelBench
from tessbed.scenarios.verification.kernel_check.cases import SizedCase, check_cases
from tessbed.scenarios.verification.kernel_check.needless_waits import WaitVerdict, judge_waits
from tessbed.scenarios.verification.kernel_check.orders import ExploredOrders, explore_orders
from tessbed.scenarios.verification.kernel_check.shared_state import SharedState, find_shared_state
from tessbed.scenarios.verification.kernel_check.sizes import check_sizes, size_of
from tessbed.scenarios.verification.kernel_check.static_limits import StaticLimits
from tessbed.sim.finding import Finding, Where
from tessbed.sim.kernel_report import KernelError
from tessbed.sim.spec.device_spec import DeviceSpec

WAIT_CASES = 24
"""Waits are dropped in so many cases."""


@attrs.frozen(eq=False)
class KernelTrouble:
    """One thing that is wrong, in the first case that showed it; `cases` is in how many. `kind` is its exit's."""

    kind: str
    case: CheckCase
    what: Any
    where: Where
    cases: int = 1


@attrs.define(eq=False)
class KernelTroubles:
    """What is wrong, each thing once, by its kind and lines; every case counts."""

    found: dict[Any, KernelTrouble] = attrs.field(factory=dict, init=False)

    def add(self, case: CheckCase, ran: CaseRun, where: Where) -> None:
        """Take what one run showed into account."""
        for key, (kind, what) in _wrongs(ran).items():
            earlier = self.found.get(key)
            cases = earlier.cases + 1 if earlier else 1
            if earlier is None or (kind == "wrong" and earlier.what.line is None and what.line is not None):
                self.found[key] = KernelTrouble(kind, case, what, where, cases)
            else:
                self.found[key] = attrs.evolve(earlier, cases=cases)

    def add_shared(self, shared: SharedState, where: Where) -> None:
        """Bands that depend on other workers."""
        self.found.setdefault("shared_state", KernelTrouble("hazard", shared.case, shared, where))

    def add_unrepeated(self, case: CheckCase, text: str, where: Where) -> None:
        """A case that did something else when it ran again."""
        self.found.setdefault("not_repeatable", KernelTrouble("wrong", case, text, where))


@attrs.frozen(eq=False)
class KernelCheck:
    """The whole check. `asked` is the run that was asked for, on the device's own grid, None where it did not end.

    `cases` has each case and whether it was fine, `repeats` says whether it did the same again. That and `orders`,
    `waits` and `shared` are None where something was wrong before them.
    """

    kernel: Kernel
    plan: KernelPlan
    spec: DeviceSpec
    judged: bool
    asked: CaseRun
    cases: tuple[tuple[CheckCase, bool], ...]
    limits: StaticLimits
    repeats: bool | None
    orders: ExploredOrders | None
    waits: WaitVerdict | None
    shared: bool | None
    troubles: tuple[KernelTrouble, ...]

    @property
    def verdict(self) -> str:
        """The first that holds of "impossible", "hazard", "fault", "wrong" and "ok"."""
        kinds = [trouble.kind for trouble in self.troubles]
        return next((kind for kind in ("impossible", "hazard", "fault", "wrong") if kind in kinds), "ok")

    @property
    def ok(self) -> bool:
        """Nothing is wrong; without a reference, nothing that shows without one."""
        return self.verdict == "ok"


def check_kernel(
    kernel: Kernel, arguments: Mapping[str, Any] | None = None, spec: DeviceSpec | None = None, seed: int = 0
) -> KernelCheck:
    """Check a kernel. Raises ContractError for arguments that can not be, and for a reference that fails."""
    device, given = spec or DeviceSpec(), dict(arguments or {})
    size = size_of("as asked", plan_kernel(kernel, given))
    case = CheckCase(size.name, size.plan, device, device.workers, 0)
    troubles, limits = KernelTroubles(), StaticLimits(device)
    bench = KernelBench(case, size.inputs, size.expected)
    asked = _run(bench, troubles, limits)
    repeats = _repeats(bench, asked, troubles)
    judged = size.expected is not None
    if _hopeless(asked):
        found = tuple(troubles.found.values())
        return KernelCheck(
            kernel, size.plan, device, judged, asked, ((case, asked.fine),), limits, repeats, None, None, None, found
        )
    sizes = check_sizes(kernel, given, _band_bytes(bench, asked), device.slots)
    transfers = len(asked.check.writes) + len(asked.check.gathers)
    cases = list(check_cases(sizes, device, kernel.level, transfers / max(1, size.nbytes)))
    done = [(case, asked.fine), *_run_all(cases, troubles, limits)]
    orders = waits = shared = None
    if not troubles.found:
        shared = _shared_state(cases, troubles) if kernel.level == "bands" else None
        orders = explore_orders(cases, seed)
        for troubled, ran in orders.troubled:
            troubles.add(troubled, ran, bench.where)
    if not troubles.found and kernel.level == "body":
        waits = judge_waits(_wait_cases(cases), SizedCase(case, size))
    found = tuple(troubles.found.values())
    return KernelCheck(
        kernel, size.plan, device, judged, asked, tuple(done), limits, repeats, orders, waits, shared, found
    )


def _run(bench: KernelBench, troubles: KernelTroubles, limits: StaticLimits) -> CaseRun:
    ran = bench.run()
    troubles.add(bench.case, ran, bench.where)
    limits.see(ran.check)
    return ran


def _repeats(bench: KernelBench, asked: CaseRun, troubles: KernelTroubles) -> bool | None:
    """Whether the case that was asked for does the same again: the same ticks, the same bytes; None if it failed."""
    if not asked.fine:
        return None
    again = bench.run()
    same = all(np.array_equal(some, others) for some, others in zip(asked.outputs, again.outputs, strict=True))
    if same and asked.ticks == again.ticks:
        return True
    ticks = f"{asked.ticks or 0:,} device ticks, then {again.ticks or 0:,}"
    text = f"{ticks}; {'the same bytes' if same else 'other bytes'}: something is left over from the run before"
    troubles.add_unrepeated(bench.case, text, bench.where)
    return False


def _run_all(
    cases: Sequence[SizedCase], troubles: KernelTroubles, limits: StaticLimits
) -> Iterator[tuple[CheckCase, bool]]:
    """Run every case; after one without an end, no more."""
    for sized in cases:
        ran = _run(KernelBench(sized.case, sized.size.inputs, sized.size.expected), troubles, limits)
        yield sized.case, ran.fine
        if _hopeless(ran):
            return


def _hopeless(ran: CaseRun) -> bool:
    """Whether further cases would take as long to find the same."""
    return bool(ran.hang or ran.refusal or any(error.kind == "endless_loop" for error in ran.report.errors))


def _shared_state(cases: Sequence[SizedCase], troubles: KernelTroubles) -> bool:
    """Whether the bands of some worker depend on others."""
    several = [sized for sized in cases if sized.case.workers in (3, 4)]
    for sized in several[:: max(1, len(several) // 6)]:
        bench = KernelBench(sized.case, sized.size.inputs, sized.size.expected)
        if shared := find_shared_state(bench):
            troubles.add_shared(shared, bench.where)
            return True
    return False


def _wait_cases(cases: Sequence[SizedCase]) -> list[SizedCase]:
    """Cases spread over all of them: odd phases, several grids, more bands than slots."""
    return list(cases[:: max(1, len(cases) // WAIT_CASES)])


def _band_bytes(bench: KernelBench, asked: CaseRun) -> int:
    """What the largest drain moves; as much as a band can hold where no worker had two drains that would show it."""
    case, writes = bench.case, asked.check.writes
    drained = max((sum(d.rows * d.row_bytes for d in write.chain) for write in writes), default=0)
    if max(Counter(write.worker for write in writes).values(), default=0) > 1:
        return drained
    call = decode_call(bench.raw)
    view = LaunchView.of(case.plan.kernel, call, case.spec, case.workers)
    ports = ports_of(call, [port.name for port in case.plan.ports], [port.address for port in call.ports])
    return max(drained, *(view.most(port) * port.dtype.itemsize for port in ports if port.written))


def _wrongs(ran: CaseRun) -> dict[Any, tuple[str, Any]]:
    """Everything wrong with a run, once: by a key the kind and the value."""
    found: dict[Any, tuple[str, Any]] = {}
    for finding in ran.report.findings:
        found.setdefault(_finding_key(finding), ("hazard", finding))
    for error in ran.report.errors:
        found.setdefault(_error_key(error), ("fault", error))
    if ran.hang:
        found["hang"] = "fault", ran.hang
    if ran.refusal:
        found["refusal"] = "impossible", ran.refusal
    if ran.wrong:
        found["wrong", ran.wrong.port] = "wrong", ran.wrong
    return found


def _finding_key(finding: Finding) -> tuple[Any, ...]:
    lines = [access.line for access in finding.accesses]
    return (finding.kind, *lines) if any(lines) else (finding.kind, finding.hazard.missing)


def _error_key(error: KernelError) -> tuple[Any, ...]:
    return error.kind, error.line, error.text.partition(":")[0]
