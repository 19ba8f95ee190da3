"""Unpacking on the device: which axes a band takes whole, and that work items are equal where their keys are."""

import pytest

from tessbed.firmware_models.ops.unpack import RUN_BYTES, axes_taken_whole, output_dimensions
from tests.firmware_models.rig import device_geometry, launch, source_of
from tests.oracle import Geometry, expected_output

HWC = (-1, 0, 1, 2)
D, H, W = 1, 2, 3
C = 0


def detess(shape, tile, **more) -> Geometry:
    """A compact INT8 Detess."""
    return Geometry("detess", shape, "int8", HWC, (1, *tile), **more)


WHOLE = {  # shape, tile of H, W, C, the axes that are taken whole
    "one tile": (detess((4, 16, 64), (4, 16, 64)), set()),
    "runs of 512 bytes are long enough": (detess((4, 16, 64), (4, 8, 64)), set()),
    "runs of 448 are not": (detess((4, 14, 64), (4, 7, 64)), {W}),
    "short channels, then runs of 24 of 512": (detess((4, 16, 3), (2, 8, 3)), {W, H}),
    "channels in tiles": (detess((4, 4, 100), (4, 4, 60)), {C}),
    "channels in tiles, rows of 600": (detess((4, 4, 300), (4, 2, 256)), {C}),
    "a gap behind each row": (detess((4, 16, 3), (2, 8, 3), strides_bytes=(50, 3, 1)), {W}),
}


@pytest.mark.parametrize(("geometry", "whole"), WHOLE.values(), ids=WHOLE)
def test_axes_that_are_taken_whole(geometry: Geometry, whole: set[int]) -> None:
    """An axis is, where a run cut at its tile edges were shorter than 512 bytes and its elements lie side by side."""
    assert RUN_BYTES == 512
    device = device_geometry(geometry)
    assert axes_taken_whole(device, output_dimensions(device)) == whole


UNEVEN = {
    "channels of 256 and 44, columns of 2": detess((1, 4, 300), (1, 2, 256)),
    "channels of 60 and 40, columns of 9": detess((2, 18, 100), (1, 9, 60)),
    "the same in rows": detess((6, 5, 110), (2, 5, 64)),
}


@pytest.mark.parametrize("geometry", UNEVEN.values(), ids=UNEVEN)
@pytest.mark.parametrize("workers", [1, 3])
def test_blocks_across_tiles_of_unequal_size(geometry: Geometry, workers: int) -> None:
    """The distance to the next tile along C depends on where a block is along W: every byte is right all the same."""
    done = launch(geometry, {"workers": workers})
    assert done.output == expected_output(geometry, source_of(geometry))
    assert not done.strayed
