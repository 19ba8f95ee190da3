"""What the tests of a calibration share: all candidates, made once."""

from pathlib import Path

import pytest

from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.plan.candidates import candidates


@pytest.fixture(scope="session")
def experiments() -> list[Experiment]:
    """Every experiment that a plan can choose from."""
    return [candidate.experiment for candidate in candidates("ev74-4core", Path())]
