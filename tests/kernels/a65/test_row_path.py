"""The row path that preparation chose can be asked for, and follows the documents' conditions."""

import pytest

from tessbed.kernels.a65.row_path import Channels, RowPath, Traversal, choose, row_classes
from tests.contract.backends import plan_of
from tests.kernels.a65.running import assert_right, backend_of, engines, using
from tests.oracle import Geometry
from tests.requests import request_of

HWC = (-1, 0, 1, 2)
WC = (-1, -1, 0, 1)
CONTIGUOUS, SCATTERED = Channels.CONTIGUOUS, Channels.SCATTERED
GENERAL, CHANNEL_ONLY, EMPTY = Traversal.GENERAL, Traversal.CHANNEL_ONLY, Traversal.EMPTY


def vector(channels: int, tile: int, pad16: bool = False, **options) -> Geometry:
    """A channel-only DetessCast to BF16 of a [1, channels] tensor."""
    options = {"op": "detesscast", "dtype": "bf16", "to": "bf16", "shape": (1, channels)} | options
    return Geometry(axes=options.pop("axes", WC), tile=(1, 1, 1, tile), pad16=pad16, **options)


PATHS = {
    "tess int8": (Geometry("tess", (4, 4, 16), "int8", HWC, (1, 2, 2, 16)), RowPath("copy", CONTIGUOUS, GENERAL)),
    "tess bf16": (Geometry("tess", (4, 4, 16), "bf16", HWC, (1, 2, 2, 16)), RowPath("split", CONTIGUOUS, GENERAL)),
    "detess bf16": (
        Geometry("detess", (4, 4, 16), "bf16", HWC, (1, 2, 2, 16)),
        RowPath("join", CONTIGUOUS, GENERAL),
    ),
    "detesscast fp32": (
        Geometry("detesscast", (4, 4, 16), "bf16", HWC, (1, 2, 2, 16), to="fp32"),
        RowPath("widen", CONTIGUOUS, GENERAL),
    ),
    "scattered channels": (
        Geometry("detess", (4, 4, 16), "int8", (-1, 1, 2, 0), (1, 2, 2, 4)),
        RowPath("copy", SCATTERED, GENERAL),
    ),
    "one channel is contiguous anywhere": (
        Geometry("tess", (4, 4, 1), "bf16", HWC, (1, 2, 2, 1), strides_bytes=(8, 2, 64)),
        RowPath("split", CONTIGUOUS, GENERAL),
    ),
    "pitched rows stay contiguous": (
        Geometry("tess", (4, 4, 16), "bf16", HWC, (1, 2, 2, 16), strides_bytes=(256, 64, 2)),
        RowPath("split", CONTIGUOUS, GENERAL),
    ),
    "channel blocks": (
        Geometry("detesscast", (1, 1, 48), "bf16", cblocked=(1, 1, 16), to="fp32"),
        RowPath("widen", CONTIGUOUS, GENERAL),
    ),
    "empty": (vector(0, 16), RowPath("join", CONTIGUOUS, EMPTY)),
    "one tile": (vector(16, 16), RowPath("join", CONTIGUOUS, CHANNEL_ONLY)),
    "two tiles, one before the final": (vector(32, 16), RowPath("join", CONTIGUOUS, CHANNEL_ONLY)),
    "three full tiles, the final apart": (vector(48, 16), RowPath("join", CONTIGUOUS, CHANNEL_ONLY, 2)),
    "two full tiles and a tail": (vector(35, 16), RowPath("join", CONTIGUOUS, CHANNEL_ONLY, 2)),
    "alignment gaps forbid a batch": (vector(35, 12), RowPath("join", CONTIGUOUS, CHANNEL_ONLY)),
    "padding makes gaps go away": (vector(35, 12, True), RowPath("join", CONTIGUOUS, CHANNEL_ONLY, 2)),
    "int8 tiles of 16": (
        vector(50, 16, op="detess", dtype="int8", to=None),
        RowPath("copy", CONTIGUOUS, CHANNEL_ONLY, 3),
    ),
    "int8 tiles of 8 have gaps": (
        vector(50, 8, op="detess", dtype="int8", to=None),
        RowPath("copy", CONTIGUOUS, CHANNEL_ONLY),
    ),
    "bf16 tiles of 8 have none": (vector(50, 8), RowPath("join", CONTIGUOUS, CHANNEL_ONLY, 6)),
    "two outer slices": (vector(48, 16, shape=(2, 48), axes=(-1, -1, -1, 1)), RowPath("join", CONTIGUOUS, GENERAL)),
    "a unit outer slice": (
        vector(48, 16, shape=(1, 48), axes=(-1, -1, -1, 1)),
        RowPath("join", CONTIGUOUS, CHANNEL_ONLY, 2),
    ),
    "two pixels": (vector(48, 16, shape=(2, 48)), RowPath("join", CONTIGUOUS, GENERAL)),
    "scattered channel-only": (
        vector(48, 16, strides_bytes=(2, 4)),
        RowPath("join", SCATTERED, GENERAL),
    ),
}


@pytest.mark.parametrize(("geometry", "path"), PATHS.values(), ids=PATHS.keys())
def test_path(geometry: Geometry, path: RowPath) -> None:
    """Preparation chooses this path, and it gives the right bytes on every engine."""
    assert backend_of(geometry.op).check_inference(request_of(geometry)).path == path
    assert_right(geometry)


@pytest.mark.parametrize(("channels", "last"), [(48, 16), (35, 3)])
def test_final_tile_travels_apart(channels: int, last: int) -> None:
    """The rows get the batch and the final tile as classes of their own."""
    plan = plan_of(request_of(vector(channels, 16)))
    classes = row_classes(plan, choose(plan))
    assert [(one.counts[0], one.extents[0]) for one in classes] == [(2, 16), (1, last)]


@pytest.mark.parametrize("name", engines())
def test_engine_is_reported(name: str) -> None:
    """The prepared execution names its engine, also in its repr."""
    with using(name):
        prepared = backend_of("tess").check_inference(request_of(PATHS["tess bf16"][0]))
    assert prepared.engine.name == name.partition(" ")[0]
    assert f"engine={prepared.engine.name}" in repr(prepared)
