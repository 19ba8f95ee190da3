"""Rates that are found: those of theory; conditions that are refused; LoadGen's scenarios on a known server."""

from math import log
from typing import Any

import attrs
import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.load.load_model import Arrivals, Distribution
from tessbed.scenarios.load.program import LoadProgram
from tessbed.scenarios.load.simulation import simulate_load
from tessbed.scenarios.study.load.conditions import parse_condition
from tessbed.scenarios.study.load.loadgen import as_loadgen
from tessbed.scenarios.study.load.rate_search import find_rate
from tests.scenarios.load.programs import constant, tandem

SERVICE = 1_000_000


def found(program: LoadProgram, *conditions: str) -> dict[str, Any]:
    """The document of a search at 1000 MHz."""
    return find_rate(program, [parse_condition(text, 1000) for text in conditions], 1000, simulate_load)


@pytest.mark.parametrize("period", [1_500_000, 400_000])
def test_a_constant_server_holds_its_own_rate(period: int) -> None:
    """D/D/1 holds a bound of its service up to one frame a service, from above and from below."""
    program = tandem(Arrivals("every", constant(period)), [constant(SERVICE)], 1000)
    document = found(program, "p99 <= 1_000_000")
    assert document["factor"] == pytest.approx(period / SERVICE, rel=2e-3)
    assert document["streams"][0]["frames_per_second"] == pytest.approx(1000, rel=2e-3)


def test_a_random_server_holds_the_rate_of_theory() -> None:
    """The latency of M/M/1 is exponential: its p99 is log(100) / (mu - lambda)."""
    arrivals = Arrivals("random", Distribution("poisson", 4 * SERVICE))
    program = tandem(arrivals, [Distribution("poisson", SERVICE)], 100_000, warmup=500)
    document = found(program, "p99 <= 12_000_000")
    assert document["factor"] == pytest.approx(4 * (1 - log(100) / 12), rel=0.05)
    assert document["limit"] == "stream: p99 <= 12_000_000 fails"


def test_nothing_holds_what_no_frame_can() -> None:
    """A bound below the service holds at no rate."""
    document = found(tandem(Arrivals("every", constant(SERVICE)), [constant(SERVICE)], 1000), "max < 1_000_000")
    assert document["factor"] is None


def test_a_percentile_of_too_few_frames_is_refused() -> None:
    """A p99 needs 662 frames behind the warm-up; a condition on it would never hold."""
    with pytest.raises(ScenarioError, match="got 651 frames behind the warm-up, wanted at least 662"):
        found(tandem(Arrivals("every", constant(5)), [constant(1)], 661, warmup=10), "p99 <= 5")


def test_loadgen_sends_as_its_scenarios_say() -> None:
    """Single-stream one after the other, multi-stream eight, offline all at once, server by a Poisson process."""
    program = tandem(Arrivals("every", constant(2 * SERVICE)), [constant(SERVICE)], 1000, deadline_ticks=5 * SERVICE)
    runs = {
        name: simulate_load(as_loadgen(program, name, 1))
        for name in ("single-stream", "multi-stream", "offline", "server")
    }
    assert set(runs["single-stream"].latencies(0)) == {SERVICE}
    assert runs["single-stream"].total(0, "offered") == 600
    assert set(runs["multi-stream"].latencies(0)) == {8 * SERVICE}
    assert runs["offline"].window_ticks == 24_576 * SERVICE
    longer = simulate_load(as_loadgen(program, "offline", 100))
    assert longer.window_ticks == 600 * 100 * 10**6
    assert longer.total(0, "offered") == 60_000
    assert runs["server"].program.streams[0].arrivals == Arrivals("random", Distribution("poisson", 2 * SERVICE))
    free = attrs.evolve(program.streams[0], deadline_ticks=None)
    with pytest.raises(ScenarioError, match="wanted both"):
        as_loadgen(attrs.evolve(program, streams=(free,)), "server", 1)
