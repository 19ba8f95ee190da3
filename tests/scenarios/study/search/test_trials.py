"""Searches: the minimum of a sweep, no configuration timed twice, the same trials from the same seed."""

import random
import sqlite3
from contextlib import closing

import pytest

from tessbed.cli import main
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.option_values import LOAD_OBJECTIVES, OBJECTIVES, SAMPLERS
from tessbed.scenarios.study.search import report
from tessbed.scenarios.study.search.sampler import OptunaSampler, sampler
from tessbed.scenarios.study.search.trials import BATCH, current_result, opened_memory, search
from tessbed.scenarios.study.sweep import executors, point, space
from tessbed.scenarios.study.sweep.batches import BatchRunner
from tessbed.scenarios.study.sweep.execution import open_store, plan_sweep, run_sweep
from tessbed.scenarios.study.sweep.executors import LocalExecutor
from tessbed.scenarios.study.sweep.point import PointRunner
from tessbed.scenarios.study.sweep.resolver import Resolver

pytest.importorskip("optuna")

NAME = "documents-2x17"
ON_DEVICE = ("jobs.*.backend=ev74",)
# Scratch of 66,048 bytes has no room for more than two slots: a third of the points can not be.
OVER = ("device.workers=1..4", "device.slots=1,2,8", "device.scratch_bytes=66048,262144")


@pytest.fixture
def timed(monkeypatch):
    """Counts, beside the search and its own counters, what is simulated: (engine, device) of each."""
    found = []

    def counted(self, device):
        found.append((self.engine, device))
        return row(self, device)

    row = PointRunner.row
    monkeypatch.setattr(PointRunner, "row", counted)
    return found


def searched(
    path,
    over=OVER,
    chosen="tpe",
    count=1000,
    seed=0,
    column="device_ticks",
    engine="exact",
    name=NAME,
    processes=1,
    **more,
):
    """(what was found, the memory) of a search with its results in `path`."""
    spanned = space.parse_space(over)
    resolver = Resolver(name, ON_DEVICE, engine)
    with closing(open_store(str(path))) as store, opened_memory(resolver, store, processes) as memory:
        count = min(count, spanned.size)
        return search(spanned, sampler(chosen, spanned, count, seed), memory, column, count, seed, **more), memory


def swept(path, over=OVER, count=None, seed=0):
    """(points, rows) of a sweep of the same space."""
    planned = plan_sweep(NAME, ON_DEVICE, space.parse_space(over), count, seed, "exact")
    with closing(open_store(str(path))) as store:
        return planned.points, run_sweep(planned, store, BatchRunner(LocalExecutor, 1))


def reported(found, memory, minimise="ticks", within=None):
    """The document of a search."""
    return report.document(report.SearchRequest("x", minimise, "tpe", 0, within), found, memory)


def some_space(rng):
    """A small space of device parameters, by chance."""
    axes = {
        "device.workers": range(1, 9),
        "device.slots": range(1, 9),
        "device.dma.outstanding": (1, 2, 4, 8),
        "device.scratch_bytes": (65920, 66048, 67000, 262144),
        "device.dma.arbitration": ('"fifo"', '"round_robin"'),
        "jobs.0.tiled.channels": ('"compact"', '"pad16"'),
    }
    keys = rng.sample(list(axes), rng.randint(1, 3))
    values = {key: rng.sample(list(axes[key]), rng.randint(2, min(4, len(axes[key])))) for key in keys}
    return [f"{key}={','.join(map(str, chosen))}" for key, chosen in values.items()]


@pytest.mark.parametrize("minimise", [name for name in OBJECTIVES if name not in LOAD_OBJECTIVES])
@pytest.mark.parametrize("seed", range(6))
def test_enough_trials_find_the_minimum_of_a_sweep(seed, minimise, tmp_path) -> None:
    """On small spaces every sampler tries all, and its best is the sweep's minimum; what can not be is no end of it."""
    column, rng = OBJECTIVES[minimise], random.Random(seed)
    over = some_space(rng)
    _, rows = swept(tmp_path / "swept", over)
    least = min((row[column] for row in rows if column in row), default=None)
    for chosen in SAMPLERS:
        found, memory = searched(tmp_path / chosen, over, chosen, seed=seed, column=column)
        document = reported(found, memory, minimise)
        assert found.exhaustive
        assert len({trial.point for trial in found.trials}) == len(rows) == len(found.trials)
        assert (document["best"] and document["best"]["ticks"]) == least
        assert document["counts"]["without_result"] == sum("error" in row for row in rows)


