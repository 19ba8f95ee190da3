"""Scenario items: a scenario file as a collector, and each job of it on each backend as a test."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from tessbed.commands.diagnostics import diagnostics
from tessbed.commands.exits import code_of
from tessbed.pytest_plugin.expectation_update import JobMeasurement
from tessbed.scenarios.format.diagnostics import ScenarioError, first_lines
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.library import read_source
from tessbed.scenarios.model import AnyJob, Scenario, ScenarioJob
from tessbed.scenarios.outcome import Outcome, ScenarioRun
from tessbed.scenarios.report import complaints, report_table
from tessbed.scenarios.runner import run_scenario


class UnexpectedOutcome(Exception):
    """An outcome that is not as the scenario expects; the text is what `tessbed run` prints for it."""


def shown_path(path: Path, config: pytest.Config) -> str:
    """The path from where pytest was started."""
    try:
        return os.path.relpath(path, config.invocation_params.dir)
    except ValueError:  # another drive
        return str(path)


class ScenarioFile(pytest.File):
    """A scenario file: an item for each job and backend. All EV74 jobs share a device, so they run together."""

    _scenario: Scenario | None = None
    _device_run: ScenarioRun | None = None
    _lines: tuple[int, ...] = ()

    @property
    def shown(self) -> str:
        """The file as messages and commands name it, from where pytest was started."""
        return shown_path(self.path, self.config)

    def collect(self) -> Iterator["ScenarioItem"]:
        """The items. Raises CollectError with every error of the file, as the command line shows them."""
        try:
            source, _ = read_source(str(self.path))
            self._scenario = compose(source, self.path.parent)
        except ScenarioError as error:
            lines = _shown(first_lines(error.problems), str(self.path), self.shown)
            raise self.CollectError("\n".join(lines)) from None
        for job in self._scenario.jobs:
            line = source.place(("jobs", job.index)).line
            for backend in job.backends:
                yield ScenarioItem.from_parent(self, name=f"{job.name}[{backend}]", job=job, backend=backend, line=line)

    def run(self, job: AnyJob, backend: str) -> ScenarioRun:
        """The run of one job on one backend; on EV74 with the jobs before it, which leave their kernels loaded."""
        assert self._scenario is not None
        if backend == "a65" and isinstance(job, ScenarioJob):
            return run_scenario(attrs.evolve(self._scenario, jobs=(attrs.evolve(job, backends=("a65",)),)))
        if self._device_run is None:
            jobs = tuple(_on_ev74(each) for each in self._scenario.jobs if "ev74" in each.backends)
            self._device_run = run_scenario(attrs.evolve(self._scenario, jobs=jobs))
        entry = next(entry for entry in self._device_run.jobs if entry.job.index == job.index)
        return attrs.evolve(self._device_run, jobs=(entry,))


def _on_ev74(job: AnyJob) -> AnyJob:
    """The job on the EV74 alone; a kernel of one's own runs nowhere else."""
    return attrs.evolve(job, backends=("ev74",)) if isinstance(job, ScenarioJob) else job


class ScenarioItem(pytest.Item):
    """One job on one backend. Its ticks and the hash of its output are properties of its report, and of JUnit XML."""

    def __init__(self, *, job: AnyJob, backend: str, line: int, **more: Any) -> None:
        super().__init__(**more)
        self.job, self.backend, self.line = job, backend, line
        self.measured: JobMeasurement | None = None
        if self.config.pluginmanager.hasplugin("xdist"):
            self.add_marker(pytest.mark.xdist_group(str(self.path)))  # for --dist loadgroup: a file runs once

    @property
    def file(self) -> ScenarioFile:
        """The scenario file."""
        assert isinstance(self.parent, ScenarioFile)
        return self.parent

    def runtest(self) -> None:
        """Run the job. Raises UnexpectedOutcome; an update accepts every hash and all ticks of right bytes."""
        run = self.file.run(self.job, self.backend)
        (outcome,) = run.jobs[0].outcomes
        self.user_properties += _properties(outcome)
        right = outcome.verified or (outcome.unjudged and outcome.trouble is None)
        accepted = self.config.getoption("tessbed_update") and right and not self.job.expected_fault
        if accepted:
            self.measured = _measurement(self.path, self.job, outcome)
        if not (outcome.ok or (accepted and not outcome.idle)):
            what = [*complaints(outcome), *outcome.idle]
            lines = [*what, "", *report_table(run), "", f"the whole scenario: tessbed run {self.file.shown}"]
            raise UnexpectedOutcome("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *more: Any, **options: Any) -> Any:
        """What the command line shows; the traceback only of what is a bug of tessbed."""
        error = excinfo.value
        if isinstance(error, UnexpectedOutcome):
            return str(error)
        if isinstance(error, Exception) and code_of(error) is not None:
            return "\n".join(first_lines(diagnostics(error, f"tessbed run {self.file.shown}")))
        return super().repr_failure(excinfo, *more, **options)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file, the line of the job (from 0), and the item's name."""
        return self.path, max(0, self.line - 1), f"{self.file.shown}: {self.name}"


def _shown(lines: list[str], full: str, shown: str) -> Iterator[str]:
    """The lines with the file as it was named."""
    return (shown + line.removeprefix(full) if line.startswith(f"{full}:") else line for line in lines)


def _properties(outcome: Outcome) -> list[tuple[str, object]]:
    result = outcome.run.result if outcome.run and not outcome.trouble else None
    ticks = [("device_ticks", result.device_ticks), ("job_ticks", result.job_ticks)] if result else []
    return [*ticks, *([("output_sha256", outcome.output_sha256)] if outcome.output_sha256 else [])]


def _measurement(path: Path, job: AnyJob, outcome: Outcome) -> JobMeasurement:
    result = outcome.run.result if outcome.run else None
    ticks = {"device_ticks": result.device_ticks, "job_ticks": result.job_ticks} if result else {}
    return JobMeasurement(str(path), job.index, {"output_sha256": outcome.output_sha256, **ticks})
