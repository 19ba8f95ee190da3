"""Prices: what one timing of launches differs in, as arrays. Apart, since the exact engine does without numpy."""

import attrs
import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@attrs.frozen(eq=False)
class Prices:
    """What one timing of launches differs in; every tick is a multiple of a part of a device's tick.

    `costs` has s, m and c of each transfer, a row each in the order of the tables; `ticks` what each band
    computes for.
    """

    costs: Integers
    ticks: Integers
    stagger_ticks: int
    relaunch_ticks: int
    issue_ticks: int
    read_latency_ticks: int
    write_latency_ticks: int
    outstanding: int

    @property
    def settings(self) -> tuple[int, ...]:
        """All that is no price of a transfer or a band."""
        latencies = self.read_latency_ticks, self.write_latency_ticks
        return self.stagger_ticks, self.relaunch_ticks, self.issue_ticks, *latencies, self.outstanding
