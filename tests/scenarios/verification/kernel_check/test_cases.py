"""Cases: every value of every axis meets every size, and sizes come from a band."""

import pytest

import tessbed
from tessbed.kernels.custom.declaration import Kernel
from tessbed.scenarios.verification.kernel_check.cases import GRANULES, MOVEMENTS, WORKERS, check_cases
from tessbed.scenarios.verification.kernel_check.sizes import check_sizes
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.scenarios.verification.kernel_check import seeded


@tessbed.kernel(inputs={"src": "int16[rows, columns]"}, outputs={"dst": "int16[rows, columns]"})
def plane(w, src, dst, *, rows=30, columns=50, factor=3):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], seeded.same)


@tessbed.kernel(outputs=["dst"])
def loose(w, src, dst):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], seeded.same)


def shapes(kernel: Kernel, given: dict[str, int], band_bytes: int) -> dict[str, tuple[int, ...]]:
    """The shape of the output at each size."""
    return {size.name: size.plan.outputs[0].shape for size in check_sizes(kernel, given, band_bytes, 2)}


def test_sizes_come_from_a_band() -> None:
    """One scalar, one band, slots + 2 bands, one more of each size; in order of bytes."""
    assert shapes(plane, {}, 1000) == {
        "one scalar": (1, 1),
        "one band": (10, 50),
        "as asked": (30, 50),
        "4 bands": (40, 50),
        "columns + 1": (40, 51),
        "rows + 1": (41, 50),
    }


def test_what_was_given_is_not_varied() -> None:
    """A size by --arg stays, an argument that is no size is never varied."""
    assert {shape[0] for shape in shapes(plane, {"rows": 7}, 1000).values()} == {7}
    sizes = check_sizes(plane, {"rows": 7, "columns": 5}, 1000, 2)
    assert [(size.name, dict(size.plan.arguments)["factor"]) for size in sizes] == [("as asked", 3)]


def test_ports_without_a_form_take_other_lengths() -> None:
    """Bytes of one axis, one more than some bands among them."""
    assert shapes(loose, {}, 1000) == {
        "one scalar": (1,),
        "one band": (1000,),
        "4 bands": (4000,),
        "length + 1": (4001,),
        "as asked": (65536,),
    }


@pytest.mark.parametrize(("level", "slots"), [("bands", {1, 2, 3, 4}), ("body", {2, 3})])
def test_every_value_meets_every_size(level: str, slots: set[int]) -> None:
    """Granules and grids in all combinations; slots, movements and odd addresses with each size."""
    cases = list(check_cases(check_sizes(plane, {}, 1000, 2), DeviceSpec(), level, 0.0))
    for name in {sized.case.size for sized in cases}:
        mine = [sized.case for sized in cases if sized.case.size == name]
        pairs = {(case.spec.write_granule_bytes, case.workers) for case in mine}
        assert pairs == {(granule, workers) for granule in GRANULES for workers in WORKERS}
        assert {case.spec.slots for case in mine} == slots
        assert {case.spec.data_movement for case in mine} == set(MOVEMENTS)
        assert {(case.spec.write_granule_bytes, case.phase) for case in mine} == {
            (granule, phase // 2 * 2) for granule in GRANULES for phase in (0, 1, granule - 1, granule // 2 + 1)
        }
        assert all(case.phase % 2 == 0 for case in mine)  # the width of a scalar


def test_many_transfers_make_few_cases() -> None:
    """A size of thousands of transfers meets each grid once; one of tens of thousands none."""
    sizes = check_sizes(plane, {}, 1000, 2)[-1:]
    bytes_of = sizes[0].nbytes
    counts = [len(list(check_cases(sizes, DeviceSpec(), "bands", n / bytes_of))) for n in (100, 3000, 60_000)]
    assert counts == [24, 6, 0]
