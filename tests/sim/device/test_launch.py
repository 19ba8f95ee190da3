"""A launch: who starts when, what a fault stops, and which of several faults is the job's."""

from typing import Any

import pytest

from tests.sim.rig import DATA, HAND, build, copy_body, read

UNMAPPED = 0x10000  # behind the sixteen pages of data


def test_cores_start_one_after_the_other() -> None:
    """Core c starts its first worker c staggers after the launch, however many cores there are."""
    workers = build(copy_body, {"cores": 4, "workers": 4, "launch_stagger_ticks": 11}).run().workers
    assert [worker.start_ticks for worker in workers] == [0, 11, 22, 33]


def faulty(ticks: list[int], wrong: list[int]) -> Any:
    """Each worker computes for its ticks, and those in `wrong` then read memory that is not there."""

    def body(ctx: Any) -> Any:
        yield from ctx.compute(ticks[ctx.worker], lambda: None)
        yield from ctx.gather([read((ctx.worker in wrong) * UNMAPPED + 256 * ctx.worker, 0, 256)])

    return body


CORES = {"cores": 3, "launch_stagger_ticks": 0}


def test_the_earliest_fault_is_the_jobs() -> None:
    """Of three workers that fault, the one that ends first has the job's status, whatever its number."""
    rig = build(faulty([500, 20, 300], [0, 1, 2]), {**HAND, **CORES, "workers": 3})
    done = rig.run().completion
    assert (done.status, done.detail) == (0x103, DATA + UNMAPPED + 256)


def test_of_one_tick_the_lowest_worker_has_the_fault() -> None:
    """Workers that die in one tick are reported by the lowest number."""
    inject = {(0, worker, 0): "worker_died" for worker in (2, 1)}
    done = build(faulty([10, 10, 10], []), {**HAND, **CORES, "workers": 3}, inject=inject).run().completion
    assert (done.status, done.detail) == (0x107, 1)


def test_no_worker_starts_after_a_fault() -> None:
    """Those that run go on to their own end; of the others, none begins."""
    ticks = [10, 4000, 4000, 10, 10, 10, 10]
    stats = build(faulty(ticks, [0]), {**HAND, **CORES, "workers": 7}).run()
    assert [worker.worker for worker in stats.workers] == [0, 1, 2]
    assert [worker.stalls["compute"] for worker in stats.workers] == [10, 4000, 4000]
    assert min(stats.workers[1].finish_ticks, stats.workers[2].finish_ticks) > 4000


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_each_worker_runs_once(workers: int) -> None:
    """Every index of the grid runs once, on the core that is its number modulo the cores."""
    stats = build(copy_body, {**CORES, "workers": workers}).run()
    assert [worker.worker for worker in stats.workers] == list(range(workers))
