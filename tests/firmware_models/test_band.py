"""Bands: bounded by scratch, ordered where granules meet, gathered in groups."""

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from tessbed.firmware_models import image
from tessbed.firmware_models.band import Band, Budget, DrainFootprint
from tessbed.firmware_models.ops import pack, unpack
from tessbed.firmware_models.worker_loop import wait_groups
from tessbed.sim.errors import HazardError
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.firmware_models.rig import device_geometry, launch, source_of
from tests.geometries import random_geometries
from tests.oracle import Geometry, expected_output

HWC = (-1, 0, 1, 2)


def granules(address: int, extents: list[int], strides: list[int], run: int, granule: int) -> set[int]:
    """Every granule of a box of runs, one by one."""
    return {
        touched
        for at in np.ndindex(*extents)
        for start in [address + sum(i * s for i, s in zip(at, strides, strict=True))]
        for touched in range(start // granule, (start + run - 1) // granule + 1)
    }


def test_meets_never_misses_a_shared_granule() -> None:
    """`DrainFootprint.meets` is conservative: it may fear a shared granule, it never overlooks one."""
    apart = together = 0
    for index in range(6000):
        random = Random(f"meets/{index}")
        granule = random.choice([1, 16, 32, 64, 128])
        strides = [random.choice([4, 24, 64, 100, 128, 256, 640, 1000]) for _ in range(2)]
        boxes = []
        for _ in range(2):
            extents = [random.randint(1, 4), random.randint(1, 4)]
            boxes.append((4096 + random.randrange(1500), extents, strides, random.choice([1, 4, 16, 50])))
        first, second = (DrainFootprint.of(*box) for box in boxes)
        share = bool(granules(*boxes[0], granule) & granules(*boxes[1], granule))
        meets = first.meets(second, granule)
        assert meets == second.meets(first, granule)
        assert meets or not share, (boxes, granule)
        together += share
        apart += not meets
    assert together > 500
    assert apart > 500


def all_bands(geometry: Geometry, spec: DeviceSpec) -> tuple[Budget, list[Band]]:
    """Every band of the geometry, as one worker that owns all would run them."""
    device = device_geometry(geometry)
    made = list(image.band_program(device, spec, 1)(0))
    if geometry.op == "tess":
        channels = device.axes[0].tile
        return Budget.of(spec, channels * device.scalar_bytes, device.pixel_bytes(channels)), made
    return unpack.UnpackMaker(device, spec, unpack.output_dimensions(device)).budget, made


def touched(scratch: np.ndarray, band: Band) -> np.ndarray:
    """The scratch bytes that packing changes, seen by packing twice over different backgrounds."""
    changed = np.zeros(scratch.size, bool)
    for background in (0x00, 0xFF):
        scratch[:] = background
        for step in band.steps:
            step.on(scratch)()
        changed |= scratch != background
    return changed


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("scratch_bytes", [512, 2048, 196608])
def test_staging_is_bounded(slots: int, scratch_bytes: int) -> None:
    """Gathers land in the gather area, drains leave from the band's own slot, packing changes nothing but that slot."""
    reserved = DeviceSpec().scratch_reserved_bytes
    spec = override(DeviceSpec(), {"slots": slots, "scratch_bytes": reserved + scratch_bytes})
    scratch = np.zeros(spec.usable_scratch_bytes, np.uint8)
    for geometry in random_geometries(30, seed=35):
        if 0 in geometry.shape:
            continue
        budget, made = all_bands(geometry, spec)
        assert budget.gather_bytes + slots * budget.slot_bytes <= spec.usable_scratch_bytes
        for number, band in enumerate(made):
            low = budget.slot(number)
            for d in band.reads:
                assert d.scratch + (d.rows - 1) * d.scratch_pitch + d.row_bytes <= budget.gather_bytes
            for d in band.chain:
                assert low <= d.scratch
                assert d.scratch + (d.rows - 1) * d.scratch_pitch + d.row_bytes <= low + budget.slot_bytes
            if scratch_bytes <= 2048:
                places = np.flatnonzero(touched(scratch, band))
                assert places.size == 0 or low <= places[0] <= places[-1] < low + budget.slot_bytes


@pytest.mark.parametrize("scratch_bytes", [512, 603, 1000])
def test_staging_is_bounded_where_a_worker_begins_inside_a_pixel(scratch_bytes: int) -> None:
    """Pixels wider than an area of any size: blocks of 16 channels are gathered whole, and fit all the same."""
    changes = {"slots": 3, "scratch_bytes": scratch_bytes, "scratch_reserved_bytes": 0, "scratch_align_bytes": 1}
    spec, inside = override(DeviceSpec(), changes), 0
    for channels, to in product((46, 100, 333), ("bf16", "fp32")):
        geometry = Geometry("detesscast", (1, 61, channels), "bf16", cblocked=(1, 1, channels), to=to)
        device = device_geometry(geometry)
        budget = unpack.UnpackMaker(device, spec, unpack.output_dimensions(device)).budget
        for worker in range(8):
            for band in image.band_program(device, spec, 8)(worker):
                ends = [d.scratch + (d.rows - 1) * d.scratch_pitch + d.row_bytes for d in band.reads]
                assert max(ends) <= budget.gather_bytes
                first = (band.chain[0].address - device.output_address) // device.linear_scalar_bytes
                inside += first % channels % 16 != 0
    assert inside > 20


@pytest.mark.parametrize("slots", [1, 2])
def test_small_slots_hold_the_tail_of_the_last_band(slots: int) -> None:
    """A slot has room for as many pixels as fit it and the alignment bytes of the tile, which the last band brings."""
    changes = {"slots": slots, "scratch_bytes": 128 * (1 + slots), "scratch_reserved_bytes": 0}
    spec, full = override(DeviceSpec(), changes), 0
    for channels, pixels, dtype in product((1, 3, 5, 7), range(72, 90, 2), ("int8", "bf16")):
        geometry = Geometry("tess", (1, pixels, channels), dtype, HWC, (1, 1, pixels, channels))
        budget, made = all_bands(geometry, spec)
        assert budget.slot_bytes == 128
        drained = sum(d.row_bytes for d in made[-1].chain)
        tail = -pixels * channels * device_geometry(geometry).scalar_bytes % 16
        assert tail < drained <= budget.slot_bytes
        full += drained + 16 > budget.slot_bytes and tail > 0
        done = launch(geometry, {"workers": 1, **changes})
        assert done.output == expected_output(geometry, source_of(geometry))
    assert full


@pytest.mark.parametrize(
    ("op", "owner", "name", "bug"),
    [
        ("tess", pack, "even_parts", lambda total, most: total),
        ("detess", unpack.UnpackMaker, "_cut_pixels", lambda self, block, most: iter((block,))),
    ],
    ids=["tess", "detess"],
)
def test_a_band_past_its_areas_is_loud(
    op: str, owner: Any, name: str, bug: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Firmware that cuts no bands stops, before one corrupts the bytes of others."""
    device = device_geometry(Geometry(op, (4, 512, 16), "int8", HWC, (1, 4, 512, 16)))
    spec = override(DeviceSpec(), {"scratch_bytes": DeviceSpec().scratch_reserved_bytes + 4096})
    assert list(image.band_program(device, spec, 1)(0))
    monkeypatch.setattr(owner, name, bug)
    with pytest.raises(HazardError, match=r"a band (gathers|packs) \d+ bytes into an area of \d+"):
        list(image.band_program(device, spec, 1)(0))


FITS = {"both to the last byte": (192, 128, ""), "gathers": (193, 128, "gathers 193"), "packs": (192, 129, "packs 129")}


@pytest.mark.parametrize(("gathered", "packed", "wrong"), FITS.values(), ids=FITS)
def test_a_band_fits_its_areas_to_the_last_byte(gathered: int, packed: int, wrong: str) -> None:
    """Areas that are full are right; one byte more is a hazard that names the area."""
    budget = Budget(gather_bytes=192, slot_bytes=128, slots=2)
    if not wrong:
        budget.check(gathered, packed)
        return
    with pytest.raises(HazardError, match=f"a band {wrong} bytes into an area of"):
        budget.check(gathered, packed)


@pytest.mark.parametrize("op", ["tess", "detess"])
def test_staging_does_not_grow_with_the_tensor(op: str) -> None:
    """A tensor 64 times as large is cut into more bands, none of which stages or moves more."""

    def peak(height: int) -> tuple[int, int, int]:
        geometry = Geometry(op, (height, 640, 3), "bf16", HWC, (1, height, 320, 3), True)
        _, made = all_bands(geometry, DeviceSpec())
        ends = [d.scratch + (d.rows - 1) * d.scratch_pitch + d.row_bytes for b in made for d in b.reads + b.chain]
        moved = max(sum(d.rows * d.row_bytes for d in band.chain) for band in made)
        return len(made), max(ends), moved

    small, large = peak(20), peak(1280)
    assert large[0] >= 32 * small[0]
    assert large[1] <= small[1] * 1.05
    assert large[2] <= small[2] * 1.05


@pytest.mark.parametrize(
    "geometry",
    [
        Geometry("tess", (640, 32, 3), "bf16", HWC, (1, 640, 32, 3)),
        Geometry("tess", (640, 640, 1), "bf16", HWC, (1, 640, 640, 1)),
        Geometry("detess", (640, 640, 1), "int8", HWC, (1, 640, 640, 1)),
        Geometry("detesscast", (640, 32, 3), "bf16", HWC, (1, 640, 32, 3), to="fp32"),
    ],
    ids=lambda geometry: f"{geometry.op}-{geometry.shape}",
)
def test_whole_map_tiles_run_in_bands(geometry: Geometry) -> None:
    """A tile as large as the map is worked on in bands within the scratch, in two slots."""
    budget, made = all_bands(geometry, DeviceSpec())
    assert len(made) >= 4
    assert budget.gather_bytes + 2 * budget.slot_bytes <= DeviceSpec().usable_scratch_bytes


def test_oversized_pitch_goes_four_rows_at_a_time() -> None:
    """Rows 70,000 bytes apart are read one by one, four to a wait group; a pitch that fits is one descriptor."""
    wide = Geometry("tess", (9, 17), "bf16", (-1, -1, 0, 1), (1, 1, 9, 17), strides_bytes=(70000, 2))
    _, (band,) = all_bands(wide, DeviceSpec())
    assert [len(group) for group in wait_groups(band, DeviceSpec())] == [4, 4, 1]
    assert all(d.rows == 1 for d in band.reads)
    near = Geometry("tess", (9, 17), "bf16", (-1, -1, 0, 1), (1, 1, 9, 17), strides_bytes=(65534, 2))
    _, (band,) = all_bands(near, DeviceSpec())
    assert [d.rows for d in band.reads] == [9]
    counts = launch(wide, {"workers": 1}).stats.counts
    assert counts["oversized_pitch_reads"] == 9
    assert counts["wait_groups"] == 3


def test_oversized_output_pitch_is_written_row_by_row() -> None:
    """Output rows 70,000 bytes apart are single-row descriptors of one chain."""
    geometry = Geometry("detess", (9, 17), "bf16", (-1, -1, 0, 1), (1, 1, 9, 17), strides_bytes=(70000, 2))
    done = launch(geometry, {"workers": 1})
    assert done.stats.counts["single_row_writes"] == 9
    assert done.stats.writes.descriptors == 9
    assert done.stats.writes.transfers == 1


def test_wait_groups_hold_every_read_once() -> None:
    """Groups are as long as the device allows, in order, with nothing lost."""
    for geometry, limit in product(random_geometries(20, seed=36), (1, 4, 16)):
        if 0 in geometry.shape:
            continue
        spec = override(DeviceSpec(), {"dma": {"wait_group": limit}})
        for band in all_bands(geometry, spec)[1]:
            groups = list(wait_groups(band, spec))
            assert [d for group in groups for d in group] == band.reads
            assert all(1 <= len(group) <= limit for group in groups)


def seams(changes: dict[str, Any]) -> int:
    """Drains that had to wait for an earlier one, on an output whose rows end inside granules."""
    geometry = Geometry("detess", (60, 150), "int8", (-1, -1, 0, 1), (1, 1, 5, 150))
    return launch(geometry, {"workers": 1, **changes}).stats.counts.get("ordered_drains", 0)


def test_only_meeting_drains_are_ordered() -> None:
    """Consecutive drains wait where they share a granule: not with byte strobes, not when granules end with them."""
    assert seams({"write_granule_bytes": 64}) > 0
    assert seams({"byte_strobes": True}) == 0
    aligned = Geometry("detess", (60, 192), "int8", (-1, -1, 0, 1), (1, 1, 5, 192))
    assert launch(aligned, {"workers": 1}).stats.counts.get("ordered_drains", 0) == 0


def test_a_second_slot_overlaps_the_drain() -> None:
    """With two slots the drain of one band overlaps later work; with one it does not overlap the next packing."""
    geometry = Geometry("detess", (64, 64, 16), "int8", HWC, (1, 4, 64, 16))
    slow = {"workers": 1, "memory": {"write_latency_ticks": 2000}}
    one, two = (launch(geometry, {**slow, "slots": slots}).stats for slots in (1, 2))
    stalls = [stats.workers[0].stalls["slot"] for stats in (one, two)]
    assert stalls[1] < stalls[0]
    assert two.device_ticks < one.device_ticks
