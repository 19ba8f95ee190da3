"""The event queue: the one place that knows SimPy's private names, and refuses a SimPy that nobody has tried."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import simpy
from simpy.core import EmptySchedule

from tessbed.sim.errors import EngineError
from tessbed.sim.events import event_queue

ROOT = Path(__file__).resolve().parents[3]
PRIVATE = r"\b_(?:queue|eid|now|ok|resume|value|defused)\b"
"""SimPy's private names, as attributes of an environment, an event or a process."""
PRIVATE_USE = re.compile(rf"(?:\benv|\bevent|\bprocess|\btarget|\bwakeup|\bkind)\.{PRIVATE}|^ +_ok\b", re.MULTILINE)


@pytest.mark.parametrize("version", ["3.0.13", "4.0.2", "4.10.0", "4.2.0", "5.0", "40.1"])
def test_another_simpy_is_refused_with_what_to_install(version):
    """A version with another major or minor number is an EngineError that names both versions and the way out."""
    with pytest.raises(EngineError, match=rf"simpy: got version {re.escape(version)}, wanted 4\.1: .*pip install"):
        event_queue.check_version(version)


@pytest.mark.parametrize("version", [simpy.__version__, "4.1.0", "4.1.2.dev3+g1"])
def test_a_simpy_that_was_tried_is_taken(version):
    """The installed version and every patch of it pass."""
    event_queue.check_version(version)


def test_the_import_checks_the_version():
    """With another SimPy no run begins: one line says why, and the exit code is that of a wrong installation."""
    code = (
        "import runpy, sys, simpy; simpy.__version__ = '4.2.0'; sys.argv = ['tessbed', 'run', 'documents-2x17']\n"
        "runpy.run_module('tessbed', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tessbed run: simpy: got version 4.2.0, wanted 4.1: ")
    assert done.stderr.count("\n") == 1


def test_the_package_asks_for_the_version_that_is_checked():
    """The requirement in pyproject.toml admits the versions of SIMPY and no others."""
    major, minor = event_queue.SIMPY
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert f"simpy>={major}.{minor},<{major}.{minor + 1}" in needs


def test_no_other_module_uses_what_is_private_to_simpy():
    """Outside of event_queue.py the product names nothing private of SimPy's."""
    packages = [ROOT / package for package in ("sim", "firmware_models", "runtime", "scenarios")]
    modules = [path for package in packages for path in sorted(package.rglob("*.py")) if path.name != "event_queue.py"]
    found = [
        f"{path.relative_to(ROOT)}: {hit[0]}" for path in modules for hit in PRIVATE_USE.finditer(path.read_text())
    ]
    assert found == []
    assert PRIVATE_USE.search((ROOT / "sim/events/event_queue.py").read_text())


@pytest.mark.parametrize(
    ("ticks", "causes", "earliest"),
    [
        ((), {}, 99),
        ((5, 3, 8), {}, 3),
        ((5, 3, 8), {3: 7}, 5),
        ((5, 3, 8), {3: 99, 5: 99, 8: 11}, 11),
        ((1, 2, 3, 4, 5), {1: 90, 2: 80, 3: 70, 4: 60, 5: 50}, 50),
    ],
)
def test_the_earliest_cause_is_the_least_of_all_entries(ticks, causes, earliest):
    """`earliest_cause` is the least cause over the whole queue, each entry causing something in its tick or later."""
    env = simpy.Environment()
    for tick in ticks:
        event_queue.post(env, tick, event_queue.EFFECT, event_queue.Alarm())
    assert event_queue.earliest_cause(env, lambda tick, _: causes.get(tick, tick), 99) == earliest


def story(run, env: simpy.Environment) -> list[tuple[int, str]]:
    """What happens where processes, timeouts, failures and entries that are no events meet, until the fifth ring."""
    seen, rings = [], []

    def process(name: str, ticks: tuple[int, ...], failing: simpy.Event | None = None):
        for wait in ticks:
            yield env.timeout(wait)
            seen.append((env.now, name))
        if failing is not None:
            try:
                yield failing
            except KeyError:
                seen.append((env.now, f"{name} caught"))

    def ring(_: object) -> None:
        seen.append((env.now, "ring"))
        rings.append(env.now)

    failing = env.event()
    env.process(process("a", (1, 2, 3), failing))
    env.process(process("b", (3, 0, 3)))
    for tick in (0, 3, 3, 6, 9, 12):
        event_queue.post(env, tick, event_queue.EFFECT, event_queue.Alarm((ring,)))
    event_queue.at(env, 7, event_queue.WORKER, lambda _: failing.fail(KeyError("no")), None)
    run(lambda: len(rings) >= 5, rings)
    return seen


def test_the_loop_does_what_steps_do():
    """Every event in the same tick and order, also one that fails and is caught, up to the one that ends the wait."""
    one, other = simpy.Environment(), simpy.Environment()

    def by_steps(over, _) -> None:
        while not over():
            one.step()

    def by_loop(_, rings) -> None:
        ended: list[int] = []
        event_queue.post(other, 9, event_queue.EFFECT, event_queue.Alarm((ended.append,)))
        event_queue.run_until_any(other, ended)

    steps = story(by_steps, one)
    assert steps == story(by_loop, other)
    assert (7, "a caught") in steps
    assert (steps[-1], other.now) == ((9, "ring"), 9)


def test_the_loop_ends_as_a_step_does():
    """A failure that nobody catches is raised, an empty queue raises EmptySchedule."""
    env = simpy.Environment()
    env.event().fail(KeyError("nobody"))
    with pytest.raises(KeyError, match="nobody"):
        event_queue.run_until_any(env, [])
    with pytest.raises(EmptySchedule):
        event_queue.run_until_any(env, [])


def test_an_environment_may_step_in_its_own_way():
    """A RealtimeEnvironment waits in its step: the loop leaves every event to it."""

    class Counting(simpy.Environment):
        steps = 0

        def step(self) -> None:
            self.steps += 1
            super().step()

    env, over = Counting(), []
    event_queue.post(env, 3, event_queue.EFFECT, event_queue.Alarm((lambda _: None,)))
    event_queue.post(env, 4, event_queue.EFFECT, event_queue.Alarm((over.append,)))
    event_queue.run_until_any(env, over)
    assert (env.steps, env.now) == (2, 4)
