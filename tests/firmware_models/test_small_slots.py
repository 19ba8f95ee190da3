"""Slots that a band nearly fills: the alignment bytes behind a tile's last pixel need their room, too."""

import pytest

from tests.firmware_models.rig import launch, source_of
from tests.oracle import Geometry, expected_output

SLOT_BYTES = 128


@pytest.mark.parametrize("channels", [3, 5, 7])
def test_the_last_band_brings_the_tail(channels: int) -> None:
    """Tiles of every length around a few slots of 128 bytes run without a hazard, and every byte of them is right."""
    changes = {"workers": 1, "slots": 1, "scratch_bytes": 2 * SLOT_BYTES, "scratch_reserved_bytes": 0}
    most = SLOT_BYTES // channels
    for pixels in range(most - 2, 2 * most + 3):
        geometry = Geometry("tess", (1, pixels, channels), "int8", (-1, 0, 1, 2), (1, 1, pixels, channels))
        assert launch(geometry, changes).output == expected_output(geometry, source_of(geometry)), pixels
