"""Which backend takes fewer ticks: decided only where it holds over the whole band."""

import attrs
import pytest

from tessbed.scenarios.library import load
from tessbed.scenarios.outcome import JobOutcome, backend_ahead
from tessbed.scenarios.report import ahead_lines, document, report_table
from tessbed.scenarios.runner import run_scenario

RUN = run_scenario(load("documents-2x17"))
JOB_TICKS = 157_993


def entry(ticks: int, a55: int, a76: int) -> JobOutcome:
    """The first job, as if the A65 took other ticks."""
    first = RUN.jobs[0]
    a65, ev74 = first.outcomes
    assert ev74.run.result.job_ticks == JOB_TICKS
    run = attrs.evolve(a65.run, ticks=ticks, band={"cortex-a55": a55, "cortex-a76": a76})
    return attrs.evolve(first, outcomes=(attrs.evolve(a65, run=run), ev74))


@pytest.mark.parametrize(
    ("ticks", "wanted"),
    [
        ((JOB_TICKS - 1, 9, 9), "a65"),
        ((JOB_TICKS, 9, 9), "open"),
        ((9, JOB_TICKS + 1, 9), "open"),
        ((9, 9, JOB_TICKS + 1), "open"),
        ((JOB_TICKS + 1, JOB_TICKS + 3, JOB_TICKS), "open"),
        ((JOB_TICKS + 3, JOB_TICKS + 2, JOB_TICKS + 1), "ev74"),
    ],
)
def test_it_holds_over_the_band(ticks, wanted):
    """A tie, or one schedule of three on the other side, leaves it open."""
    assert backend_ahead(entry(*ticks)) == wanted


def test_one_backend_is_no_comparison():
    """A job on one backend has no verdict, nor has an empty tensor, or a job in trouble."""
    whole = RUN.jobs[0]
    assert backend_ahead(attrs.evolve(whole, outcomes=whole.outcomes[:1])) is None
    assert backend_ahead(attrs.evolve(whole, outcomes=whole.outcomes[1:])) is None
    assert ahead_lines([attrs.evolve(whole, outcomes=whole.outcomes[:1])]) == []
    assert backend_ahead(entry(0, 0, 0)) is None


def test_reported():
    """The document has the band and the verdict of each job, the table a column and a line."""
    (first, *_) = document(RUN)["jobs"]
    a65 = RUN.jobs[0].outcomes[0].run
    assert first["fewer_ticks"] == "a65"
    assert first["results"]["a65"]["ticks_band"] == a65.band
    assert first["results"]["a65"]["ticks_provenance"].startswith("static schedule of a Cortex-A53")
    assert "ticks_band" not in first["results"]["ev74"]
    text = "\n".join(report_table(RUN))
    assert f"{min(a65.band.values()):,}..{max(a65.band.values()):,}" in text
    assert "over the whole band, of 4 jobs: a65 ahead of the ev74 job in 4" in text
