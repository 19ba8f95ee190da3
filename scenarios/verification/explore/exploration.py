"""Exploration: a case in many orders, or in every one if it is small; the first order that corrupts a byte is kept."""

from collections.abc import Callable, Sequence

import attrs

from tessbed.scenarios.format.option_values import FEW_TRANSFERS
from tessbed.scenarios.verification.explore import schedules
from tessbed.scenarios.verification.explore.bench import ExplorationBench, ExplorationCase, OrderResult
from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.interleavings.actions import Name
from tessbed.sim.interleavings.dpor import Search
from tessbed.sim.interleavings.untimed_engine import Choose, ExecutedAction

"""Cases of so few transfers are explored exhaustively."""
MOST_ORDERS = 5000
"""An exhaustive search that needs more orders is reported as bounded."""

OnOrder = Callable[[], None]


@attrs.frozen
class Failure:
    """An order that went wrong, as the names of its threads, and what was wrong."""

    order: tuple[Name, ...]
    kind: str  # "byte" or "trouble"
    what: str

    @property
    def fingerprint(self) -> str:
        """Which order it was."""
        return schedules.fingerprint(self.order)


@attrs.frozen
class Exploration:
    """The result of a case, None for a kernel of one's own. `mode` is "exhaustive", "bounded" (cut short) or "seeded".

    `findings` hold in every order. `orders` were run; `corrupted` of them went wrong, `failure` is the first.
    """

    case: ExplorationCase | None
    mode: str
    transfers: int
    actions: int
    orders: int
    corrupted: int
    findings: tuple[str, ...]
    failure: Failure | None

    @property
    def operation_case(self) -> ExplorationCase:
        """The case, of an operation."""
        assert self.case is not None, "a kernel of one's own has no case"
        return self.case

    @property
    def ok(self) -> bool:
        """No finding, and no order corrupts a byte."""
        return not self.findings and not self.corrupted


def explore(case: ExplorationCase, orders: int, seed: int, on_progress: OnOrder = lambda: None) -> Exploration:
    """Explore a case; `heard` is called after each order."""
    bench = ExplorationBench(case)
    plain = bench.run(schedules.first, Checker("report"))
    tried = _TriedOrders(bench, on_progress)
    if plain.trouble is None and plain.stage.transfers <= FEW_TRANSFERS:
        search = Search(tried.recorded, MOST_ORDERS)
        for _ in search.orders():
            pass
        mode = "exhaustive" if search.complete else "bounded"
    else:
        mode = "seeded"
        for number in range(orders):
            tried.order(schedules.seeded(seed, number))
    return _reported(case, mode, plain, tried)


def first_wrong(case: ExplorationCase, orders: int, seed: int, *, unfound: bool) -> Exploration:
    """Explore with seeded orders until one goes wrong; not at all where the checker finds nothing, unless `unfound`."""
    bench = ExplorationBench(case)
    plain = bench.run(schedules.first, Checker("report"))
    tried = _TriedOrders(bench, lambda: None)
    number = 0
    while number < orders and not tried.corrupted and (plain.findings or unfound):
        tried.order(schedules.seeded(seed, number))
        number += 1
    return _reported(case, "seeded", plain, tried)


def _reported(case: ExplorationCase, mode: str, plain: OrderResult, tried: "_TriedOrders") -> Exploration:
    stage = plain.stage
    return Exploration(
        case, mode, stage.transfers, stage.actions, tried.count, tried.corrupted, plain.findings, tried.failure
    )


@attrs.define(eq=False)
class _TriedOrders:
    """The orders tried so far."""

    bench: ExplorationBench
    on_progress: OnOrder
    count: int = 0
    corrupted: int = 0
    failure: Failure | None = None

    def order(self, choose: Choose) -> None:
        """Try one more."""
        names: list[Name] = []

        def noting(ready: Sequence[schedules.Thread]) -> int:
            index = choose(ready)
            names.append(ready[index].name)
            return index

        self._note(self.bench.run(noting), names)

    def recorded(self, choose: Choose) -> list[ExecutedAction]:
        """Try one more, and say what happened in it."""
        ran = self.bench.run(choose, recording=True)
        self._note(ran, [action.name for action in ran.stage.executed])
        return ran.stage.executed

    def _note(self, ran: OrderResult, names: Sequence[Name]) -> None:
        self.count += 1
        self.corrupted += ran.corrupted
        if ran.corrupted and self.failure is None:
            self.failure = Failure(
                tuple(names), "byte" if ran.trouble is None else "trouble", exploration_line(self.bench, ran)
            )
        self.on_progress()


def exploration_line(bench: ExplorationBench, ran: OrderResult) -> str:
    """What is wrong with an order's outcome, in words."""
    if ran.trouble is not None:
        return ran.trouble
    if ran.wrong is None:
        return "every byte is right"
    got, wanted = int(bench.output[ran.wrong]), int(bench.expected[ran.wrong])
    return f"output byte {ran.wrong} is {got:#04x}, wanted {wanted:#04x}"
