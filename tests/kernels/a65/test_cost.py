"""The A65's modelled ticks, against sums made by hand from the costs on docs/scenario.md."""

import pytest

from tessbed.kernels.a65.cost import modelled_ticks
from tessbed.kernels.a65.row_path import choose
from tests.contract.backends import plan_of
from tests.oracle import Geometry
from tests.requests import request_of

HWC = (-1, 0, 1, 2)
CASES = [
    # two pixels, two channel tiles: 2 tiles, 4 runs, 68 bytes at 256 a KiB
    (Geometry("tess", (2, 17), "bf16", (-1, -1, 0, 1), (1, 1, 2, 16)), 1500 + 2 * 40 + 4 * 3 + 17),
    # one full and one narrower tile; three channels lie densely, so a tile's row is a run: 4 rows in each; 84 bytes
    (Geometry("tess", (4, 7, 3), "int8", HWC, (1, 4, 4, 3)), 1500 + 2 * 40 + 8 * 3 + 11),
    # the same pitched: no row is dense, every pixel is a run
    (
        Geometry("tess", (4, 7, 3), "int8", HWC, (1, 4, 4, 3), strides_bytes=(64, 4, 1)),
        1500 + 2 * 40 + 28 * 3 + 11,
    ),
    # planar: every scalar is a run of its own
    (
        Geometry("detess", (4, 7, 3), "int8", HWC, (1, 4, 4, 3), strides_bytes=(7, 1, 28)),
        1500 + 2 * 40 + 84 * 2 + 11,
    ),
    # two slices of one tile; FP32 is the wider side: 2 * 3 * 5 * 4 bytes at 192 a KiB
    (Geometry("detesscast", (2, 3, 5), "bf16", (-1, -1, 1, 2), (1, 1, 3, 5), to="fp32"), 1500 + 2 * 40 + 6 * 3 + 23),
    # channels only: the four full tiles in front travel as one; five runs all the same
    (Geometry("detess", (72,), "bf16", (-1, -1, -1, 0), (1, 1, 1, 16)), 1500 + 2 * 40 + 5 * 3 + 36),
    (Geometry("detess", (0, 8), "bf16", (-1, -1, 0, 1), (1, 1, 1, 8)), 0),
]


@pytest.mark.parametrize(("geometry", "ticks"), CASES, ids=[str(ticks) for _, ticks in CASES])
def test_by_hand(geometry: Geometry, ticks: int) -> None:
    """The model is the formula of the page."""
    plan = plan_of(request_of(geometry))
    assert modelled_ticks(plan, choose(plan)) == ticks
