"""Which vector path a tile is packed by, and so what it costs."""

import pytest

from tessbed.firmware_models.vector_cost import vector_path
from tests.firmware_models.rig import device_geometry
from tests.oracle import Geometry

HWC = (-1, 0, 1, 2)


def tiles(op: str, dtype: str, channels: int, *, pad16: bool = False, to: str | None = None) -> Geometry:
    """Pixel-major tiles of so many channels."""
    return Geometry(op, (4, 8, channels), dtype, HWC, (1, 4, 8, channels), pad16, to=to)


def blocks(to: str) -> Geometry:
    """Channel blocks."""
    return Geometry("detesscast", (4, 8, 32), "bf16", cblocked=(4, 8, 32), to=to)


PATHS = {
    "int8": (tiles("tess", "int8", 3), "copy"),
    "bf16 packed": (tiles("tess", "bf16", 3), "split"),
    "bf16 unpacked": (tiles("detess", "bf16", 3), "join"),
    "one compact channel, packed": (tiles("tess", "bf16", 1), "copy"),
    "one compact channel, unpacked": (tiles("detess", "bf16", 1), "copy"),
    "one padded channel, packed": (tiles("tess", "bf16", 1, pad16=True), "split"),
    "one padded channel, unpacked": (tiles("detess", "bf16", 1, pad16=True), "join"),
    "one compact channel, widened": (tiles("detesscast", "bf16", 1, to="fp32"), "widen"),
    "blocks": (blocks("bf16"), "cblock_join"),
    "blocks, widened": (blocks("fp32"), "cblock_widen"),
}


@pytest.mark.parametrize(("geometry", "path"), PATHS.values(), ids=PATHS)
def test_the_path_of_a_tile(geometry: Geometry, path: str) -> None:
    """Compact pixels of one channel are copied, for both sides store them alike; padded ones take their conversion."""
    device = device_geometry(geometry)
    assert vector_path(device, device.axes[0].tile) == path
