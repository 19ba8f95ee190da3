"""The ring of a device that holds several jobs: when the host learns the end of each, and what a reset leaves of them.

The device begins a job when it has run the one before, and never where that one hangs. It signals what `Signals` says,
counted from the begin. The host looks for the record at each interrupt with the job's number, at the job's deadline, at
the end of the grace, and when a reset of the device starts and is confirmed; the job has ended at the first look that
finds its record. A job without a record at the end of its grace is lost, and its device is reset, if it is not yet.
Until the reset is confirmed the device goes on as before and takes no job; then all that it holds has ended, well where
the record is in place, else badly.

At the tick of the confirmation itself, a record comes in time if the device had run the job before the reset started.
"""

import attrs

from tessbed.scenarios.load.program import FaultEffect, Signals, StageProgram


@attrs.define(eq=False)
class HeldJob:
    """A job on a device, in ticks of the clock; None for what never comes. `end` is when the host knows.

    `status` is what its record says, `good` whether it ends well.
    """

    record: int | None
    run_end: int | None
    interrupts: tuple[int, ...]
    deadline: int | None
    patience: int | None
    entered: int | None
    loads: bool
    status: bool
    good: bool = False
    end: int | None = None
    lost: bool = False
    recovered: bool = False

    def looks(self) -> list[int]:
        """The ticks at which the host looks for the record of itself or by an interrupt, those that find it."""
        found = [tick for tick in (*self.interrupts, self.deadline, self.patience) if tick is not None]
        return sorted(tick for tick in found if self.record is not None and tick >= self.record)

    def plan(self) -> None:
        """When the job ends if no reset comes."""
        looks = self.looks()
        self.end, self.good = looks[0] if looks else None, self.status
        if self.patience is not None and (self.end is None or self.end > self.patience):
            self.end, self.lost, self.good = self.patience, True, False

    def meet_reset(self, start: int, confirmed: int) -> None:
        """When and how it ends now that its device is reset."""
        if self.record is not None and self.record <= start:
            self.end, self.lost, self.good = start, False, self.status
        elif self.end is None or self.end > confirmed:
            self.recovered = not self._in_place(start, confirmed)
            self.end, self.lost, self.good = confirmed, False, self.status and not self.recovered

    def _in_place(self, start: int, confirmed: int) -> bool:
        """Whether the record is there when the reset is confirmed."""
        if self.record is None or self.run_end is None:
            return False
        return self.record < confirmed or (self.record == confirmed and self.run_end < start)

    def final(self, confirmed: int) -> int:
        """When a lost job lets those behind it go on: with its record, or with the reset."""
        return min([*(tick for tick in self.looks() if self.end is None or tick > self.end), confirmed])


def held_job(
    stage: StageProgram, now: int, begin: int | None, ticks: int, effect: FaultEffect | None, *, loads: bool
) -> HeldJob:
    """The job that the host hands over now, and the device begins at `begin`; `ticks` with nothing wrong."""
    run = ticks - stage.tail_ticks
    signals = Signals(True, run, run, (ticks,)) if effect is None else effect.signals
    assert signals is not None
    deadline = now + stage.timeout_ticks if stage.timeout_ticks else None
    held = HeldJob(
        record=_later(begin, signals.record_ticks),
        run_end=_later(begin, signals.run_ticks),
        interrupts=() if begin is None else tuple(begin + tick for tick in signals.interrupts),
        deadline=deadline,
        patience=None if deadline is None else deadline + stage.grace_ticks,
        entered=_later(begin, stage.entry_ticks + (stage.load_ticks if loads else 0)),
        loads=loads,
        status=signals.good,
    )
    held.plan()
    return held


def _later(begin: int | None, ticks: int | None) -> int | None:
    return None if begin is None or ticks is None else begin + ticks
