"""Execution of a sweep: a space of configurations of a scenario, from stored results to a complete table."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from tessbed import __version__
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.library import read_source
from tessbed.scenarios.provenance.basis_words import departure_words
from tessbed.scenarios.provenance.tick_basis import TickBasis, tick_basis
from tessbed.scenarios.study.sweep.batches import BatchRunner
from tessbed.scenarios.study.sweep.load_sweep import LOAD
from tessbed.scenarios.study.sweep.point import Batch, Row, failed
from tessbed.scenarios.study.sweep.resolver import ResolvedPoint, Resolver, SourceReader, check_configuration
from tessbed.scenarios.study.sweep.space import Setting, Space, space_of
from tessbed.scenarios.study.sweep.store import Store
from tessbed.sim.errors import SpecError

MOST_POINTS = 1_000_000


@attrs.frozen
class SweepPlan:
    """A sweep's points in order, with the key of each, and the rows of those that can not run."""

    points: tuple[tuple[Setting, ...], ...]
    keys: tuple[str, ...]
    engine: str
    resolved: dict[str, ResolvedPoint]
    refused: dict[str, Row]

    def bases(self) -> list[TickBasis]:
        """What the ticks of the points that can run rest on; of points with the same basis that of the first."""
        alike = {
            (id(point.base), point.device if point.base.origins.board else None): point
            for point in self.resolved.values()
        }
        return [tick_basis(point.base, point.device) for point in alike.values()]

    def extrapolated(self) -> list[str]:
        """For each point where it leaves what was measured, or nothing; an empty list where nothing was calibrated."""
        if not any(point.base.origins.board for point in self.resolved.values()):
            return []
        bases = {key: tick_basis(point.base, point.device) for key, point in self.resolved.items()}
        return [departure_words(bases[key]) if key in bases else "" for key in self.keys]

    def batches(self, known: dict[str, Row]) -> Iterator[Batch]:
        """What is still to do, in order, a batch for each scenario."""
        waiting: dict[int, list[ResolvedPoint]] = {}
        for key, point in self.resolved.items():
            if key not in known:
                waiting.setdefault(id(point.base), []).append(point)
        for points in waiting.values():
            yield Batch(points[0].base, self.engine, tuple((point.key, point.device) for point in points))


def plan_sweep(
    name: str,
    settings: Sequence[str],
    space: Space,
    count: int | None,
    seed: int,
    engine: str,
    *,
    option: str = "--vary",
    read: SourceReader = read_source,
) -> SweepPlan:
    """The plan of a sweep. Raises ScenarioError for a value that is wrong by itself; `option` is how it was given.

    A point whose values only do not go together is no error of the sweep: its row says why there is no result.
    """
    number = min(space.size, count or space.size)
    if number > MOST_POINTS:
        advice = f"wanted {MOST_POINTS:,} at most: --random N draws some, `tessbed search` looks for the best"
        raise ScenarioError([Problem(Location(option), f"got {number:,} points, {advice}")])
    points = tuple(space.points(count, seed))
    check_configuration(
        name, settings, space if number == space.size else space_of(points), option, read, of_load=engine == LOAD
    )
    return plan_points(Resolver(name, tuple(settings), engine, read), points)


def plan_points(resolver: Resolver, points: Sequence[Sequence[Setting]]) -> SweepPlan:
    """The plan of any points."""
    resolved: dict[str, ResolvedPoint] = {}
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
    return SweepPlan(tuple(map(tuple, points)), tuple(keys), resolver.engine, resolved, refused)


Progress = Callable[[int], None]


class ResultStore(Protocol):
    """Where results are kept: a database, or memory."""

    def known(self, keys: Sequence[str]) -> dict[str, Row]:
        """The rows that it has of these keys."""
        ...

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Keep some more."""
        ...


@attrs.define
class MemoryStore:
    """Results for as long as the program runs."""

    rows: dict[str, Row] = attrs.field(factory=dict)

    def known(self, keys: Sequence[str]) -> dict[str, Row]:
        """The rows that it has of these keys."""
        return {key: self.rows[key] for key in keys if key in self.rows}

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Keep some more."""
        self.rows.update(rows)

    def close(self) -> None:
        """Nothing is to be done."""


def run_sweep(
    planned: SweepPlan, store: ResultStore, runner: BatchRunner, progress: Progress = lambda done: None
) -> list[Row]:
    """Run what the store does not hold; returns the rows of all points in order. An interrupt keeps what is done."""
    known = store.known(planned.keys)
    progress(sum(key in known or key in planned.refused for key in planned.keys))
    try:
        for results in runner.run(planned.batches(known)):
            store.add(results)
            known |= dict(results)
            progress(len(results))
    except KeyboardInterrupt:
        store.add(runner.finished())
        raise
    return [planned.refused.get(key) or known[key] for key in planned.keys]


def open_store(path: str, notice: Callable[[str], None] = lambda text: None) -> Store:
    """The database of results at `path`. `notice` hears of a wait."""
    return Store(Path(path), __version__, notice)


def interrupted(path: str, count: int | None, what: str) -> str:
    """What to say after Ctrl-C: how many results are in the file, unless it can not be asked at the moment."""
    kept = "what is done is" if count is None else f"{count:,} {what} are"
    return f"interrupted; {kept} in {path}, the same command resumes"


def damage(store: Store) -> str | None:
    """One line on the rows that were not believed; None where all were."""
    if not store.damaged:
        return None
    rows = "1 row" if store.damaged == 1 else f"{store.damaged:,} rows"
    return f"{rows} in {store.path} damaged or of another version: not used, computed again"
