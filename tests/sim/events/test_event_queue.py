"""The event queue: the one place that knows SimPy's private names, and refuses a SimPy that nobody has tried."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import simpy

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
