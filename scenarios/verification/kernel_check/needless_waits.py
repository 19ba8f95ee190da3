"""Needless waits: the waits of a body that nothing needs, with the ticks that each costs.

A wait is dropped by not doing it, in cases of every size, phase and grid. If no case objects, neither the checker nor
the bytes nor an order, it is needless. To drop each by itself would lie: of two waits for the same drains either can
go, but not both. So they are dropped one after the other, the dearest first, and stay dropped where nothing objects.

A wait is only tried once it has something to wait for: one that follows another has nothing, until that is dropped. A
wait that never had anything to wait for, in the end, is not judged: it is reported as not exercised.
"""

from collections.abc import Sequence

import attrs
import numpy as np

from tessbed.scenarios.verification.explore import schedules
from tessbed.scenarios.verification.kernel_check.bench import LOOP_SECONDS, MOST_STEPS, KernelBench
from tessbed.scenarios.verification.kernel_check.cases import SizedCase
from tessbed.sim.source_line import SourceLine
from tessbed.sim.user_code.user_code import UserCode, WaitWatch

ORDERS = 2


@attrs.frozen
class NeedlessWait:
    """A wait that nothing needs. `ticks` is what it costs in the case that was asked for, others being dropped."""

    line: SourceLine
    name: str
    ticks: int


@attrs.frozen
class WaitVerdict:
    """The waits of a kernel by their lines: those that something needs, those that nothing does, those never tried."""

    needed: tuple[SourceLine, ...]
    needless: tuple[NeedlessWait, ...]
    unexercised: tuple[tuple[SourceLine, str], ...]


@attrs.define(eq=False)
class WaitTrial:
    """The cases in which waits are dropped, and what they give with all waits."""

    benches: list[KernelBench]
    asked: KernelBench
    outputs: list[tuple[np.ndarray, ...]]

    def objects(self, skipped: frozenset[SourceLine]) -> bool:
        """Whether any case objects to these waits not being done."""
        return any(
            self._objects(bench, wanted, skipped) for bench, wanted in zip(self.benches, self.outputs, strict=True)
        )

    def watch(self, skipped: frozenset[SourceLine]) -> WaitWatch:
        """Which waits have something to wait for while these are not done."""
        code = self._code(skipped)
        for bench in (self.asked, *self.benches):
            bench.run(code)
        assert code.waits is not None
        return code.waits

    def ticks(self, skipped: frozenset[SourceLine]) -> int:
        """Device ticks of the case that was asked for."""
        return self.asked.run(self._code(skipped)).ticks or 0

    def _objects(self, bench: KernelBench, wanted: Sequence[np.ndarray], skipped: frozenset[SourceLine]) -> bool:
        ran = bench.run(self._code(skipped))
        if not ran.fine or not _equal(ran.outputs, wanted):
            return True
        for number in range(ORDERS):
            ran, _ = bench.run_order(schedules.seeded(0, number), self._code(skipped))
            if not ran.fine or not _equal(ran.outputs, wanted):
                return True
        return False

    def _code(self, skipped: frozenset[SourceLine]) -> UserCode:
        return UserCode(self.asked.case.plan.name, MOST_STEPS, LOOP_SECONDS, WaitWatch(skipped))


def judge_waits(cases: Sequence[SizedCase], asked: SizedCase) -> WaitVerdict:
    """The verdict on every wait, in cases that all run well."""
    benches = [KernelBench(sized.case, sized.size.inputs, sized.size.expected) for sized in cases]
    whole = KernelBench(asked.case, asked.size.inputs, asked.size.expected)
    trial = WaitTrial(benches, whole, [bench.run().outputs for bench in benches])
    dropped: frozenset[SourceLine] = frozenset()
    needed: list[SourceLine] = []
    needless: list[NeedlessWait] = []
    ticks, watch = trial.ticks(dropped), trial.watch(dropped)
    while (line := _dearest(trial, watch, dropped, needed)) is not None:
        if trial.objects(dropped | {line}):
            needed.append(line)
            continue
        dropped |= {line}
        without = trial.ticks(dropped)
        needless.append(NeedlessWait(line, watch.names[line], ticks - without))
        ticks, watch = without, trial.watch(dropped)
    idle = [(line, watch.names[line]) for line in watch.idle if line not in {*watch.exercised, *dropped, *needed}]
    return WaitVerdict(tuple(sorted(needed)), tuple(needless), tuple(sorted(idle)))


def _dearest(
    trial: WaitTrial, watch: WaitWatch, dropped: frozenset[SourceLine], needed: Sequence[SourceLine]
) -> SourceLine | None:
    """The wait that is still to be tried and saves the most ticks; None where all are."""
    left = sorted(line for line in watch.exercised if line not in dropped and line not in needed)
    return min(left, key=lambda line: (trial.ticks(dropped | {line}), line), default=None)


def _equal(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))
