"""The books of a load: every one that does not balance is found, and replications differ in what is random alone."""

import attrs
import pytest

from tessbed.scenarios.load import simulation
from tessbed.scenarios.load.load_model import Arrivals, Distribution
from tessbed.scenarios.load.percentiles import mean_interval
from tessbed.scenarios.load.simulation import count_load, simulate_load
from tessbed.scenarios.load.tally import broken_identities
from tests.scenarios.load.programs import constant, tandem

RANDOM = tandem(Arrivals("random", Distribution("poisson", 100)), [constant(80)], 300, queue=3, on_full="drop_old")
WRONG = {
    "a frame that went missing": ("streams", "offered"),
    "Little's law": ("streams", "area"),
    "busy time": ("stations", "busy_area"),
    "waiting time": ("stations", "queue_area"),
}


@pytest.mark.parametrize(("part", "name"), WRONG.values(), ids=WRONG)
def test_a_book_that_does_not_balance_is_found(part: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One tick or one frame too many is one broken identity, and the simulation does not go on."""
    tally = count_load(RANDOM, 0)
    assert list(broken_identities(tally)) == []
    entry = getattr(tally, part)[0]
    setattr(entry, name, getattr(entry, name) + 1)
    assert len(list(broken_identities(tally))) == 1
    monkeypatch.setattr(simulation, "count_load", lambda program, replication: tally)
    with pytest.raises(RuntimeError, match="replication 0: "):
        simulate_load(RANDOM)


def test_replications_cover_what_theory_says() -> None:
    """The interval of ten replications of M/M/1 covers its mean latency, and no two of them are equal."""
    program = tandem(
        Arrivals("random", Distribution("poisson", 2000)), [Distribution("poisson", 1000)], 5000, warmup=50
    )
    run = simulate_load(attrs.evolve(program, replications=10))
    means = [run.mean_latency(tally, 0) for tally in run.tallies]
    low, high = mean_interval(means) or (0, 0)
    assert low < 2000 < high
    assert len(set(means)) == 10
