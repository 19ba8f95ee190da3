"""Refit: least squares near a solution, with some coordinates held, from the derivatives that are known there.

A profile fits hundreds of times near one point. New derivatives cost as much as sixty residuals, so those of the
solution are taken along and corrected by each step that was made (Broyden's rank-one update). Steps stay inside the
ranges: a coordinate that would leave its own is put on its end, and the others are solved for again.

Along directions that the data hardly know the linear problem wants long steps, on which nothing is linear. A step that
makes S larger is therefore not shortened as a whole, but damped (Levenberg): a known direction keeps its step.
"""

from collections.abc import Sequence

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.fit.problem import PULL, FitProblem
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats, Timings

MOST_STEPS = 8
LONGEST = 0.7
"""The longest step of a coordinate: derivatives hold near their point."""
DAMPINGS = (0.0, 0.03, 0.1, 0.4, 1.6)
"""By turns: the residual of one on the scale of any parameter. Small ones leave alone what the data know."""
MOST_RENEWALS = 2
LED = 10.0
"""A coordinate is led with that changes S by so many tolerances."""


@attrs.define(eq=False)
class Refit:
    """One fit under way: the point, its residuals, the derivatives as they are known, and the launches timed."""

    problem: FitProblem
    point: Floats
    held: Sequence[int]
    derivatives: Floats
    tolerance: float
    timed: int = 0
    timings: Timings | None = None
    residuals: Floats = attrs.field(factory=lambda: np.empty(0))
    damping: int = 0

    def run(self) -> float:
        """Step until S gets smaller by less than the tolerance; S where that is."""
        self.residuals = self._at(self.point)
        for _ in range(MOST_STEPS):
            before = self.squares
            if not self._step() or before - self.squares < self.tolerance:
                break
        return self.squares

    def run_led(self) -> float:
        """Run, at first with those coordinates alone whose part of the first step would be seen by itself.

        What makes up for a coordinate that was moved are few others. Moving all of them at once would also carry some
        over kinks, where they would stay.
        """
        self.residuals = self._at(self.point)
        seen = np.abs(self._wanted()) * np.sqrt((self.derivatives**2).sum(axis=0)) > np.sqrt(LED * self.tolerance)
        held, self.held = self.held, [number for number in range(len(self.point)) if not seen[number]]
        self.run()
        self.held = held
        return self.run()

    def run_anew(self) -> float:
        """Run with new derivatives, as often as they help."""
        for _ in range(MOST_RENEWALS):
            before = self.squares
            self.renew()
            if before - self.run() < self.tolerance:
                break
        return self.squares

    def renew(self) -> None:
        """Take new derivatives here."""
        timings = self.problem.timings(self.problem.values(self.point), self.timings)
        columns = range(len(self.point))
        self.derivatives, timed = self.problem.jacobian(self.point, timings, columns)
        self.timed += timed + timings.timed

    @property
    def squares(self) -> float:
        """S here."""
        return float(self.residuals @ self.residuals)

    def _step(self) -> bool:
        """A step that makes S smaller, damped more where it does not; whether there is one."""
        for damping in range(self.damping, len(DAMPINGS)):
            point = np.clip(self.point + self._wanted(DAMPINGS[damping]), self.problem.lowest, self.problem.highest)
            moved = point - self.point
            length = float(moved @ moved)
            if length < 1e-18:
                return False
            residuals = self._at(point)
            if float(residuals @ residuals) < self.squares:
                gap = residuals - self.residuals - self.derivatives @ moved
                self.derivatives = self.derivatives + np.outer(gap, moved) / length
                self.point, self.residuals, self.damping = point, residuals, max(0, damping - 1)
                return True
        return False

    def _wanted(self, damping: float = 0.0) -> Floats:
        """The step to the least squares of the linear problem inside the ranges.

        By the normal equations: the pull keeps their condition below 1e12, and a tenth of that time is spent.
        """
        size = len(self.point)
        low = np.maximum(self.problem.lowest - self.point, -LONGEST)
        high = np.minimum(self.problem.highest - self.point, LONGEST)
        matrix = self.derivatives.T @ self.derivatives + (PULL**2 + damping**2) * np.eye(size)
        wanted = -self.derivatives.T @ self.residuals - PULL**2 * (self.point - self.problem.guess)
        step, free = np.zeros(size), np.ones(size, bool)
        free[list(self.held)] = False
        while free.any():
            rest = wanted[free] - matrix[np.ix_(free, ~free)] @ step[~free]
            step[free] = np.linalg.solve(matrix[np.ix_(free, free)], rest)
            beyond = free & ((step < low) | (step > high))
            if not beyond.any():
                break
            step[beyond] = np.clip(step[beyond], low[beyond], high[beyond])
            free &= ~beyond
        return step

    def _at(self, point: Floats) -> Floats:
        values = self.problem.values(point)
        self.timings = self.problem.timings(values, self.timings)
        self.timed += self.timings.timed
        return self.problem.residuals(values, self.timings)
