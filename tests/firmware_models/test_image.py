"""The image: entry validates, picks a kernel once, launches the grid it really gets."""

from typing import Any

import numpy as np
import pytest

from tessbed.firmware_models.image import Composition, FirmwareImage
from tessbed.firmware_models.kernel_handles import WORK_ITEMS
from tessbed.kernels.ev74.refusals import REFUSAL_BY_CODE
from tessbed.scenarios.backends import ev74
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.contract.backends import plan_of
from tests.firmware_models.rig import build, device_geometry, launch, source_of
from tests.geometries import name_of, random_geometries
from tests.oracle import Geometry, expected_output
from tests.requests import request_of

HWC = (-1, 0, 1, 2)
TESS_INT8 = Geometry("tess", (9, 10, 16), "int8", HWC, (1, 3, 5, 16))
TESS_BF16 = Geometry("tess", (9, 10, 16), "bf16", HWC, (1, 3, 5, 16))
DETESS_BF16 = Geometry("detess", (9, 10, 16), "bf16", HWC, (1, 3, 5, 16))


def load_ticks(image: FirmwareImage, geometry: Geometry) -> int:
    """What a job of a fresh device with this image spends on loading a kernel."""
    return launch(geometry, firmware=image).stats.parts["load"]


def test_handles_are_cached_apart_for_each_dtype() -> None:
    """The first job of an operation and dtype loads its kernel, a later one does not, another dtype loads its own."""
    image = FirmwareImage.full()
    loads = [load_ticks(image, g) for g in (TESS_INT8, TESS_INT8, TESS_BF16, TESS_INT8, TESS_BF16, DETESS_BF16)]
    assert loads == [5000, 0, 5000, 0, 0, 5000]
    assert sorted(image.handles.loaded) == [("detess", "bf16"), ("tess", "bf16"), ("tess", "int8")]


def test_the_worker_is_picked_once_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """One job asks its kernel once, for all its workers; the tensor's shape does not choose it."""
    made: list[tuple[int, ...]] = []
    original = WORK_ITEMS[True]

    def counting(geometry: Any, spec: Any, workers: int) -> Any:
        made.append(geometry.grid)
        return original(geometry, spec, workers)

    monkeypatch.setitem(WORK_ITEMS, True, counting)  # type: ignore[arg-type]
    image = FirmwareImage.full()
    launch(TESS_BF16, {"workers": 16}, firmware=image)
    launch(Geometry("tess", (5, 3), "bf16", (-1, -1, 0, 1), (1, 1, 2, 2)), firmware=image)
    assert made == [(1, 1, 3, 2), (2, 1, 1, 3)]
    assert list(image.handles.loaded) == [("tess", "bf16")]


@pytest.mark.parametrize(
    "lacking",
    [
        Composition(ops=("detess", "detesscast")),
        Composition(dtypes=("int8",)),
        Composition(packet_versions=((9, 0),)),
    ],
    ids=["op", "dtype", "version"],
)
def test_what_the_image_lacks_is_a_fault(lacking: Composition) -> None:
    """The firmware itself refuses what it does not hold, writes nothing, and never falls back."""
    done = launch(TESS_BF16, firmware=FirmwareImage(lacking))
    assert done.record is not None
    assert done.record.completion.status == REFUSAL_BY_CODE["capability"].status
    assert set(done.output) == {0xC3}
    assert done.stats.transfers == 0


@pytest.mark.parametrize("asked", [1, 2, 3, 4, 9])
def test_a_launch_smaller_than_asked_for(asked: int) -> None:
    """Work is dealt to the grid that was really launched: min(asked, device), every one with a share, same bytes."""
    geometry = Geometry("tess", (32, 32, 16), "bf16", HWC, (1, 4, 4, 16))
    done = launch(geometry, {"workers": 4}, workers=asked)
    assert done.stats.workers_launched == min(asked, 4)
    assert {worker for worker, _ in done.stats.digests} == set(range(min(asked, 4)))
    assert done.output == expected_output(geometry, source_of(geometry))
    assert done.record is not None
    assert done.record.workers == min(asked, 4)


def test_sparse_and_permuted_cores() -> None:
    """Physical ids never reach the firmware: the same transfers at the same ticks for any numbering."""
    for geometry in random_geometries(12, seed=41):
        if 0 in geometry.shape:
            continue
        plain, renamed = (launch(geometry, {"workers": 6, "core_ids": ids}, trace=True) for ids in ([], [40, 3, 17, 5]))
        assert plain.stats == renamed.stats
        assert plain.output == renamed.output


def test_more_workers_than_cores_are_slower_not_different() -> None:
    """Five workers on four cores run one after the other on core 0: the bytes stay, the ticks grow."""
    geometry = Geometry("tess", (160, 160, 3), "int8", HWC, (1, 16, 16, 3))
    four, five = (launch(geometry, {"workers": workers, "cores": 4}) for workers in (4, 5))
    assert four.output == five.output == expected_output(geometry, source_of(geometry))
    assert five.stats.device_ticks > four.stats.device_ticks
    starts = [worker.start_ticks for worker in five.stats.workers]
    assert starts[4] >= five.stats.workers[0].finish_ticks


def test_fewer_granules_than_workers() -> None:
    """Workers without a granule stay idle; that is legal."""
    geometry = Geometry("tess", (5,), "bf16", (-1, -1, -1, 0), (1, 1, 1, 5))
    done = launch(geometry, {"workers": 16})
    assert done.output == expected_output(geometry, source_of(geometry))
    assert {worker for worker, kind in done.stats.digests if kind == "write"} == {15} or len(done.stats.digests) == 2


def test_a_job_runs_again_over_dirty_bytes() -> None:
    """The same packet twice: the second run finds a dirty output and dirty scratch, and writes the same bytes."""
    for geometry in random_geometries(12, seed=42):
        if 0 in geometry.shape:
            continue
        rig = build(geometry, {"workers": 3})
        first = rig.run()
        gaps = expected_output(geometry, source_of(geometry), 0x77)
        rig.span()[:] = 0x77
        second = rig.run()
        assert first.output == expected_output(geometry, source_of(geometry)), name_of(geometry)
        assert second.output == gaps, name_of(geometry)


def test_geometry_is_all_that_the_firmware_knows() -> None:
    """What the entry reads from the packet is geometry, addresses and fill; no name is in it."""
    known = set(type(device_geometry(TESS_INT8)).__attrs_attrs__)
    assert {field.name for field in known} == {
        "op", "packs", "conversion", "parameters",
        "tile_format", "tiled_dtype", "linear_dtype", "fill", "axes", "outer",
        "input_address", "output_address", "input_bytes", "output_bytes",
    }  # fmt: skip


def test_names_change_nothing() -> None:
    """A job or a buffer by any other name: the same bytes and the same statistics."""
    plan = plan_of(request_of(TESS_BF16))
    outcomes = []
    for name in ("yolov8n head", "x"):
        with (
            ev74(DeviceSpec()) as runtime,
            runtime.allocate(plan.input.required_bytes, name=name, writable=False) as source,
            runtime.allocate(plan.output.required_bytes, name=name) as target,
        ):
            source.host[:] = np.frombuffer(source_of(TESS_BF16), np.uint8)
            outcomes.append((runtime.run(plan, [source], [target], name=name).stats, target.host.tobytes()))
    assert outcomes[0] == outcomes[1]
