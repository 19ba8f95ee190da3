"""Task runner: runs the tasks of a stage here or in processes, keeps each result at once, and tells how it goes."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from time import monotonic

import attrs

from tessbed.scenarios.study.calibration.fit.fit_state import FitState, Result
from tessbed.scenarios.study.calibration.fit.tasks import Task, run_task

Hear = Callable[[str, Result, float], None]
"""Hears of a task that is done: its name, its result, and launches timed a second so far."""


@attrs.define
class TaskRunner:
    """Runs tasks on an executor, `width` at a time. What the state knows is not run again."""

    executor: Executor
    width: int
    state: FitState
    hear: Hear
    timed: int = 0
    began: float = attrs.field(factory=monotonic)

    def run(self, tasks: Sequence[Task]) -> dict[str, Result]:
        """The results by the names of the tasks, in their order. An interrupt keeps what is done."""
        known = self.state.known([task.name for task in tasks])
        waiting = [task for task in tasks if task.name not in known]
        running: dict[Future[Result], Task] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.width:
                    task = waiting.pop(0)
                    running[self.executor.submit(run_task, task)] = task
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: running[future].name):
                    name = running.pop(future).name
                    known[name] = self._keep(name, future.result())
        finally:
            for future in running:
                future.cancel()
        return {task.name: known[task.name] for task in tasks}

    def _keep(self, name: str, result: Result) -> Result:
        self.state.add(name, result)
        self.timed += result["timed"]
        self.hear(name, result, self.timed / max(1e-3, monotonic() - self.began))
        return result


def silent(name: str, result: Mapping[str, object], rate: float) -> None:
    """Tells nobody."""
