"""Calibrations as JSON, and the device that they make."""

import json

import attrs
import pytest

from tessbed.scenarios.study.calibration.estimate import (
    Calibration,
    Combination,
    Domain,
    Estimate,
    of_document,
    to_document,
)
from tessbed.sim.spec.device_spec import DeviceSpec, override

SUM = "dispatch_ticks + decode_ticks"
CALIBRATION = Calibration(
    board="a board",
    preset="ev74-4core",
    clock_mhz=1000,
    clock_source="measured",
    confidence=0.9,
    seed=7,
    estimates=(
        Estimate("dma.setup_ticks", 64, 71, "determined", "calibrated", 69.2, 73.0),
        Estimate("dispatch_ticks", 100_000, 110_500, "combination", "combination", combination=SUM),
        Estimate("decode_ticks", 2_000, 2_000, "combination", "guess", combination=SUM),
        Estimate("dma.outstanding", 16, 16, "at_least", "guess", 9.0, None),
    ),
    combinations=(Combination(SUM, "sum", ("dispatch_ticks", "decode_ticks"), 112_500.0, 111_000.0, 114_000.0),),
    choices=(("memory.split_port", (True,)),),
    domain=Domain((1, 8), (64, 4096), ("tess bf16",)),
    noise=0.02,
    misfit=0.021,
    rows=40,
    experiments=10,
    table_sha256="0" * 64,
    version="0.2.0",
)


def test_a_calibration_comes_back_from_json() -> None:
    """What is written is read again, equal in every field."""
    assert of_document(json.loads(json.dumps(to_document(CALIBRATION)))) == CALIBRATION


@pytest.mark.parametrize("change", [{"schema_version": 2}, {"seed": 0, "nonsense": 1}], ids=str)
def test_another_document_is_refused(change: dict) -> None:
    """A document of another version, or with other fields, is no calibration."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        of_document(to_document(CALIBRATION) | change)


def test_the_changes_make_the_device() -> None:
    """Values and the best of each choice are changes of the preset's device."""
    device = override(DeviceSpec(), CALIBRATION.changes())
    assert (device.dma.setup_ticks, device.dispatch_ticks, device.memory.split_port) == (71, 110_500, True)
    assert attrs.evolve(CALIBRATION, estimates=(), choices=()).changes() == {}
