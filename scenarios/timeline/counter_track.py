"""Counter tracks: counters whose changes come in any order, up to a tick before which all are known."""

from array import array

import attrs
import numpy as np

from tessbed.scenarios.timeline.spans import Sink


@attrs.define(eq=False)
class CounterTrack:
    """A counter of a sink, from 0. Steps are kept as integers until they can be written in the order of ticks."""

    sink: Sink
    number: int
    value: int = attrs.field(default=0, init=False)
    _ticks: array = attrs.field(factory=lambda: array("q"), init=False)
    _steps: array = attrs.field(factory=lambda: array("q"), init=False)

    def step(self, tick: int, by: int) -> None:
        """The counter rises by `by` at `tick`."""
        self._ticks.append(tick)
        self._steps.append(by)

    def write(self, until: int | None = None) -> None:
        """Write what lies before `until`, which is complete: one sample for each tick at which the value changes."""
        ticks, steps = np.array(self._ticks, np.int64), np.array(self._steps, np.int64)
        ready = np.ones(ticks.size, bool) if until is None else ticks < until
        self._ticks, self._steps = array("q", ticks[~ready].tobytes()), array("q", steps[~ready].tobytes())
        at, where = np.unique(ticks[ready], return_inverse=True)
        rises = np.zeros(at.size, np.int64)
        np.add.at(rises, where, steps[ready])
        values = self.value + np.cumsum(rises)
        for tick, value, rise in zip(at.tolist(), values.tolist(), rises.tolist(), strict=True):
            if rise:
                self.sink.sample(self.number, tick, value)
                self.value = value
