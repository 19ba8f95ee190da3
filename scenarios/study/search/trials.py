"""Trials: a sampler's proposals, each configuration timed only once: results are shared with sweeps by their keys.

A sampler that learns begins with the scenario as it is, where the space holds it. A point that it proposes again is
answered from memory, and an untried one, drawn by the seed, is put in front of its next suggestion. So a search of as
many trials as the space has points tries them all.
"""

from collections.abc import Callable, Sequence

import attrs

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.provenance.tick_basis import TickBasis, tick_basis
from tessbed.scenarios.study.search.sampler import Sampler
from tessbed.scenarios.study.sweep.execution import ResultStore
from tessbed.scenarios.study.sweep.point import Row, failed, run_point
from tessbed.scenarios.study.sweep.resolver import Resolver
from tessbed.scenarios.study.sweep.space import Setting, Space
from tessbed.sim.errors import SpecError


@attrs.define
class Memory:
    """Rows by the key of the resolved configuration, kept in a store. Counts where they came from."""

    resolver: Resolver
    store: ResultStore
    simulated: int = 0
    remembered: int = 0
    bases: dict[TickBasis, None] = attrs.field(factory=dict, init=False)
    """What the ticks of the configurations rest on, in their order."""
    _known: dict[str, Row] = attrs.field(factory=dict, init=False)

    @property
    def keys(self) -> list[str]:
        """The configurations that have a row by now."""
        return list(self._known)

    def row(self, point: Sequence[Setting]) -> Row:
        """The results of a point: those of any earlier time, or of a run now. Its `error` says why there are none."""
        try:
            found = self.resolver.resolve(point)
        except (SpecError, ScenarioError) as error:
            return failed(str(error))
        self.bases.setdefault(tick_basis(found.base, found.device))
        if found.key not in self._known:
            self._known |= self.store.known([found.key])
        if found.key in self._known:
            self.remembered += 1
        else:
            self.simulated += 1
            self._known[found.key] = run_point(found.base, self.resolver.engine, found.device)
            self.store.add([(found.key, self._known[found.key])])
        return self._known[found.key]


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


Progress = Callable[[int], None]


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
    baseline, repeated = memory.row(()), 0
    start = current_result(memory.resolver, space)
    if start is not None:
        sampler.want(start)
    while len(trials) < wanted:
        number = sampler.ask()
        if number in trials:
            repeated += 1
            sampler.tell(trials[number].row.get(objective))
            sampler.want(next(other for other in untried if other not in trials))
        else:
            point = space.point(number)
            trials[number] = Trial(point, memory.row(point))
            sampler.tell(trials[number].row.get(objective))
            progress(1)
    return SearchResult(space, tuple(trials.values()), baseline, repeated)


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
