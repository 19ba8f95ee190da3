"""Parameters: their scales, the ranges of a setup, and values by their paths."""

from math import log

import pytest

from tessbed.scenarios.study.calibration.parameter_space import (
    PARAMETERS,
    FreeParameter,
    in_ranges,
    nested,
    values_by_path,
)
from tessbed.sim.spec.device_spec import DeviceSpec

SCALES = {
    "rate": (FreeParameter("a", 4, 64, "rate"), 4, 8, 2.0),
    "ticks": (FreeParameter("a", 0, 64, "ticks"), 0, 1, 2.0),
    "share": (FreeParameter("a", 0, 75, "share"), 50, 0, 2.0),
}


@pytest.mark.parametrize(("parameter", "low", "high", "factor"), SCALES.values(), ids=SCALES)
def test_a_scale_is_a_logarithm(parameter: FreeParameter, low: int, high: int, factor: float) -> None:
    """Of a rate, of one more than ticks, and of what a share leaves; and back."""
    assert parameter.coordinate(high) - parameter.coordinate(low) == pytest.approx(log(factor))
    assert parameter.value(parameter.coordinate(high)) == pytest.approx(high, abs=1e-9)


def test_a_setup_narrows_the_range_it_names() -> None:
    """That one alone; equal ends are a known value."""
    found = {one.path: (one.low, one.high) for one in in_ranges({"dma.setup_ticks": (50, 100)})}
    others = {one.path: (one.low, one.high) for one in PARAMETERS}
    assert found == others | {"dma.setup_ticks": (50, 100)}


def test_values_by_paths_become_tables() -> None:
    """As an override of a device takes them, and as its parameters have them."""
    assert nested({"a.b": 1, "a.c.d": 2, "e": 3}) == {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    values = values_by_path(DeviceSpec())
    assert values["compute.vector_ticks.split"] == 4
    assert len(values) == len(PARAMETERS)
