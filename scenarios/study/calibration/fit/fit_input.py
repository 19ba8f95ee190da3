"""Fit input: all that a fit depends on, and its hash, by which an interrupted fit is known again."""

import hashlib
import json

import attrs

from tessbed import __version__
from tessbed.scenarios.study.calibration.board_data import Setup, Table
from tessbed.scenarios.study.calibration.estimate import Value
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.parameter_space import parameter_value


@attrs.frozen(eq=False)
class FitInput:
    """What a fit depends on: setup, the rows that are for fitting, their experiments, and how hard to look."""

    setup: Setup
    table: Table
    experiments: tuple[Experiment, ...]
    table_sha256: str = ""
    seed: int = 0
    starts: int = 4

    @property
    def key(self) -> str:
        """A hash of all of it: equal keys are equal fits."""
        rows = [attrs.astuple(attrs.evolve(row, place=None)) for row in self.table.observations]
        shapes = [(one.name, one.shape, one.workers, repr(one.device)) for one in self.experiments]
        said = [__version__, repr(self.setup), rows, shapes, self.seed, self.starts]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def guess(self, path: str) -> Value:
        """The guess of a parameter, by its path."""
        return parameter_value(self.experiments[0].device, path)
