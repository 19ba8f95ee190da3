"""Sweep: a space of configurations over a scenario, from what is known already to a complete table."""

from collections.abc import Callable, Iterator, Sequence

import attrs

from tessbed import __version__
from tessbed.scenarios.library import load
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.problems import ScenarioError
from tessbed.scenarios.study.measure import studied
from tessbed.scenarios.study.sweep.farm import Farm
from tessbed.scenarios.study.sweep.point import Batch, Changes, Row, changed, failed, key_of, scenario_digest
from tessbed.scenarios.study.sweep.space import Setting, Space, settings_of
from tessbed.scenarios.study.sweep.store import Store
from tessbed.sim.errors import SpecError

BATCH = 32
DEVICE = "device."
PRESET = "device.preset"


@attrs.frozen
class Plan:
    """A sweep's points in order, with the key of each, and the rows of those that can not run."""

    points: tuple[tuple[Setting, ...], ...]
    keys: tuple[str, ...]
    engine: str
    scenarios: dict[tuple[Setting, ...], Scenario]
    refused: dict[str, Row]

    def batches(self, known: dict[str, Row]) -> Iterator[Batch]:
        """What is still to do, in order, in batches of one scenario each."""
        waiting: dict[tuple[Setting, ...], list[tuple[str, Changes]]] = {}
        seen = {*known, *self.refused}
        for point, key in zip(self.points, self.keys, strict=True):
            if key in seen:
                continue
            seen.add(key)
            others, device = split(point)
            batch = waiting.setdefault(others, [])
            batch.append((key, device))
            if len(batch) == BATCH:
                yield Batch(self.scenarios[others], self.engine, tuple(waiting.pop(others)))
        for others, batch in waiting.items():
            yield Batch(self.scenarios[others], self.engine, tuple(batch))


def split(point: Sequence[Setting]) -> tuple[tuple[Setting, ...], Changes]:
    """Settings that make another scenario, and those that only change its device."""
    quick = [setting for setting in point if setting[0].startswith(DEVICE) and setting[0] != PRESET]
    return tuple(setting for setting in point if setting not in quick), tuple(quick)


def plan(name: str, settings: Sequence[str], space: Space, count: int | None, seed: int, engine: str) -> Plan:
    """The plan of a sweep. Raises ScenarioError for a value that is wrong by itself.

    A point whose values only do not go together is no mistake of the sweep: its row says why there is no result.
    """
    check_alone(name, settings, space)
    points = tuple(space.points(count, seed))
    scenarios: dict[tuple[Setting, ...], Scenario] = {}
    digests: dict[tuple[Setting, ...], str] = {}
    refused: dict[str, Row] = {}
    keys = []
    for point in points:
        others, device = split(point)
        try:
            if others not in scenarios:
                scenarios[others] = studied(load(name, [*settings, *settings_of(others)]))
                digests[others] = scenario_digest(scenarios[others])
            key = key_of(digests[others], changed(scenarios[others].device, device), engine)
        except (SpecError, ScenarioError) as error:
            key = key_of(repr((name, settings, point)), "refused", engine)
            refused[key] = failed(str(error))
        keys.append(key)
    return Plan(points, tuple(keys), engine, scenarios, refused)


def check_alone(name: str, settings: Sequence[str], space: Space) -> None:
    """Raise ScenarioError where a value of one axis is wrong whatever the others are: no value of it works."""
    load(name, settings)
    for axis in space.axes:
        errors = []
        for value in axis.values:
            try:
                load(name, [*settings, f"{axis.key}={value}"])
            except ScenarioError as error:
                errors.append(error)
        if (errors and len(errors) == len(axis.values)) or any(_unknown(error) for error in errors):
            raise errors[0]


def _unknown(error: ScenarioError) -> bool:
    return any("unknown" in problem.text for problem in error.problems)


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
    from pathlib import Path

    return Store(Path(path), __version__)
