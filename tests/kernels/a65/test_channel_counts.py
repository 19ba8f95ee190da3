"""Channels from 1 to 40, and from each 16 on one more, on every engine: none is left out, and no padding is short."""

import pytest

from tests.kernels.a65.running import assert_right
from tests.oracle import Geometry

HWC, CHW = (-1, 0, 1, 2), (-1, 1, 2, 0)
COUNTS = (*range(1, 41), *(near for count in range(48, 129, 16) for near in (count, count + 1)))
KINDS = {
    "tess int8 padded": {"op": "tess", "dtype": "int8", "pad16": True, "fill": -77},
    "tess int8 compact": {"op": "tess", "dtype": "int8"},
    "tess bf16 padded": {"op": "tess", "dtype": "bf16", "pad16": True},
    "tess bf16 compact": {"op": "tess", "dtype": "bf16"},
    "casttess fp32": {"op": "casttess", "dtype": "bf16", "to": "fp32"},
    "detess int8": {"op": "detess", "dtype": "int8", "pad16": True},
    "detess bf16": {"op": "detess", "dtype": "bf16"},
    "detesscast fp32": {"op": "detesscast", "dtype": "bf16", "to": "fp32", "pad16": True},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_count(kind) -> None:
    """Dense pixels, pixels with gaps between them, tiles of one column, and channels first."""
    for channels in COUNTS:
        width = {"int8": 1, "bf16": 2}[kind["dtype"]] * (2 if kind.get("to") == "fp32" else 1)
        pitch = (channels + 3) * width
        gaps = {"strides_bytes": (5 * pitch, pitch, width)}
        for shape, axes, tile, more in (
            ((3, 4, channels), HWC, (1, 2, 4, channels), {}),
            ((3, 4, channels), HWC, (1, 2, 4, channels), gaps),
            ((3, 2, channels), HWC, (1, 2, 1, channels), {}),
            ((channels, 2, 3), CHW, (1, 2, 2, channels), {}),
        ):
            assert_right(Geometry(shape=shape, axes=axes, tile=tile, **more, **kind))
