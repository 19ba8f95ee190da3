"""Trials: a sampler's proposals, each configuration timed only once: results are shared with sweeps by their keys.

A sampler that learns begins with the scenario as it is, where the space holds it. A point that it proposes again is
answered from memory, and an untried one, drawn by the seed, is put in front of its next suggestion. So a search of as
many trials as the space has points tries them all.

Trials are asked for in batches, whose size the number of processes does not change: a sampler hears of a batch as a
whole, in the order of its proposals. So the same seed makes the same search on any machine.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

import attrs

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.provenance.tick_basis import TickBasis
from tessbed.scenarios.study.search.sampler import Sampler
from tessbed.scenarios.study.sweep.batches import BatchRunner
from tessbed.scenarios.study.sweep.execution import Progress, ResultStore, plan_points, run_sweep
from tessbed.scenarios.study.sweep.executors import growing_executor
from tessbed.scenarios.study.sweep.point import Row
from tessbed.scenarios.study.sweep.resolver import Resolver
from tessbed.scenarios.study.sweep.space import Setting, Space
from tessbed.sim.errors import SpecError

BATCH = 8
"""Trials that a sampler is asked for at once, where it learns."""


@attrs.define
class Memory:
    """Rows by the key of the resolved configuration, kept in a store. Counts where they came from."""

    resolver: Resolver
    store: ResultStore
    runner: BatchRunner
    simulated: int = 0
    remembered: int = 0
    bases: dict[TickBasis, None] = attrs.field(factory=dict, init=False)
    """What the ticks of the configurations rest on, in their order."""
    _known: dict[str, Row] = attrs.field(factory=dict, init=False)

    @property
    def keys(self) -> list[str]:
        """The configurations that have a row by now."""
        return list(self._known)

    def rows(self, points: Sequence[Sequence[Setting]], progress: Progress = lambda done: None) -> list[Row]:
        """The results of points: those of any earlier time, or of runs now. An `error` says why there are none."""
        planned, before = plan_points(self.resolver, points), self.simulated
        self.bases |= dict.fromkeys(planned.bases())
        rows = run_sweep(planned, self, self.runner, progress)
        self.remembered += sum(key in planned.resolved for key in planned.keys) - (self.simulated - before)
        return rows

    def known(self, keys: Sequence[str]) -> dict[str, Row]:
        """The rows that there are of these keys, here or in the store."""
        self._known |= self.store.known([key for key in keys if key not in self._known])
        return {key: self._known[key] for key in keys if key in self._known}

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Keep what was simulated now."""
        found = list(rows)
        self.simulated += len(found)
        self.store.add(found)
        self._known.update(found)


@contextmanager
def opened_memory(resolver: Resolver, store: ResultStore, processes: int | None) -> Iterator[Memory]:
    """A memory whose configurations run in so many processes, or one for each CPU, as soon as they pay off."""
    chosen = growing_executor(processes)
    with closing(BatchRunner(chosen.make_executor, chosen.width, chosen.deaths, keeps=True)) as runner:
        yield Memory(resolver, store, runner)


@attrs.frozen
class Trial:
    """A configuration that was tried: its settings and its row."""

    point: tuple[Setting, ...]
    row: Row


@attrs.frozen
class SearchResult:
    """What a search found: every trial in order, the scenario as it is, how often a proposal came again."""

    space: Space
    trials: tuple[Trial, ...]
    baseline: Row
    repeated: int

    @property
    def exhaustive(self) -> bool:
        """True where every point of the space was tried."""
        return len(self.trials) == self.space.size


def search(
    space: Space,
    sampler: Sampler,
    memory: Memory,
    objective: str,
    count: int,
    seed: int,
    progress: Progress = lambda done: None,
) -> SearchResult:
    """Try `count` points, or all where there are fewer. `objective` is a column of the rows."""
    wanted = min(count, space.size)
    untried = iter(space.numbers(wanted, seed))
    trials: dict[int, Trial] = {}
    (baseline,), repeated = memory.rows([()]), 0
    start = current_result(memory.resolver, space)
    if start is not None:
        sampler.want(start)
    while len(trials) < wanted:
        proposed = _proposals(sampler, trials, wanted, untried)
        fresh = [number for number in dict.fromkeys(proposed) if number not in trials]
        points = [space.point(number) for number in fresh]
        trials |= zip(fresh, map(Trial, points, memory.rows(points, progress)), strict=True)
        repeated += len(proposed) - len(fresh)
        for number in proposed:
            sampler.tell(trials[number].row.get(objective))
    return SearchResult(space, tuple(trials.values()), baseline, repeated)


def _proposals(sampler: Sampler, tried: Mapping[int, Trial], wanted: int, untried: Iterator[int]) -> list[int]:
    """Proposals until a batch of them, or what is left, is new; after one that is not, an untried point is wanted."""
    proposed, fresh = [], {}
    most = min(wanted - len(tried), BATCH if sampler.learns else wanted)
    while len(fresh) < most:
        number = sampler.ask()
        proposed.append(number)
        if number in tried or number in fresh:
            sampler.want(next(other for other in untried if other not in tried and other not in fresh))
        else:
            fresh[number] = None
    return proposed


def current_result(resolver: Resolver, space: Space) -> int | None:
    """The point that is the scenario as it is; None where an axis lacks its value."""
    places = []
    for axis in space.axes:
        same = (place for place, value in enumerate(axis.values) if _same(resolver, (axis.key, value)))
        places.append(next(same, None))
    return None if None in places else space.number([place for place in places if place is not None])


def _same(resolver: Resolver, setting: Setting) -> bool:
    try:
        return resolver.resolve([setting]).key == resolver.resolve([]).key
    except (SpecError, ScenarioError):
        return False
