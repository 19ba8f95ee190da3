"""Orders: a few small cases of a kernel in other orders than that of its ticks; in all of them where they are few."""

from collections.abc import Sequence

import attrs
import numpy as np

from tessbed.scenarios.format.option_values import FEW_TRANSFERS
from tessbed.scenarios.verification.explore import schedules
from tessbed.scenarios.verification.kernel_check.bench import CaseRun, CheckCase, KernelBench
from tessbed.scenarios.verification.kernel_check.cases import SizedCase
from tessbed.sim.interleavings.dpor import Search
from tessbed.sim.interleavings.untimed_engine import Choose, ExecutedAction

MOST_ORDERS = 100
"""An exhaustive search of one case stops after so many."""
SEEDED_ORDERS = 6
MOST_CASES = 12
MOST_TRANSFERS = 400
"""A case of more transfers is not explored."""


@attrs.frozen
class ExploredOrders:
    """How many orders of how many cases were run, in how many of these cases all; and the runs that went wrong."""

    orders: int
    cases: int
    complete: int
    troubled: tuple[tuple[CheckCase, CaseRun], ...]


@attrs.define(eq=False)
class OrderCount:
    """The orders of one case so far. `outputs` are those of the first, where no reference judges."""

    bench: KernelBench
    orders: int = 0
    troubled: CaseRun | None = None
    outputs: tuple[np.ndarray, ...] | None = None

    def run(self, choose: Choose, recording: bool = False) -> Sequence[ExecutedAction]:
        """One more order."""
        ran, engine = self.bench.run_order(choose, recording=recording)
        self.orders += 1
        first = self.outputs = self.outputs or ran.outputs
        differs = any(not np.array_equal(a, b) for a, b in zip(first, ran.outputs, strict=True))
        if self.troubled is None and (not ran.fine or differs):
            self.troubled = ran if not ran.fine else attrs.evolve(ran, hang="the outputs depend on the order")
        return engine.executed


def explore_orders(cases: Sequence[SizedCase], seed: int = 0) -> ExploredOrders:
    """Explore cases of several workers, the smallest first."""
    chosen = [sized for sized in cases if sized.case.workers in (1, 2, 3) and sized.size.nbytes <= 1 << 18]
    step = max(1, len(chosen) // MOST_CASES)
    orders, complete, troubled, tried = 0, 0, [], 0
    for sized in chosen[::step][:MOST_CASES]:
        count = OrderCount(KernelBench(sized.case, sized.size.inputs, sized.size.expected))
        complete += _explore(count, seed)
        tried += 1
        orders += count.orders
        if count.troubled is not None:
            troubled.append((sized.case, count.troubled))
    return ExploredOrders(orders, tried, complete, tuple(troubled))


def _explore(count: OrderCount, seed: int) -> bool:
    """Run the orders of one case; whether they were all."""
    plain, engine = count.bench.run_order(schedules.first)
    if not plain.fine or engine.transfers > MOST_TRANSFERS:
        count.orders, count.troubled = 1, None if plain.fine else plain
        return False
    if engine.transfers <= FEW_TRANSFERS:
        search = Search(lambda choose: count.run(choose, recording=True), MOST_ORDERS)
        for _ in search.orders():
            if count.troubled:
                return False
        return search.complete
    for number in range(SEEDED_ORDERS):
        count.run(schedules.seeded(seed, number))
    return False
