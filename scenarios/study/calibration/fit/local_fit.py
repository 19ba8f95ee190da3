"""Local fit: a solution with what is known around it: derivatives, scatter, and how rough the sum of squares is."""

from math import sqrt

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.fit.likelihood.uncertainty import Neighbourhood, Scatter
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.solver import Solution
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats

NEARBY, FARTHEST = 0.5, 0.3
ROUGHEST = 10.0
"""Of the variance: a rougher S than this is not the model's, but a solver's that ended far away."""


@attrs.frozen(eq=False)
class LocalFit:
    """A solution with what is known around it.

    `roughness` is by how much a fit from nearby usually misses the least S: S has many shallow minima.
    """

    problem: FitProblem
    best: Solution
    nearby: Neighbourhood
    scatter: Scatter
    roughness: float = 0.0

    @classmethod
    def of(cls, problem: FitProblem, best: Solution, roughness: float = 0.0) -> "LocalFit":
        """Around a solution; takes its derivatives."""
        timings = problem.timings(problem.values(best.point))
        derivatives, _ = problem.jacobian(best.point, timings, range(len(best.point)))
        nearby = Neighbourhood.of(derivatives)
        return cls(problem, best, nearby, Scatter.of(problem, best.squares, nearby.rank), roughness)

    @property
    def deviation(self) -> float:
        """The standard deviation of one repetition."""
        return sqrt(self.scatter.variance)

    @property
    def alone(self) -> Floats:
        """The standard deviation of each parameter with everything else known."""
        return self.nearby.alone * self.deviation

    @property
    def allowance(self) -> float:
        """By how much S may exceed its least value before a value is excluded, S being as rough as it is."""
        return self.scatter.threshold() + self.roughness

    def moved(self, better: Solution) -> "LocalFit":
        """Around a better solution: fits from nearby miss its S by so much more."""
        gain = self.best.squares - better.squares
        return LocalFit.of(self.problem, better).roughened(self.roughness + gain)

    def roughened(self, roughness: float) -> "LocalFit":
        """With S as rough as that, or as it may be."""
        return attrs.evolve(self, roughness=min(roughness, ROUGHEST * self.scatter.variance))

    @property
    def spread(self) -> Floats:
        """The matrix that makes hops of standard normal draws.

        They are as long as NEARBY of what the data leave open, but in no direction longer than FARTHEST.
        """
        sizes, directions = np.linalg.eigh(self.nearby.covariance)
        deviations = np.minimum(NEARBY * np.sqrt(np.maximum(sizes, 0.0)) * self.deviation, FARTHEST)
        return np.asarray(directions * deviations, np.float64)

    def hop(self, draw: Floats) -> Floats:
        """A point near the best one, inside the ranges."""
        return np.clip(self.best.point + self.spread @ draw, self.problem.lowest, self.problem.highest)
