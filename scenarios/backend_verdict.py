"""Backend verdict: which backend does a job in fewer ticks, and whether that holds over the band of the A65's ticks.

The A65's call is compared with the EV74's whole job, from submission to the host's wake-up: that is what a caller waits
for.
"""

from collections.abc import Iterable
from typing import Literal

from tessbed.scenarios.outcome import JobOutcome, Outcome

Verdict = Literal["a65", "ev74", "open"]
WORDS: dict[Verdict, str] = {"a65": "a65 ahead of the ev74 job", "ev74": "behind it", "open": "undecided"}


def verdict(entry: JobOutcome) -> Verdict | None:
    """Who takes fewer ticks by every schedule of the band; None where one of them has no ticks to compare."""
    done = {outcome.backend: outcome for outcome in entry.outcomes}
    if not {"a65", "ev74"} <= done.keys() or not all(_timed(outcome) for outcome in done.values()):
        return None
    a65, ev74 = done["a65"].run, done["ev74"].run
    assert a65 is not None
    assert a65.band
    assert ev74 is not None
    assert ev74.result
    ticks, job = (a65.ticks, *a65.band.values()), ev74.result.job_ticks
    return "a65" if max(ticks) < job else "ev74" if min(ticks) > job else "open"


def _timed(outcome: Outcome) -> bool:
    run = outcome.run
    return run is not None and outcome.trouble is None and run.ticks > 0 and bool(run.band or run.result)


def verdict_lines(entries: Iterable[JobOutcome]) -> list[str]:
    """A line that says for how many jobs each verdict holds; none where no job ran on both backends."""
    found = [entry_verdict for entry in entries if (entry_verdict := verdict(entry))]
    counted = [f"{WORDS[one]} in {count}" for one in WORDS if (count := found.count(one))]
    if not counted:
        return []
    jobs = f"{len(found)} {'job' if len(found) == 1 else 'jobs'}"
    return [f"over the whole band, of {jobs}: {', '.join(counted)}"]
