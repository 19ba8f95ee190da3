"""Queues whose answer is known: D/D/1 and tandems to the tick by max-plus, M/D/1, M/M/c and G/M/1 by theory."""

from math import factorial

import attrs
import numpy as np
import pytest

from tessbed.scenarios.load.draws import ARRIVAL, root, ticks_of
from tessbed.scenarios.load.load_model import Arrivals, Distribution
from tessbed.scenarios.load.simulation import count_load, is_stable, simulate_load
from tests.scenarios.load.programs import constant, tandem


def every(ticks: int, first: int = 0) -> Arrivals:
    """One frame each so many ticks."""
    return Arrivals("every", constant(ticks), first)


def poisson(ticks: int) -> Arrivals:
    """Exponential times between frames."""
    return Arrivals("random", Distribution("poisson", ticks))


@pytest.mark.parametrize(("period", "service"), [(10, 7), (10, 10), (10, 13)])
def test_one_server_with_constant_times_is_known_to_the_tick(period: int, service: int) -> None:
    """Frame n of D/D/1 takes its service and n times what the server is behind."""
    run = simulate_load(tandem(every(period), [constant(service)], 100))
    expected = [service + number * max(0, service - period) for number in range(100)]
    assert list(run.tallies[0].streams[0].latencies) == expected
    assert is_stable(run, 0) == (service <= period)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_device_that_holds_several_jobs_begins_the_next_while_the_host_learns_of_the_last(depth: int) -> None:
    """Of jobs of 100 ticks whose last 30 need no device, one is begun every 70 ticks, or every 100 at a depth of 1."""
    program = tandem(Arrivals("at_once", count=20), [constant(100)], 20)
    stage = attrs.evolve(program.streams[0].stages[0], tail_ticks=30 if depth > 1 else 0)
    station = attrs.evolve(program.stations[0], depth=depth)
    stream = attrs.evolve(program.streams[0], stages=(stage,))
    run = simulate_load(attrs.evolve(program, stations=(station,), streams=(stream,)))
    expected, free, ends = [], 0, [0] * depth
    for number in range(20):
        submitted = ends[number % depth]  # the place of the job that was submitted `depth` jobs before
        begun = max(submitted, free)
        free = begun + (100 if depth == 1 else 70)
        ends[number % depth] = begun + 100
        expected.append(begun + 100)
    assert sorted(run.latencies(0)) == expected
    assert expected[-1] == (2000 if depth == 1 else 19 * 70 + 100)
    assert run.utilisation(0) == 1.0


@pytest.mark.parametrize("servers", [(1, 1, 1), (2, 1, 3), (1, 4, 2)], ids=str)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_tandem_is_the_max_plus_recurrence(servers: tuple[int, ...], seed: int) -> None:
    """Job k of frame n starts when job k-1 of it has ended and a server of k is free: start = max(ready, free)."""
    services = [constant(90), Distribution("uniform", 10, 250), Distribution("poisson", 100)]
    arrivals = poisson(120)
    tally = count_load(tandem(arrivals, services, 500, servers, seed=seed), 0)
    free = [[0] * count for count in servers]
    arrived, stays = 0, []
    queues: list[list[int]] = []
    assert arrivals.between is not None
    for number in range(500):
        arrived += ticks_of(arrivals.between, root(seed, 0, 0, ARRIVAL), number)
        queues.append([arrived, number])
    ready = [(tick, number) for tick, number in queues]
    for stage, service in enumerate(services):
        ends = []
        for tick, number in sorted(ready):
            start = max(tick, min(free[stage]))
            free[stage][free[stage].index(min(free[stage]))] = start + ticks_of(
                service, root(seed, 0, 0, stage + 1), number
            )
            ends.append((start + ticks_of(service, root(seed, 0, 0, stage + 1), number), number))
        ready = ends
    came = {number: tick for tick, number in queues}
    stays = sorted(end - came[number] for end, number in ready)
    assert sorted(tally.streams[0].latencies) == stays


def waiting_mmc(rate: float, service: float, servers: int) -> float:
    """The mean wait of M/M/c by Erlang's formula."""
    offered = rate * service
    blocked = offered**servers / factorial(servers) / (1 - offered / servers)
    wait = blocked / (sum(offered**n / factorial(n) for n in range(servers)) + blocked)
    return wait * service / (servers - offered)


