"""Parallel runs: one scenario on many devices, in the processes that sweeps use; the results in the devices' order.

A result depends on its scenario, engine and device alone, so that the number of processes changes no study. What raises
is run again in this process, in its turn, so that a study ends with the exception of a serial one.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

import attrs

from tessbed.scenarios.model import Scenario
from tessbed.scenarios.study.sweep.batches import BatchRunner
from tessbed.scenarios.study.sweep.executors import growing_executor
from tessbed.scenarios.study.sweep.point import Batch, Result, run_chunk
from tessbed.sim.spec.device_spec import DeviceSpec

T = TypeVar("T")


@attrs.frozen
class ParallelRuns:
    """Where the runs of a study are done: so many `processes`, or one for each CPU, as soon as they pay off.

    `progress` hears of each number of runs that are done.
    """

    processes: int | None = None
    progress: Callable[[int], None] = lambda done: None

    def run(
        self,
        work: Callable[[Scenario, str, DeviceSpec], T],
        scenario: Scenario,
        engine: str,
        devices: Sequence[DeviceSpec],
    ) -> list[T]:
        """What `work`, a function of a module, returns for each device. Raises what it raises, of the first device."""
        chosen = growing_executor(self.processes)
        runner = BatchRunner(chosen.make_executor, chosen.width, chosen.deaths, partial(_chunk, work))
        batch = Batch(scenario, engine, tuple((str(place), device) for place, device in enumerate(devices)))
        found: dict[str, dict[str, Any]] = {}
        with closing(runner):
            for results in runner.run([batch]):
                found.update(results)
                self.progress(len(results))
        return [_result(work, batch, key, device, found[key]) for key, device in batch.points]


SERIAL = ParallelRuns(1)
"""All runs here, one after the other."""


def _chunk(work: Callable[..., Any], batch: Batch) -> list[Result]:
    return run_chunk(partial(_attempt, work, batch.scenario, batch.engine), batch)


def _attempt(work: Callable[..., Any], scenario: Scenario, engine: str, device: DeviceSpec) -> dict[str, Any]:
    """What a process hands back: exceptions do not all survive the way."""
    try:
        return {"value": work(scenario, engine, device)}
    except Exception:
        return {"raised": True}


def _result(work: Callable[..., T], batch: Batch, key: str, device: DeviceSpec, found: dict[str, Any]) -> T:
    if "error" in found:
        raise ChildProcessError(f"{batch.scenario.name}: run {int(key) + 1} of {len(batch.points)}: {found['error']}")
    return work(batch.scenario, batch.engine, device) if "raised" in found else found["value"]
