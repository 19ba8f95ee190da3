"""Loads against Ciw, a library for queues: the same arrivals and services, and every frame takes as long.

Ticks are large, so that no frame comes in the tick in which another ends: Ciw has a rule of its own for that.
"""

from typing import Any

import ciw
import pytest
from ciw import dists

from tessbed.scenarios.load.draws import ARRIVAL, root, ticks_of
from tessbed.scenarios.load.load_model import Arrivals, Distribution
from tessbed.scenarios.load.simulation import count_load
from tests.scenarios.load.programs import constant, tandem

FRAMES = 1500
NEVER = float("inf")


def drawn(distribution: Distribution, seed: int, purpose: int) -> list[int]:
    """The ticks of all frames, as the load draws them."""
    start = root(seed, 0, 0, purpose)
    return [ticks_of(distribution, start, number) for number in range(FRAMES)]


@pytest.mark.parametrize(
    ("service", "servers", "gap", "queue"),
    [
        (Distribution("poisson", 800_000), 1, 1000_000, None),
        (Distribution("poisson", 1900_000), 2, 1000_000, None),
        (Distribution("poisson", 3600_000), 4, 1000_000, None),
        (constant(900_000), 1, 1000_000, None),
        (Distribution("uniform", 100_000, 1700_000), 1, 1000_000, None),
        (Distribution("gamma", 900_000, cv=2.0), 1, 1000_000, None),
        (Distribution("poisson", 1500_000), 1, 1000_000, 3),
        (Distribution("poisson", 2500_000), 2, 1000_000, 1),
    ],
    ids=["M/M/1", "M/M/2", "M/M/4", "M/D/1", "M/U/1", "M/G/1", "M/M/1/4", "M/M/2/3"],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_each_frame_takes_as_long_as_in_ciw(
    service: Distribution, servers: int, gap: int, queue: int | None, seed: int
) -> None:
    """The latencies are equal, and so is the number of frames that were dropped."""
    between = Distribution("poisson", gap)
    rules = {} if queue is None else {"queue": queue, "on_full": "drop_new"}
    program = tandem(Arrivals("random", between), [service], FRAMES, [servers], seed=seed, **rules)
    ours = count_load(program, 0).streams[0]
    gaps, services = drawn(between, seed, ARRIVAL), drawn(service, seed, 1)
    came = [sum(gaps[: number + 1]) for number in range(FRAMES)]
    places: dict[str, Any] = {} if queue is None else {"queue_capacities": [queue]}
    network = ciw.create_network(
        arrival_distributions=[dists.Sequential([*gaps, NEVER])],
        service_distributions=[By(dict(zip(came, services, strict=True)))],
        number_of_servers=[servers],
        **places,
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(came[-1] * 3 + 10**10)
    records = simulation.get_all_records()
    theirs = sorted(record.exit_date - record.arrival_date for record in records if record.record_type == "service")
    assert sorted(ours.latencies) == theirs
    assert ours.dropped == sum(record.record_type == "rejection" for record in records)


class By(dists.Distribution):
    """The service of each customer by its arrival, so that those who are turned away take theirs with them."""

    def __init__(self, services: dict[int, int]) -> None:
        self.services = services

    def sample(self, t: float | None = None, ind: object = None) -> Any:
        """The ticks of the customer's service."""
        return self.services[ind.arrival_date]  # type: ignore[attr-defined]
