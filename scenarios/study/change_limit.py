"""Change limit: what a job may take more or less than in another run, and the jobs that break it.

A limit says what fails: `device_ticks > 2 %` is a job that takes over two percent more device ticks in the second
run, `job_ticks > 500` one that takes over 500 ticks more, `device_ticks < -5 %` one that takes over five percent less.
"""

import operator
import re
from collections.abc import Callable, Iterator, Sequence

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, nearest
from tessbed.scenarios.study.measurement import MeasuredJob, Measurement

OPTION = "--fail-if"
WANTED = "wanted a change that fails, such as 'device_ticks > 2 %' or 'job_ticks > 500'"
TEXT = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*([+-]?\d{1,15}(?:\.\d{1,9})?)\s*(%?)\s*")
QUANTITIES: dict[str, Callable[[MeasuredJob], int]] = {
    "device_ticks": lambda measured: measured.stats.device_ticks,
    "job_ticks": lambda measured: measured.stats.job_ticks,
}
RELATIONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


@attrs.frozen
class ChangeLimit:
    """A limit as it was written: a quantity, a relation, a number of ticks or of percent."""

    text: str
    quantity: str
    relation: str
    number: float
    percent: bool

    def breaches(self, before: Measurement, after: Measurement) -> Iterator["Breach"]:
        """The jobs of both runs that break it, in order."""
        read, earlier = QUANTITIES[self.quantity], {job.job.name: job for job in before.jobs}
        for job in after.jobs:
            if job.job.name in earlier:
                breach = Breach(self, job.job.name, read(earlier[job.job.name]), read(job))
                if RELATIONS[self.relation](breach.percent if self.percent else breach.ticks, self.number):
                    yield breach


@attrs.frozen
class Breach:
    """A job that breaks a limit: its ticks before and after."""

    limit: ChangeLimit
    job: str
    before: int
    after: int

    @property
    def ticks(self) -> int:
        """The change."""
        return self.after - self.before

    @property
    def percent(self) -> float:
        """The same of what it was."""
        return 100 * self.ticks / self.before if self.before else float("inf") if self.ticks else 0.0

    def __str__(self) -> str:
        change = f"{self.ticks:+,}, {self.percent:+.2f} %" if self.before else f"{self.ticks:+,}"
        return f"{self.job}: {self.before:,} to {self.after:,} {self.limit.quantity} ({change}): {self.limit.text}"

    def document(self) -> dict[str, object]:
        """As JSON holds it."""
        named = {"limit": self.limit.text, "job": self.job, "quantity": self.limit.quantity}
        return {**named, "before_ticks": self.before, "after_ticks": self.after, "difference_ticks": self.ticks}


def parse_limits(texts: Sequence[str]) -> list[ChangeLimit]:
    """The limits. Raises ScenarioError with every one that is none."""
    limits, problems = [], []
    for text in texts:
        found = TEXT.fullmatch(text)
        if found is None:
            problems.append(f'got "{text}", {WANTED}')
        elif found[1] not in QUANTITIES:
            problems.append(f'got "{text}", wanted device_ticks or job_ticks{nearest(found[1], QUANTITIES)}')
        else:
            limits.append(ChangeLimit(" ".join(text.split()), found[1], found[2], float(found[3]), bool(found[4])))
    if problems:
        raise ScenarioError([Problem(Location(OPTION), text, "usage") for text in problems])
    return limits


def check_common(before: Measurement, after: Measurement) -> list[str]:
    """The jobs that only one run has, which no limit judges. Raises ScenarioError where there is none to judge."""
    one, other = ([job.job.name for job in run.jobs] for run in (before, after))
    if not set(one) & set(other):
        raise ScenarioError([Problem(Location(OPTION), "got runs without a job of the same name, wanted one at least")])
    return [name for name in dict.fromkeys([*one, *other]) if not (name in one and name in other)]