@pytest.mark.parametrize("chosen", SAMPLERS)
def test_no_configuration_is_timed_twice(chosen, tmp_path, timed) -> None:
    """Each resolved device once, by an independent count; the second search, and a sweep before one, leave nothing."""
    found, memory = searched(tmp_path / "r", chosen=chosen)
    refused = sum("error" in trial.row for trial in found.trials)
    assert (len(found.trials), refused) == (24, 4)
    assert len(timed) == len(set(timed)) == memory.simulated == 20
    assert memory.remembered == 1  # the scenario as it stands is one of the points
    again, remembering = searched(tmp_path / "r", chosen=chosen)
    assert (len(timed), remembering.simulated, remembering.remembered) == (20, 0, 21)
    assert (again.trials, again.repeated) == (found.trials, found.repeated)
    swept(tmp_path / "s")
    assert len(timed) == 40
    searched(tmp_path / "s", chosen=chosen)
    assert len(timed) == 40


def test_an_interrupted_search_goes_on(tmp_path, timed) -> None:
    """The same search again ends as one that nobody interrupted, and times only what is left."""

    done = []

    def stop(more):
        done.append(more)
        if sum(done) >= 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        searched(tmp_path / "a", progress=stop)
    before = len(timed)
    assert before < 20
    resumed, memory = searched(tmp_path / "a")
    assert (len(timed), len(set(timed)), memory.simulated) == (20, 20, 20 - before)
    assert resumed == searched(tmp_path / "b")[0]


def test_another_engine_remembers_nothing_of_this_one(tmp_path, timed) -> None:
    """Results are kept by engine, too."""
    searched(tmp_path / "r", OVER[:1])
    searched(tmp_path / "r", OVER[:1], engine="simpy")
    assert [engine for engine, _ in timed] == ["exact"] * 4 + ["simpy"] * 4


def test_what_a_sampler_proposes_again_is_answered_from_memory(tmp_path, timed) -> None:
    """A stubborn sampler gets the same answer each time, and an untried point of the seed's draw in between."""

    class Stubborn:
        learns = True

        def __init__(self):
            self.wanted, self.reported = [], []

        def ask(self):
            return self.wanted.pop() if self.wanted else 3

        def tell(self, value):
            self.reported.append(value)

        def want(self, number):
            self.wanted.append(number)

    spanned, stubborn = space.parse_space(["device.workers=1..8"]), Stubborn()
    resolver = Resolver(NAME, ON_DEVICE, "exact")
    with closing(open_store(str(tmp_path / "r"))) as store, opened_memory(resolver, store, 1) as memory:
        found = search(spanned, stubborn, memory, "device_ticks", 8, 5)
    assert dict(found.trials[0].point) == {"device.workers": "4"}
    assert len({trial.point for trial in found.trials}) == 8
    assert found.repeated == 7
    assert stubborn.reported[1::2] == [found.trials[0].row["device_ticks"]] * 7
    assert len(timed) == 8


@pytest.mark.parametrize("chosen", ["tpe", "genetic"])
def test_one_seed_one_search(chosen, tmp_path) -> None:
    """Two searches of a space that they do not exhaust make the same trials; another seed makes others."""
    over = ("device.workers=1..16", "device.slots=1..8", "device.dma.outstanding=1..16")
    one, two, other = (searched(tmp_path / str(n), over, chosen, 30, seed)[0] for n, seed in enumerate((1, 1, 2)))
    assert (one.trials, one.repeated) == (two.trials, two.repeated)
    assert one.trials != other.trials
    assert len(one.trials) == 30
    assert not one.exhaustive


@pytest.mark.parametrize("chosen", SAMPLERS)
def test_any_number_of_processes_makes_the_same_search(chosen, tmp_path, monkeypatch) -> None:
    """Trials, repetitions and counts of two real processes are those of this one alone."""
    monkeypatch.setattr(executors, "HERE_S", 0.0)
    over = ("device.workers=1..16", "device.slots=1..8", "device.dma.outstanding=1..16")
    (one, serial), (two, parallel) = (
        searched(tmp_path / str(count), over, chosen, 20, 5, processes=count) for count in (1, 2)
    )
    assert one == two
    assert (serial.simulated, serial.remembered) == (parallel.simulated, parallel.remembered)
    assert serial.bases == parallel.bases


