"""Steps counted by hand, from the loops of `_execute.h` and `_move.h`."""

import pytest

from tessbed.kernels.a65.cost.plan_steps import plan_steps
from tessbed.kernels.a65.row_path import choose
from tests.contract.backends import plan_of
from tests.oracle import Geometry
from tests.requests import request_of

HWC = (-1, 0, 1, 2)
CASES = {
    # two rows of 5 pixels that follow each other on both sides: one row of 10. 16 bytes can be read at the first 5
    # pixels of 30 bytes, the others are read with care
    "narrow INT8 pixels, padded": (
        Geometry("tess", (2, 5, 3), "int8", HWC, (1, 2, 5, 3), pad16=True),
        "pack_bytes",
        {"row of padded pixels": 1, "padded pixel": 5, "start of careful pixels": 1, "careful pixel": 5},
    ),
    # the same image, pitched to 32 bytes a row: two rows; the last ends with the storage, the first does not
    "the same, pitched": (
        Geometry("tess", (2, 5, 3), "int8", HWC, (1, 2, 5, 3), pad16=True, strides_bytes=(32, 3, 1)),
        "pack_bytes",
        {"row of padded pixels": 2, "padded pixel": 5, "start of careful pixels": 1, "careful pixel": 5},
    ),
    # three channels are shuffled two pixels (12 bytes) at once: 60 bytes are 4 shuffles of 16 and one that ends with
    # the row
    "few channels, dense": (
        Geometry("tess", (2, 5, 3), "bf16", HWC, (1, 2, 5, 3)),
        "pack_cross",
        {"row": 1, "shuffle": 4, "last shuffle": 1},
    ),
    # two tiles of 16 and 4 channels, 3 pixels each: a loop of its own for 16, one piece of 4 for the rest
    "sixteen channels and four": (
        Geometry("detess", (3, 20), "bf16", (-1, -1, 0, 1), (1, 1, 3, 16)),
        "unpack_words",
        {"row of 16": 1, "pixel of 16": 3, "row": 1, "run by 4": 3, "piece of 4": 3},
    ),
    # padded to 16, dense: at 32 bytes a pixel the first two pixels of 24 bytes may be written wide
    "a narrow pixel that is written wide": (
        Geometry("detess", (3, 12), "bf16", (-1, -1, 0, 1), (1, 1, 3, 12), pad16=True),
        "unpack_words",
        {"start of overlapping pixels": 1, "overlapping pixel": 2, "row": 1, "run by 8": 1, "piece of 8": 2},
    ),
    # planar BF16: 20 channels are a group of 16 and one that overlaps it, 24 pixels three blocks of 8
    "channel-first": (
        Geometry("tess", (1, 24, 20), "bf16", HWC, (1, 1, 24, 20), strides_bytes=(960, 2, 48)),
        "pack_transposed_words",
        {"row": 1, "chunk": 1, "group": 2, "block": 6},
    ),
    # planar INT8 image: 40 pixels of three channels are three blocks of 16, the last of which ends with the row
    "few channels, channel-first": (
        Geometry("tess", (1, 40, 3), "int8", HWC, (1, 1, 40, 3), strides_bytes=(120, 1, 40)),
        "pack_streams, 1 bytes",
        {"row of 3": 1, "block of 3": 3},
    ),
    # FP32 to BF16, dense: 40 scalars are a run of 3 blocks, the last of which overlaps
    "values of a dense row": (
        Geometry("casttess", (2, 20), "bf16", (-1, -1, 0, 1), (1, 1, 2, 20), to="fp32"),
        "narrow_runs",
        {"call": 1, "run": 1, "16 scalars": 3},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_by_hand(case):
    """A function's steps are those that its loops make."""
    geometry, function, wanted = CASES[case]
    plan = plan_of(request_of(geometry))
    steps = plan_steps(plan, choose(plan))
    assert {step: times for (name, step), times in steps.items() if name == function and times} == wanted


def test_loops_around_rows():
    """Tiles with a gap behind them are walked one by one: 2 by 3 tiles of 2 rows; the last column calls a mover."""
    plan = plan_of(request_of(Geometry("tess", (4, 5, 3), "int8", HWC, (1, 2, 2, 3))))
    steps = {step: times for (name, step), times in plan_steps(plan, choose(plan)).items() if name == "loops" and times}
    assert steps == {
        "call": 1, "class": 2, "part": 2, "nest": 2,
        "tile loop": 2 + 2 * 2 + 2, "part of a tile": 4 + 2, "nest of a tile": 4 + 2, "alignment": 4 + 2, "row": 2,
    }  # fmt: skip


def test_empty():
    """A tensor without scalars has no step."""
    plan = plan_of(request_of(Geometry("detess", (0, 8), "bf16", (-1, -1, 0, 1), (1, 1, 1, 8))))
    assert not plan_steps(plan, choose(plan))