@pytest.mark.parametrize(("servers", "gap"), [(1, 140_000), (2, 65_000), (4, 30_000)])
def test_random_arrivals_and_services_wait_as_erlang_says(servers: int, gap: int) -> None:
    """The mean latency of M/M/c is within 5 % of theory, utilisation and mean queue with it."""
    program = tandem(poisson(gap), [Distribution("poisson", 100_000)], 40_000, [servers], warmup=1000)
    run = simulate_load(program)
    wait = waiting_mmc(1 / gap, 100_000, servers)
    latencies = run.latencies(0)
    assert np.mean(latencies) == pytest.approx(wait + 100_000, rel=0.05)
    assert run.utilisation(0) == pytest.approx(100_000 / gap / servers, rel=0.03)
    assert run.mean_queue(0) == pytest.approx(wait / gap, rel=0.12)


def test_random_arrivals_at_a_constant_service_wait_half_as_long() -> None:
    """M/D/1 waits by Pollaczek and Khinchine."""
    run = simulate_load(tandem(poisson(125_000), [constant(100_000)], 40_000, warmup=1000))
    load = 0.8
    assert np.mean(run.latencies(0)) == pytest.approx(100_000 + 100_000 * load / (2 * (1 - load)), rel=0.05)


@pytest.mark.parametrize("places", [0, 1, 3])
def test_a_bounded_queue_drops_as_erlang_says(places: int) -> None:
    """M/M/1/K: with `queue` places to wait, the part of frames that go is that of theory."""
    rules = {"queue": places, "on_full": "drop_new"}
    tally = count_load(tandem(poisson(100_000), [Distribution("poisson", 90_000)], 40_000, **rules), 0)
    load, most = 0.9, places + 1
    lost = (1 - load) * load**most / (1 - load ** (most + 1))
    assert tally.streams[0].dropped / 40_000 == pytest.approx(lost, rel=0.05)


def test_the_oldest_goes_where_the_newest_is_wanted() -> None:
    """With drop_old as many frames go as with drop_new, and those that stay are younger."""
    both = [
        count_load(tandem(every(100), [constant(250)], 1000, queue=2, on_full=rule), 0).streams[0]
        for rule in ("drop_new", "drop_old")
    ]
    assert both[0].dropped == both[1].dropped > 500
    assert sum(both[1].latencies) < sum(both[0].latencies)


def test_frames_in_flight_are_limited() -> None:
    """With one frame in flight, two jobs on two servers do not overlap; the rest waits in order."""
    run = simulate_load(tandem(every(100), [constant(80), constant(80)], 50, in_flight=1))
    assert list(run.tallies[0].streams[0].latencies) == [160 + 60 * number for number in range(50)]
    assert not is_stable(run, 0)
    assert is_stable(simulate_load(tandem(every(100), [constant(80), constant(80)], 50, in_flight=2)), 0)


def test_closed_frames_come_again() -> None:
    """Four frames that circulate through one server keep it busy, and each takes four services."""
    tally = count_load(tandem(Arrivals("closed", count=4), [constant(50)], 100), 0)
    assert tally.end == 50 * 100
    assert set(tally.streams[0].latencies[4:]) == {200}


def test_all_at_once_is_a_batch() -> None:
    """The last of n frames at one tick on c servers ends after ceil(n / c) services."""
    tally = count_load(tandem(Arrivals("at_once", count=100, first=7), [constant(50)], 100, [8]), 0)
    assert tally.end == 7 + 50 * 13


def test_draws_have_their_means_and_deviations() -> None:
    """Exponential, uniform and gamma draws have the mean and the coefficient of variation that they are asked for."""
    for kind, high, wanted, cv in [
        ("poisson", 0, 1e6, 1.0),
        ("uniform", 3_000_000, 2e6, 1 / 12**0.5),
        ("gamma", 0, 1e6, 2.0),
        ("gamma", 0, 1e6, 0.5),
    ]:
        distribution = Distribution(kind, 10**6, high, cv)
        drawn = [ticks_of(distribution, root(5, 0, 0, 1), number) for number in range(20_000)]
        assert np.mean(drawn) == pytest.approx(wanted, rel=0.05)
        assert np.std(drawn) / np.mean(drawn) == pytest.approx(cv, rel=0.06)
