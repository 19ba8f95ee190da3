"""Search: a case in many orders, or in every one where it is small; the first order that spoils a byte is kept."""

from collections.abc import Callable, Sequence

import attrs

from tessbed.scenarios.explore import choices
from tessbed.scenarios.explore.case import Bench, Case, Ran
from tessbed.scenarios.option_values import FEW_TRANSFERS
from tessbed.sim.check import Checker
from tessbed.sim.every_order import Search
from tessbed.sim.orders import Choose, Taken
from tessbed.sim.strands import Name

"""Cases of so few transfers are explored exhaustively."""
MOST_ORDERS = 5000
"""An exhaustive search that needs more orders is told as bounded."""

Heard = Callable[[], None]


@attrs.frozen
class Failure:
    """An order that went wrong, as the names of its strands, and what was wrong."""

    order: tuple[Name, ...]
    kind: str  # "byte" or "trouble"
    what: str

    @property
    def fingerprint(self) -> str:
        """Which order it was."""
        return choices.fingerprint(self.order)


@attrs.frozen
class Exploration:
    """What came of a case. `mode` is "exhaustive", "bounded" (cut short) or "seeded".

    `findings` hold in every order. `orders` were run; `spoilt` of them went wrong, `failure` is the first.
    """

    case: Case
    mode: str
    transfers: int
    moments: int
    orders: int
    spoilt: int
    findings: tuple[str, ...]
    failure: Failure | None

    @property
    def ok(self) -> bool:
        """No finding, and no order spoils a byte."""
        return not self.findings and not self.spoilt


def explore(case: Case, orders: int, seed: int, heard: Heard = lambda: None) -> Exploration:
    """Explore a case; `heard` is called after each order."""
    bench = Bench(case)
    plain = bench.run(choices.first, Checker("report"))
    tried = _Tried(bench, heard)
    if plain.trouble is None and plain.stage.transfers <= FEW_TRANSFERS:
        search = Search(tried.recorded, MOST_ORDERS)
        for _ in search.orders():
            pass
        mode = "exhaustive" if search.complete else "bounded"
    else:
        mode = "seeded"
        for number in range(orders):
            tried.order(choices.seeded(seed, number))
    return _told(case, mode, plain, tried)


def first_wrong(case: Case, orders: int, seed: int, *, unfound: bool) -> Exploration:
    """Explore with seeded orders until one goes wrong; not at all where the checker finds nothing, unless `unfound`."""
    bench = Bench(case)
    plain = bench.run(choices.first, Checker("report"))
    tried = _Tried(bench, lambda: None)
    number = 0
    while number < orders and not tried.spoilt and (plain.findings or unfound):
        tried.order(choices.seeded(seed, number))
        number += 1
    return _told(case, "seeded", plain, tried)


def _told(case: Case, mode: str, plain: Ran, tried: "_Tried") -> Exploration:
    stage = plain.stage
    return Exploration(
        case, mode, stage.transfers, stage.moments, tried.count, tried.spoilt, plain.findings, tried.failure
    )


@attrs.define(eq=False)
class _Tried:
    """The orders tried so far."""

    bench: Bench
    heard: Heard
    count: int = 0
    spoilt: int = 0
    failure: Failure | None = None

    def order(self, choose: Choose) -> None:
        """Try one more."""
        names: list[Name] = []

        def noting(ready: Sequence[choices.Strand]) -> int:
            index = choose(ready)
            names.append(ready[index].name)
            return index

        self._note(self.bench.run(noting), names)

    def recorded(self, choose: Choose) -> list[Taken]:
        """Try one more, and say what happened in it."""
        ran = self.bench.run(choose, recording=True)
        self._note(ran, [moment.name for moment in ran.stage.taken])
        return ran.stage.taken

    def _note(self, ran: Ran, names: Sequence[Name]) -> None:
        self.count += 1
        self.spoilt += ran.spoilt
        if ran.spoilt and self.failure is None:
            self.failure = Failure(tuple(names), "byte" if ran.trouble is None else "trouble", told(self.bench, ran))
        self.heard()


def told(bench: Bench, ran: Ran) -> str:
    """What is wrong with an order's outcome, in words."""
    if ran.trouble is not None:
        return ran.trouble
    if ran.wrong is None:
        return "every byte is right"
    got, wanted = int(bench.output[ran.wrong]), int(bench.expected[ran.wrong])
    return f"output byte {ran.wrong} is {got:#04x}, wanted {wanted:#04x}"
