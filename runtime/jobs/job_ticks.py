"""Ticks of a job on the host's side: from its submission to the wake-up of its client, part by part.

The device accounts for what happens between doorbell and record. The host adds what only it knows: how long the job
waited before the doorbell rang and behind earlier jobs of its queue, and when it learned of the end, by interrupt
or by finding the record itself, sooner or later than an interrupt would have come. Every tick is in one part.
"""

from collections.abc import Sequence

from tessbed.runtime.jobs.states import State, Transition
from tessbed.sim.stats import JobStats

History = Sequence[tuple[int, Transition, State]]


def job_parts(history: History, woken: int, stats: JobStats | None) -> dict[str, int]:
    """The parts, in ticks, of a job whose client wakes at the tick `woken`; none for one that was never submitted.

    With the device's `stats` they are those of JobStats: `queue` is every wait in a queue, of the runtime or of the
    device, for a start or for its turn to retire; `completion` is from the end on the device to where the host knows of
    it. A job without a record has `queue`, and `lost` from its start on.
    """
    submitted, started = _first(history, Transition.SUBMIT), _first(history, Transition.START)
    if submitted is None:
        return {}
    if started is None:
        return {"queue": woken - submitted}
    known = _first(history, Transition.COMPLETE, Transition.FAULT)
    if stats is None or known is None:
        return {"queue": started - submitted, "lost": woken - started}
    ended = stats.submit_tick + stats.job_ticks - stats.parts["completion"]
    waited = (started - submitted) + stats.parts["queue"] + (woken - known)
    return {**stats.parts, "queue": waited, "completion": known - ended}


def _first(history: History, *moves: Transition) -> int | None:
    """The tick of the first of these moves."""
    return next((tick for tick, move, _ in history if move in moves), None)
