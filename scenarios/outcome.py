"""Outcomes: the result of each job of a scenario on each backend."""

from collections.abc import Iterator

import attrs
import numpy as np

from tessbed.scenarios.backends import BackendRun
from tessbed.scenarios.model import Scenario, ScenarioJob
from tessbed.scenarios.oracle.comparison import Mismatch

NO_OUTPUT = np.empty(0, np.uint8)


@attrs.frozen
class Trouble:
    """Why a job gave no output: fault, lost, hang, hazard, lifetime, or not_run behind one that corrupted the device.

    `status` is what a scenario can expect: the status of the completion record for a fault, else the kind.
    """

    kind: str
    text: str
    status: str


@attrs.frozen
class Outcome:
    """One job on one backend. `mismatch` is the first wrong byte; `run` has no output any more.

    `timing_only`: no byte was moved, so none was judged. `disagreement` is where two engines differ. `idle` has a
    sentence for each planned fault that struck nothing.
    """

    backend: str
    output_sha256: str | None
    output_bytes: int
    mismatch: Mismatch | None
    expected_sha256: str | None
    run: BackendRun | None
    trouble: Trouble | None = None
    expected_fault: str | None = None
    timing_only: bool = False
    disagreement: str | None = None
    idle: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """True where the oracle has seen every byte and found it right."""
        return self.trouble is None and self.mismatch is None and not self.timing_only

    @property
    def ok(self) -> bool:
        """As the scenario expects, and every fault that it plans has struck."""
        return self.as_expected and not self.idle

    @property
    def as_expected(self) -> bool:
        """Verified, with the hash that the scenario names, or failed in the way that it names."""
        if self.timing_only or self.disagreement:
            return self.disagreement is None
        if self.expected_fault:
            return self.trouble is not None and self.trouble.status == self.expected_fault
        return self.verified and self.expected_sha256 in (None, self.output_sha256)


@attrs.frozen
class JobOutcome:
    """One job on all its backends."""

    job: ScenarioJob
    outcomes: tuple[Outcome, ...]


@attrs.frozen
class ScenarioRun:
    """A scenario and the result of it. `notices` counts the oddities that the runtime saw, by kind.

    `engine` is what timed the EV74 jobs, `instead` why it is not the one that was asked for.
    """

    scenario: Scenario
    jobs: tuple[JobOutcome, ...]
    notices: dict[str, int]
    engine: str = "simpy"
    instead: str | None = None

    @property
    def outcomes(self) -> Iterator[Outcome]:
        """Every outcome, job by job."""
        return (outcome for job in self.jobs for outcome in job.outcomes)

    @property
    def ok(self) -> bool:
        """The verdict."""
        return all(outcome.ok for outcome in self.outcomes)
