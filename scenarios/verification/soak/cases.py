"""The cases of a soak: the scenario's EV74 jobs in random sizes, each with an input and the output that it must give.

Sizes go from 1 up to the scenario's own extent on every axis; strides and tiles stay, so a smaller tensor has gaps and
boundary tiles of its own. The expected bytes are the oracle's.
"""

from random import Random

import attrs
import numpy as np

from tessbed.kernels import ContractError
from tessbed.runtime import PreparedJob, prepare
from tessbed.scenarios.judgement import oracle_case
from tessbed.scenarios.model import Geometry, Scenario
from tessbed.scenarios.oracle.comparison import expected_output

VARIANTS = 48
PREFILL = 0xC3


@attrs.frozen(eq=False)
class SoakCase:
    """One thing to run: `source` and `expected` are whole required spans, gaps still hold the prefill."""

    prepared: PreparedJob
    source: np.ndarray
    expected: np.ndarray


def soak_cases(scenario: Scenario, seed: int) -> tuple[SoakCase, ...]:
    """Cases of every geometry to soak in turn, the full sizes first."""
    full = geometries(scenario)
    random = Random(f"tessbed soak menu {seed}")
    shrunk = (_shrunk(full[i % len(full)], random) for i in range(VARIANTS))
    return tuple(_case(geometry, random) for geometry in (*full, *shrunk))


def geometries(scenario: Scenario) -> list[Geometry]:
    """Those of the scenario's EV74 jobs that move a byte."""
    return [job.geometry for job in scenario.operations if "ev74" in job.backends and not job.plan.empty]


def _shrunk(geometry: Geometry, random: Random) -> Geometry:
    """The geometry with smaller extents, the axes' order and layout kept; itself where that is not admitted."""
    smaller = attrs.evolve(geometry, shape=tuple(1 + int(random.random() * extent) for extent in geometry.shape))
    try:
        smaller.admit()
    except ContractError:
        return geometry
    return smaller


def _case(geometry: Geometry, random: Random) -> SoakCase:
    plan = geometry.admit()
    source = np.frombuffer(random.randbytes(plan.input.required_bytes), np.uint8)
    return SoakCase(prepare(plan), source, expected_output(oracle_case(geometry), source, PREFILL))
