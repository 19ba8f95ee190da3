"""Plans: frozen, of fixed size, and as cheap for a huge tensor as for a small one."""

import gc
import pickle
import sys
from collections.abc import Callable
from itertools import product

import attrs
import pytest

from tessbed.kernels import DType, MlaTiled, Plan, TensorSpec
from tessbed.kernels.a65 import tess as a65_tess
from tessbed.kernels.ops import tess
from tests.kernels.a65.running import engines, using


def request_for(height: int, width: int, tile: tuple[int, int, int, int] = (1, 16, 16, 16)) -> tess.Request:
    """Tess of a BF16 [height, width, 40] tensor."""
    linear = TensorSpec((height, width, 40), DType.BF16)
    return tess.Request([linear], [TensorSpec(linear.shape, DType.BF16, MlaTiled((-1, 0, 1, 2), tile))])


def calls_of(work: Callable[[], object]) -> int:
    """Python and C functions called by `work`: a cost that no other process on the machine disturbs."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # others hook into the collector
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize("name", engines())
def test_cost_does_not_grow(name: str) -> None:
    """Admission and preparation take as many calls for 4 GB as for 4 MB, and make a result of the same size."""
    small, large = request_for(224, 233), request_for(7168, 7465)
    with using(name):
        for step in (tess.check_inference, a65_tess.check_inference):
            step(small)
            assert calls_of(lambda step=step: step(large)) == calls_of(lambda step=step: step(small))
    plans = tess.check_inference(small), tess.check_inference(large)
    assert plans[1].input.required_bytes > 1000 * plans[0].input.required_bytes
    assert len(plans[0].classes) == len(plans[1].classes) == 4
    assert abs(len(pickle.dumps(plans[0])) - len(pickle.dumps(plans[1]))) < 512


def test_at_most_sixteen_classes() -> None:
    """Boundary tiles on all four axes make 16 classes, whose tiles together hold every scalar once."""
    shape = (2, 5, 7, 9, 11)
    tiles = TensorSpec(shape, DType.INT8, MlaTiled((1, 2, 3, 4), (2, 3, 4, 5)))
    plan = tess.check_inference(tess.Request([TensorSpec(shape, DType.INT8)], [tiles]))
    assert len(plan.classes) == 16
    scalars = sum(
        entry.counts[0] * entry.counts[1] * entry.counts[2] * entry.counts[3] * entry.pixels * entry.extents[0]
        for entry in plan.classes
    )
    assert scalars == 5 * 7 * 9 * 11
    assert [entry.tiled_offset for entry in plan.classes] == sorted(entry.tiled_offset for entry in plan.classes)


def test_classes_are_affine() -> None:
    """Base and steps of the classes give every tile's offset in C, D, H, W order, without gap or overlap."""
    shape = (5, 7, 9, 11)
    tiles = TensorSpec(shape, DType.BF16, MlaTiled((0, 1, 2, 3), (2, 3, 4, 5)))
    plan = tess.check_inference(tess.Request([TensorSpec(shape, DType.BF16)], [tiles]))
    spans = sorted(
        (
            entry.tiled_offset + sum(i * step for i, step in zip(index, entry.tiled_steps, strict=True)),
            entry.span_bytes,
            entry.linear_offset + sum(i * step for i, step in zip(index, entry.linear_steps, strict=True)),
        )
        for entry in plan.classes
        for index in product(*(range(count) for count in entry.counts))
    )
    ends = [offset + span for offset, span, _ in spans]
    assert [offset for offset, _, _ in spans] == [0, *ends[:-1]]
    assert ends[-1] == plan.output.required_bytes
    firsts = product(range(0, 11, 5), range(0, 5, 2), range(0, 7, 3), range(0, 9, 4))
    assert [linear for _, _, linear in spans] == [((d * 7 + h) * 9 + w) * 22 + c * 2 for c, d, h, w in firsts]


def test_plan_is_frozen() -> None:
    """A plan can be neither changed nor forged in place, and is hashable."""
    plan = tess.check_inference(request_for(16, 16))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        plan.shape = (1,)  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(plan, Plan)
    assert hash(plan) == hash(tess.check_inference(request_for(16, 16)))
