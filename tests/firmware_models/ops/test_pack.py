"""Packing on the device: alignment bytes that a worker owns alone are zero; by hand."""

import pytest

from tessbed.firmware_models.image import band_program
from tessbed.firmware_models.vector_ops import VectorFill
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.firmware_models.rig import device_geometry, launch, source_of
from tests.oracle import Geometry, expected_output

TAIL = Geometry("tess", (1, 5, 13), "int8", (-1, 0, 1, 2), (1, 1, 5, 13))  # 5 pixels of 13 bytes, and 15 of alignment
STROBES = {"byte_strobes": True, "cores": 8, "workers": 8}  # no granules: eight workers own ten bytes each


def test_a_worker_owns_a_tail_alone() -> None:
    """Worker 7 of 8 owns bytes 70 to 79, all behind the last pixel: it reads nothing and fills the tail with zeros."""
    (band,) = band_program(device_geometry(TAIL), override(DeviceSpec(), STROBES), 8)(7)
    (fill,) = band.steps
    assert band.reads == []
    assert isinstance(fill, VectorFill)
    assert (fill.shape, fill.value) == ((15,), 0)


@pytest.mark.parametrize("workers", range(1, 9))
def test_every_cut_of_a_tile_and_its_tail(workers: int) -> None:
    """Wherever the cut falls, in a pixel or in the tail, every byte is right and none beside them changes."""
    done = launch(TAIL, {**STROBES, "workers": workers})
    assert done.output == expected_output(TAIL, source_of(TAIL))
    assert not done.strayed