def test_a_batch_is_answered_as_a_whole(tmp_path) -> None:
    """A sampler that learns gives a batch of new points before it hears of the first, in the order of its asking."""
    heard, asked = [], []

    class Counting:
        learns = True

        def ask(self):
            asked.append(len(heard))
            return len(asked) - 1

        def tell(self, value):
            heard.append(value)

        def want(self, number):
            pass

    spanned, resolver = space.parse_space(["device.workers=1..20"]), Resolver(NAME, ON_DEVICE, "exact")
    with closing(open_store(str(tmp_path / "r"))) as store, opened_memory(resolver, store, 1) as memory:
        found = search(spanned, Counting(), memory, "device_ticks", 20, 0)
    assert asked == [0] * BATCH + [BATCH] * BATCH + [2 * BATCH] * 4
    assert heard == [trial.row["device_ticks"] for trial in found.trials]


def test_random_and_grid_take_the_points_of_a_sweep(tmp_path) -> None:
    """random draws what `sweep --random` draws of the same seed, grid goes in the sweep's order."""
    drawn, _ = swept(tmp_path / "a", count=7, seed=3)
    assert tuple(trial.point for trial in searched(tmp_path / "b", chosen="random", count=7, seed=3)[0].trials) == drawn
    everything, _ = swept(tmp_path / "a")
    assert tuple(t.point for t in searched(tmp_path / "b", chosen="grid", count=7)[0].trials) == everything[:7]


@pytest.mark.parametrize("chosen", ["tpe", "genetic"])
def test_learning_begins_at_the_scenario_itself(chosen, tmp_path) -> None:
    """So no search ends with less than what is there already."""
    found, _ = searched(tmp_path / "r", chosen=chosen, count=1)
    assert dict(found.trials[0].point) == {
        "device.workers": "4",
        "device.slots": "2",
        "device.scratch_bytes": "262144",
    }
    assert found.trials[0].row == found.baseline
    resolver = Resolver(NAME, ON_DEVICE, "exact")
    assert current_result(resolver, space.parse_space(["device.workers=1,2"])) is None
    assert current_result(resolver, space.parse_space(["device.workers=0x4,2"])) == 0


@pytest.mark.parametrize("chosen", ["tpe", "genetic"])
def test_learning_beats_chance(chosen) -> None:
    """In a bowl of 160,000 points, what a learner proposes after 100 trials lies much lower than what chance does."""
    spanned = space.parse_space([f"device.k{n}=1..20" for n in range(4)])
    for seed in range(3):
        learnt, drawn = (_late(name, spanned, seed) for name in (chosen, "random"))
        assert sum(learnt) < 0.6 * sum(drawn)


def _late(name, spanned, seed):
    """Worths of the last 50 of 150 proposals: squares of the distance from the bottom."""
    chosen, values = sampler(name, spanned, 150, seed), []
    for _ in range(150):
        values.append(sum((place - 11) ** 2 for place in spanned.places(chosen.ask())))
        chosen.tell(values[-1])
    return values[100:]


def test_a_space_beyond_any_integer_of_the_machine(tmp_path) -> None:
    """10 to the 24 configurations are no reason not to search: distinct points, by every sampler."""
    knobs = ("setup_ticks", "issue_ticks", "row_ticks", "outstanding", "outstanding_bursts", "wait_group")
    over = [f"device.dma.{name}=1..10000" for name in knobs]
    assert space.parse_space(over).size == 10**24
    for chosen in SAMPLERS:
        found, _ = searched(tmp_path / chosen, over, chosen, 5)
        assert len({trial.point for trial in found.trials}) == 5


def test_the_cheapest_is_by_the_order_of_the_values(tmp_path) -> None:
    """Within 30 % of the best: the earliest value of the first key, then of the second, as they were given."""
    found, memory = searched(tmp_path / "r", ("device.workers=4,3,2,1", "device.slots=2,1"))
    ticks = {tuple(t["settings"].values()): t["ticks"] for t in reported(found, memory)["trials"]}
    for within in (0, 10, 30, 1000):
        limit = min(ticks.values()) * (100 + within)
        near = [key for key, value in ticks.items() if value * 100 <= limit]
        first = min(near, key=lambda key: (-key[0], -key[1]))
        assert tuple(reported(found, memory, within=within)["cheapest"]["settings"].values()) == first
    assert reported(found, memory)["cheapest"] is None


