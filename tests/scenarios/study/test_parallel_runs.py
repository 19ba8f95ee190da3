"""Parallel runs: the same documents with any number of processes, in order, and the exceptions of a serial run."""

import os
import threading
from functools import partial
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.study import sensitivity, worker_scaling
from tessbed.scenarios.study.measurement import measure_scenario, on_device, studied
from tessbed.scenarios.study.parallel_runs import ParallelRuns
from tessbed.scenarios.study.sweep import executors
from tests.scenarios.texts import SMALL

SCENARIO = studied(compose(parse_toml(SMALL.replace("[[jobs]]\n", '[[jobs]]\nbackend = "ev74"\n'), "small"), Path()))
DEVICES = [on_device(SCENARIO, workers=count).device for count in (3, 1, 4, 2)]


@pytest.fixture(params=[1, 2], ids=["here", "two processes"])
def runs(request, monkeypatch):
    """(where runs are done, the numbers that its progress heard)."""
    monkeypatch.setattr(executors, "HERE_S", 0.0)
    heard = []
    return ParallelRuns(request.param, heard.append), heard


def process_and_workers(scenario, engine, device):
    """Where this ran, and on what."""
    return os.getpid(), device.workers


def refusing(scenario, engine, device):
    """Raises for one and for two workers."""
    if device.workers < 3:
        raise ArithmeticError(f"{device.workers} workers")
    return device.workers


def dying(scenario, engine, device):
    """Ends the process of one worker."""
    if device.workers == 1:
        os._exit(3)
    return device.workers


def test_results_come_in_the_order_of_the_devices(runs) -> None:
    """From as many processes as there should be, each run counted once."""
    where, heard = runs
    found = where.run(process_and_workers, SCENARIO, "exact", DEVICES)
    assert [workers for _, workers in found] == [3, 1, 4, 2]
    assert (os.getpid() in {process for process, _ in found}) == (where.processes == 1)
    assert sum(heard) == 4


def test_no_thread_of_a_pool_outlives_the_runs(runs) -> None:
    """One that is still closing when the interpreter ends may print an error of its own, in Python 3.11."""
    before = threading.enumerate()
    runs[0].run(process_and_workers, SCENARIO, "exact", DEVICES)
    assert threading.enumerate() == before


def test_the_exception_of_the_first_device_that_raises(runs) -> None:
    """As a serial run would have raised it."""
    with pytest.raises(ArithmeticError, match="1 workers"):
        runs[0].run(refusing, SCENARIO, "exact", DEVICES)


def test_a_process_that_dies_is_named(monkeypatch) -> None:
    """Twice on the same device: then the study ends, and says where."""
    monkeypatch.setattr(executors, "HERE_S", 0.0)
    with pytest.raises(ChildProcessError, match="run 2 of 4: its worker died twice"):
        ParallelRuns(2).run(dying, SCENARIO, "exact", DEVICES)


def test_documents_do_not_depend_on_processes(runs) -> None:
    """Sensitivities and worker scaling equal those of runs one by one, in this process, without this module."""
    base, rows = sensitivity.sensitivities(SCENARIO, "exact", runs[0])
    assert sum(runs[1]) == sensitivity.run_count(SCENARIO)
    for row in rows:
        for cell in row.cells.values():
            alone = measure_scenario(on_device(SCENARIO, **row.knob.changes(cell.value)), trace=False)
            assert cell.ticks == alone.device_ticks
    assert sensitivity.document(base, rows) == sensitivity.document(*sensitivity.sensitivities(SCENARIO, "exact"))
    scaled = partial(worker_scaling.document, SCENARIO, 5, 5.0, "exact")
    assert scaled(runs[0]) == scaled()
    job = attrs.evolve(SCENARIO, jobs=SCENARIO.jobs[:1])
    ticks = [measure_scenario(on_device(job, workers=count)).device_ticks for count in range(1, 6)]
    assert [point["device_ticks"] for point in scaled()["jobs"][0]["points"]] == ticks


def test_short_work_starts_no_process(monkeypatch) -> None:
    """Runs stay here until they have taken as long as processes take to start."""
    assert len({process for process, _ in ParallelRuns(2).run(process_and_workers, SCENARIO, "exact", DEVICES)}) == 1
