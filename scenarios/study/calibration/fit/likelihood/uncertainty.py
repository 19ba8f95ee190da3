"""Uncertainty: what a fit's residuals say about scatter, and what its derivatives say about parameters nearby.

Scatter is estimated from the residuals and the repetitions together, with N - p degrees of freedom for N observations
and p directions that the data determine. Where the residuals of means are larger than repetitions explain (a lack of
fit, by an F test at one percent), the model is wrong somewhere: then residuals alone are believed, and intervals widen.

A value of a parameter is excluded at CONFIDENCE where S, minimised over all others, exceeds the least S by more than
s^2 F(1, N - p): the profile likelihood with unknown scatter.
"""

from math import sqrt
from typing import Any

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.solver import scipy_module
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats

CONFIDENCE = 0.9
LACK = 0.01
FAINT = 1e-3
"""A direction whose singular value is this small beside that of a single good row is not determined."""


@attrs.frozen
class Scatter:
    """Relative scatter: `noise` of repetitions around their means, 0 where there are none, `misfit` around the model.

    `variance` is the s^2 of intervals with `freedom` degrees; `lack`: the misfit is more than repetitions explain.
    """

    noise: float
    misfit: float
    variance: float
    freedom: int
    lack: bool

    @classmethod
    def of(cls, problem: FitProblem, squares: float, determined: int) -> "Scatter":
        """The scatter around a fit with the sum of squares `squares` and so many determined directions."""
        rows = problem.model.rows
        within, spare = float(rows.scatter.sum()), rows.observations - len(rows.logs)
        means = max(1, len(rows.logs) - determined)
        noise, misfit = (sqrt(within / spare) if spare else 0.0), sqrt(squares / means)
        if spare and _lacks(squares / means, within / spare, means, spare):
            return cls(noise, misfit, squares / means, means, True)
        return cls(noise, misfit, (squares + within) / (means + spare), means + spare, False)

    def threshold(self, confidence: float = CONFIDENCE) -> float:
        """By how much S may exceed its least value before a value is excluded."""
        return self.variance * float(_distribution("f").ppf(confidence, 1, self.freedom))

    @property
    def reach(self) -> float:
        """The half width of an interval in standard deviations."""
        return sqrt(self.threshold() / self.variance)


@attrs.frozen(eq=False)
class Neighbourhood:
    """The derivatives at a solution: standard deviations of each parameter, for a scatter of 1.

    `alone` with all others known, `together` with all others open, in the units of the parameters' scales.
    """

    derivatives: Floats
    covariance: Floats
    rank: int

    @classmethod
    def of(cls, derivatives: Floats) -> "Neighbourhood":
        """From the derivatives of weighted residuals. What the data do not determine has a huge variance."""
        if not derivatives.shape[1]:
            return cls(derivatives, np.zeros((0, 0)), 0)
        _, sizes, directions = np.linalg.svd(derivatives, full_matrices=False)
        kept = np.maximum(sizes, FAINT)
        missing = np.eye(derivatives.shape[1]) - directions.T @ directions
        covariance = directions.T @ np.diag(1 / kept**2) @ directions + missing / FAINT**2
        return cls(derivatives, covariance, int((sizes > FAINT * 10).sum()))

    @property
    def alone(self) -> Floats:
        """Standard deviations with all other parameters known; infinite where nothing depends on one."""
        lengths = np.sqrt((self.derivatives**2).sum(axis=0))
        return np.divide(1.0, lengths, out=np.full(len(lengths), np.inf), where=lengths > 1e-9)

    @property
    def together(self) -> Floats:
        """Standard deviations with all other parameters open."""
        return np.sqrt(np.diag(self.covariance))


def _lacks(means: float, within: float, freedom: int, spare: int) -> bool:
    return within > 0 and float(_distribution("f").sf(means / within, freedom, spare)) < LACK


def _distribution(name: str) -> Any:
    return getattr(scipy_module("stats"), name)