def test_a_person_reads_the_same_as_a_script(tmp_path) -> None:
    """The lines have the best configuration, its gain over the scenario as it stands, and why some have no result."""
    found, memory = searched(tmp_path / "r")
    document = reported(found, memory, within=5)
    base, best = document["as_it_stands_ticks"], document["best"]
    text = list(report.lines(document))
    assert text[0] == "x: the least ticks of all 24 configurations; model ticks"
    assert "4 without a result:" in text
    assert sum("room for an input and 8 slots" in line for line in text) == 1
    gain = f"{100 * (best['ticks'] - base) / base:+.1f} %"
    settings = " ".join(f"{key}={value}" for key, value in best["settings"].items())
    assert f"best: {best['ticks']:,} ({gain}) with {settings}" in text
    assert f"unchanged: {base:,}" in text
    (row,) = (line for line in text if line.startswith(f"{best['trial']:5}  "))
    assert row.split()[1:] == [*map(str, best["settings"].values()), f"{best['ticks']:,}", *gain.split()]


def test_nothing_runs_and_the_search_says_so(tmp_path) -> None:
    """A job that always fails leaves no best, and no traceback."""
    found, memory = searched(tmp_path / "r", ("device.workers=2..4",), name="fault-dma-error")
    document = reported(found, memory)
    assert (document["best"], document["as_it_stands_ticks"], document["engine"]) == (None, None, "")
    assert list(report.lines(document))[-1] == "no configuration has a result"
    assert "  3 of them: job struck ended in dma_error" in list(report.lines(document))


def test_the_best_so_far_by_hand() -> None:
    """It begins with the first result, and never rises."""
    assert list(report.best_so_far([None, 9, 7, None, 8, 7, 3])) == [(2, 9), (3, 7), (4, 7), (5, 7), (6, 7), (7, 3)]


def test_without_optuna(monkeypatch) -> None:
    """The message says what to install, and which samplers do without."""
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    spanned = space.parse_space(["device.workers=1..4"])
    with pytest.raises(
        ScenarioError, match=r"--sampler: .* pip install 'tessbed\[search\]'; random and grid do without"
    ):
        sampler("tpe", spanned, 4, 0)
    assert [sampler(name, spanned, 4, 0).ask() for name in ("random", "grid")] == [0, 0]
    assert not isinstance(sampler("grid", spanned, 4, 0), OptunaSampler)


def test_an_interrupted_search_says_how_many_configurations_are_kept(tmp_path, monkeypatch, capfd) -> None:
    """Each chunk is in the file when it is done; the number is that of the rows."""
    monkeypatch.chdir(tmp_path)
    calls, row = iter(range(100)), PointRunner.row

    def counted(self, device):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return row(self, device)

    monkeypatch.setattr(PointRunner, "row", counted)
    monkeypatch.setattr(point, "CHUNK_S", 0)
    with pytest.raises(SystemExit) as ended:
        main(["search", "luma", "--over", "device.workers=1..16", "--sampler", "grid", "--db", "r"])
    assert ended.value.code == 130
    assert capfd.readouterr().err == (
        "interrupted; 5 configurations of this search are in r, the same command resumes\ninterrupted\n"
    )
    assert sqlite3.connect("r").execute("select count(*) from results").fetchone() == (5,)


def test_a_search_counts_the_rows_that_it_does_not_believe(tmp_path, monkeypatch, capfd) -> None:
    """One line for all of them, and the same result."""
    monkeypatch.chdir(tmp_path)
    said = []
    for change in ("version = '0'", "row = '{}'"):
        with pytest.raises(SystemExit):
            main(["search", "luma", "--over", "device.workers=1..4", "--sampler", "grid", "--db", "r"])
        said.append(capfd.readouterr())
        with closing(sqlite3.connect("r")) as base, base:
            base.execute(f"update results set {change} where key in (select key from results limit 3)")
    assert said[0].out == said[1].out
    words = "3 rows in r damaged or of another version: not used, computed again"
    assert [text.err.splitlines().count(words) for text in said] == [0, 1]
