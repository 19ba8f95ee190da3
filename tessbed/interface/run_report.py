"""Run report: the result of a scenario, job by job and backend by backend."""

from typing import Any

import attrs
import numpy as np

from tessbed.interface.argument_values import checked_name
from tessbed.interface.columns import arrays_of
from tessbed.interface.job_report import JobReport, job_report
from tessbed.scenarios.outcome import ScenarioRun
from tessbed.scenarios.report import document, exit_code, report_table

SHOWN = ("name", "op", "backend", "ticks", "job_ticks", "workers", "verified", "ok", "output_bytes", "output_sha256")


@attrs.frozen
class RunReport:
    """What a scenario's run came to. `jobs` has a JobReport for each job and backend, in the order of the run.

    `ok` is the verdict, `exit_code` that of `tessbed run`, `document` what it prints with --json; `print(report)` shows
    its table.

    >>> import tessbed
    >>> report = tessbed.Scenario.load("documents-2x17").run()
    >>> report.ok, report.exit_code
    (True, 0)
    >>> report.job("padded", "ev74").verified
    True
    """

    ok: bool
    exit_code: int
    jobs: tuple[JobReport, ...] = attrs.field(repr=lambda jobs: f"<{len(jobs):,} results>")
    document: dict[str, Any] = attrs.field(repr=False)
    text: str = attrs.field(repr=False)

    def __str__(self) -> str:
        return self.text

    def __getitem__(self, key: str) -> Any:
        return self.document[key]

    def job(self, name: str, backend: str = "ev74") -> JobReport:
        """The report of one job on one backend, by names. Raises SpecError for one that there is not."""
        found = [job for job in self.jobs if job.backend == checked_name("backend", backend, ("a65", "ev74"))]
        checked_name("name", name, [job.name for job in found] or [f"no job on {backend}"])
        return next(job for job in found if job.name == name)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The jobs by column, an array for each of SHOWN; what a job has not is NaN or None."""
        return arrays_of([{name: getattr(job, name) for name in SHOWN} for job in self.jobs])


def run_report(run: ScenarioRun) -> RunReport:
    """The report of a run."""
    jobs = [
        job_report(entry.job.name, entry.job.what, outcome, run.engine)
        for entry in run.jobs
        for outcome in entry.outcomes
    ]
    return RunReport(run.ok, exit_code(run), tuple(jobs), document(run), "\n".join(report_table(run)))
