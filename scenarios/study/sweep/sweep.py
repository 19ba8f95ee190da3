"""Sweep: a space of configurations over a scenario, from what is known already to a complete table."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import attrs

from tessbed import __version__
from tessbed.scenarios.problems import Place, Problem, ScenarioError
from tessbed.scenarios.study.sweep.farm import Farm
from tessbed.scenarios.study.sweep.point import Batch, Row, failed
from tessbed.scenarios.study.sweep.resolve import Resolved, Resolver, check_alone
from tessbed.scenarios.study.sweep.space import Setting, Space
from tessbed.scenarios.study.sweep.store import Store
from tessbed.sim.errors import SpecError

BATCH = 32
MOST_POINTS = 1_000_000


@attrs.frozen
class Plan:
    """A sweep's points in order, with the key of each, and the rows of those that can not run."""

    points: tuple[tuple[Setting, ...], ...]
    keys: tuple[str, ...]
    engine: str
    resolved: dict[str, Resolved]
    refused: dict[str, Row]

    def batches(self, known: dict[str, Row]) -> Iterator[Batch]:
        """What is still to do, in order, in batches of one scenario each."""
        waiting: dict[int, list[Resolved]] = {}
        for key, point in self.resolved.items():
            if key not in known:
                batch = waiting.setdefault(id(point.base), [])
                batch.append(point)
                if len(batch) == BATCH:
                    yield self._batch(waiting.pop(id(point.base)))
        yield from map(self._batch, waiting.values())

    def _batch(self, points: Sequence[Resolved]) -> Batch:
        return Batch(points[0].base, self.engine, tuple((point.key, point.device) for point in points))


def plan(name: str, settings: Sequence[str], space: Space, count: int | None, seed: int, engine: str) -> Plan:
    """The plan of a sweep. Raises ScenarioError for a value that is wrong by itself.

    A point whose values only do not go together is no mistake of the sweep: its row says why there is no result.
    """
    check_alone(name, settings, space, "--vary")
    resolver = Resolver(name, tuple(settings), engine)
    number = min(space.size, count or space.size)
    if number > MOST_POINTS:
        advice = f"wanted {MOST_POINTS:,} at most: --random N draws some, `tessbed search` looks for the best"
        raise ScenarioError([Problem(Place("--vary"), f"got {number:,} points, {advice}")])
    points = tuple(space.points(count, seed))
    resolved: dict[str, Resolved] = {}
    refused: dict[str, Row] = {}
    keys = []
    for point in points:
        try:
            found = resolver.resolve(point)
            keys.append(found.key)
            resolved.setdefault(found.key, found)
        except (SpecError, ScenarioError) as error:
            keys.append(resolver.refused_key(point))
            refused[keys[-1]] = failed(str(error))
    return Plan(points, tuple(keys), engine, resolved, refused)


Progress = Callable[[int], None]


def execute(planned: Plan, store: Store, farm: Farm, progress: Progress = lambda done: None) -> list[Row]:
    """Run what the store does not hold; returns the rows of all points in order."""
    known = store.known(planned.keys)
    progress(sum(key in known or key in planned.refused for key in planned.keys))
    for results in farm.run(planned.batches(known)):
        store.add(results)
        known |= dict(results)
        progress(len(results))
    return [planned.refused.get(key) or known[key] for key in planned.keys]


def open_store(path: str) -> Store:
    """The database of results at `path`."""
    return Store(Path(path), __version__)
