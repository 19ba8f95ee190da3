"""Padding, clears, the two-channel path and exact widths: what the documents promise of single paths, counted."""

import pytest

from tessbed.firmware_models import image
from tessbed.firmware_models.planning.launch_summary import outline
from tessbed.firmware_models.vector_ops import VectorFill
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.firmware_models.rig import device_geometry, launch, source_of
from tests.oracle import Geometry, expected_output

HWC = (-1, 0, 1, 2)


def counts_of(geometry: Geometry, **changes: object) -> dict[str, int]:
    """The firmware's own counts, with the bytes checked on the way."""
    done = launch(geometry, {"workers": 1, **changes})
    assert done.output == expected_output(geometry, source_of(geometry))
    return done.stats.counts


@pytest.mark.parametrize(
    ("channels", "tile_channels", "pad16", "clears_per_pixel"),
    [(17, 17, True, 2), (33, 20, True, 4), (32, 16, True, 0), (16, 16, True, 0), (17, 17, False, 0), (3, 3, True, 2)],
)
def test_one_clear_for_each_partial_plane(
    channels: int, tile_channels: int, pad16: bool, clears_per_pixel: int
) -> None:
    """BF16: one 16-byte clear for each byte plane with a partial last block; none for compact or full planes."""
    geometry = Geometry("tess", (6, 7, channels), "bf16", HWC, (1, 3, 4, tile_channels), pad16)
    assert counts_of(geometry).get("plane_clears", 0) == clears_per_pixel * 42


def test_only_the_last_block_is_cleared() -> None:
    """A clear is 16 bytes at the last block of each plane, before valid channels are written, not the whole plane."""
    geometry = Geometry("tess", (2, 3, 40), "bf16", HWC, (1, 2, 3, 40), True)
    device = device_geometry(geometry)
    (band,) = image.band_program(device, DeviceSpec(), 1)(0)
    clear = band.steps[0]
    assert isinstance(clear, VectorFill)
    assert clear.shape == (6, 2, 16)
    assert clear.target_strides == (96, 48, 1)
    assert not any(isinstance(step, VectorFill) for step in band.steps[1:])


def test_clears_cost_their_ticks() -> None:
    """Each 16-byte clear costs `compute.clear_ticks`."""
    geometry = Geometry("tess", (6, 7, 17), "bf16", HWC, (1, 6, 7, 17), True)
    cheap, dear = (
        launch(geometry, {"workers": 1, "compute": {"clear_ticks": ticks}}).stats.workers[0].stalls["compute"]
        for ticks in (1, 11)
    )
    assert dear - cheap == 10 * 2 * 42


SMALL = {"scratch_bytes": 4096, "scratch_reserved_bytes": 0}
WIDE = Geometry("tess", (2, 3, 1001), "bf16", HWC, (1, 2, 3, 1001), True)


def test_a_wide_pixel_clears_its_last_block() -> None:
    """Of a pixel in panels, only the last panel's last block is cleared, 16 bytes for each of the two planes."""
    *others, last = image.band_program(device_geometry(WIDE), override(DeviceSpec(), {"slots": 2, **SMALL}), 1)(0)
    assert len(others) > 6
    clear, *moves = last.steps
    assert isinstance(clear, VectorFill)
    assert clear.shape == (1, 2, 16)
    assert not any(isinstance(step, VectorFill) for step in moves)
    assert sum(isinstance(step, VectorFill) for band in others for step in band.steps) == 5
    assert counts_of(WIDE, **SMALL)["plane_clears"] == 2 * 6


def test_clears_of_a_wide_pixel_cost_their_ticks() -> None:
    """The clears of pixels in panels cost `compute.clear_ticks` each, in both engines; others cost none."""
    for geometry, clears in ((WIDE, 12), (Geometry("tess", (2, 3, 1008), "bf16", HWC, (1, 2, 3, 1008), True), 0)):
        cheap, dear = (
            launch(geometry, {"workers": 1, **SMALL, "compute": {"clear_ticks": t}}).stats.workers[0].stalls["compute"]
            for t in (1, 11)
        )
        assert dear - cheap == 10 * clears
        specs = [override(DeviceSpec(), {"workers": 1, **SMALL, "compute": {"clear_ticks": t}}) for t in (1, 11)]
        shapes = [outline(device_geometry(geometry), spec, 1) for spec in specs]
        ticks = [
            sum(shape.bands[i].ticks * run.times for run in shape.workers[0] for i in run.bands) for shape in shapes
        ]
        assert ticks[1] - ticks[0] == 10 * clears


def test_a_wide_int8_pixel_fills_its_padding_alone() -> None:
    """The last panel of a wide INT8 pixel writes the fill to the padded channels, and clears nothing."""
    geometry = Geometry("tess", (1, 2, 4002), "int8", HWC, (1, 1, 2, 4002), True, fill=9)
    *_, last = image.band_program(device_geometry(geometry), override(DeviceSpec(), {"slots": 2, **SMALL}), 1)(0)
    assert [step.shape for step in last.steps if isinstance(step, VectorFill)] == [(1, 1, 14)]
    assert "plane_clears" not in counts_of(geometry, **SMALL)


def test_int8_padding_is_the_jobs_fill() -> None:
    """INT8 Pad16 publishes this job's fill, whatever the output held; BF16 padding is zero."""
    for fill in (-128, -1, 0, 127):
        geometry = Geometry("tess", (3, 5, 5), "int8", HWC, (1, 2, 5, 5), True, fill=fill)
        output = launch(geometry, {"workers": 2}).output
        assert output == expected_output(geometry, source_of(geometry))
        assert output[5:16] == bytes([fill & 0xFF]) * 11


@pytest.mark.parametrize("strides", [None, (77, 2, 1), (100, 2, 1)])
@pytest.mark.parametrize("width", [8, 19, 37])
def test_two_channel_int8_path(strides: tuple[int, int, int] | None, width: int) -> None:
    """Packed two-channel INT8 rows go through the publisher, whole blocks and incomplete prefixes alike."""
    geometry = Geometry("tess", (5, 37, 2), "int8", HWC, (1, 2, width, 2), True, strides_bytes=strides, fill=-3)
    assert counts_of(geometry)["c2_pad16_pixels"] == 5 * 37


@pytest.mark.parametrize(
    "other",
    [
        Geometry("tess", (5, 37, 2), "bf16", HWC, (1, 2, 19, 2), True),
        Geometry("tess", (5, 37, 2), "int8", HWC, (1, 2, 19, 2)),
        Geometry("tess", (5, 37, 3), "int8", HWC, (1, 2, 19, 3), True),
        Geometry("tess", (5, 37, 2), "int8", HWC, (1, 2, 19, 2), True, strides_bytes=(200, 5, 1)),
        Geometry("tess", (5, 37, 2), "int8", HWC, (1, 2, 19, 2), True, strides_bytes=(37, 1, 185)),
    ],
    ids=["bf16", "compact", "three channels", "pixels apart", "planar"],
)
def test_others_keep_their_route(other: Geometry) -> None:
    """BF16, compact tiles, other channel counts and unpacked rows do not take the two-channel path."""
    assert "c2_pad16_pixels" not in counts_of(other)


def test_eight_pixels_to_an_input_vector() -> None:
    """The two-channel path costs one vector for eight pixels, and scalars for an incomplete prefix only."""

    def compute(width: int) -> int:
        geometry = Geometry("tess", (1, width, 2), "int8", HWC, (1, 1, width, 2), True)
        return launch(geometry, {"workers": 1}).stats.workers[0].stalls["compute"]

    vector, scalar = 8, 2 * 4
    assert compute(16) - compute(8) == vector
    assert compute(11) - compute(8) == 3 * scalar
    assert compute(24) - compute(11) == 2 * vector - 3 * scalar


def test_fragments_at_band_edges_keep_exact_widths() -> None:
    """A cut inside a pixel: both neighbours store only their own bytes, and say that they did."""
    geometry = Geometry("tess", (5, 7, 33), "bf16", HWC, (1, 5, 7, 33), True)
    done = launch(geometry, {"workers": 8, "write_granule_bytes": 16})
    assert done.output == expected_output(geometry, source_of(geometry))
    assert not done.strayed
    assert done.stats.counts["fragments"] > 0
    assert done.stats.writes.payload_bytes == len(done.output)


@pytest.mark.parametrize("op", ["tess", "detess"])
@pytest.mark.parametrize("workers", [1, 3, 8, 16])
def test_every_output_byte_is_written_once(op: str, workers: int) -> None:
    """Payload written is the output exactly: no worker repeats another's byte, strided gaps are not payload."""
    geometry = Geometry(op, (11, 13, 5), "bf16", HWC, (1, 4, 5, 5), strides_bytes=(600, 40, 2))
    done = launch(geometry, {"workers": workers, "write_granule_bytes": 128})
    logical = 11 * 13 * 5 * 2
    written = done.stats.writes.payload_bytes
    assert written == (len(done.output) if op == "tess" else logical)


def test_gathers_retire_before_packing() -> None:
    """No compute overlaps a gather of the same worker: input/compute overlap is not claimed."""
    geometry = Geometry("tess", (32, 32, 16), "bf16", HWC, (1, 8, 8, 16))
    (worker,) = launch(geometry, {"workers": 1}, trace=True).stats.workers
    assert sum(worker.stalls.values()) == worker.finish_ticks - worker.start_ticks
    assert worker.stalls["gather"] > 0


@pytest.mark.parametrize("dtype", ["int8", "bf16"])
@pytest.mark.parametrize("op", ["tess", "detess"])
def test_every_bit_pattern_survives(op: str, dtype: str) -> None:
    """All 256 or 65,536 scalars pass through bit for bit, NaN payloads and signed zeros among them."""
    count = 256 if dtype == "int8" else 65536
    geometry = Geometry(op, (count // 16, 16), dtype, (-1, -1, 0, 1), (1, 1, 100, 16))
    scalars = range(count)
    if dtype == "int8":
        source = bytes(scalars)
    elif op == "tess":
        source = b"".join(value.to_bytes(2, "little") for value in scalars)
    else:
        rows = [[pixel * 16 + channel for channel in range(16)] for pixel in range(count // 16)]
        source = b"".join(bytes(v & 255 for v in row) + bytes(v >> 8 for v in row) for row in rows)
    output = launch(geometry, source=source).output
    assert output == expected_output(geometry, source)
    if op == "detess" and dtype == "bf16":
        assert output == b"".join(value.to_bytes(2, "little") for value in scalars)


def test_every_bf16_word_widens_exactly() -> None:
    """DetessCast to FP32: each of the 65,536 words becomes the upper half, and the lower half is zero."""
    geometry = Geometry("detesscast", (4096, 16), "bf16", (-1, -1, 0, 1), (1, 1, 100, 16), to="fp32")
    rows = [range(16 * pixel, 16 * pixel + 16) for pixel in range(4096)]
    source = b"".join(bytes(v & 255 for v in row) + bytes(v >> 8 for v in row) for row in rows)
    output = launch(geometry, source=source).output
    assert output == b"".join((word << 16).to_bytes(4, "little") for word in range(65536))


def test_compute_ticks_by_hand() -> None:
    """One dense band of 512 INT8 bytes: 150 for the band, 6 for its one run, 2 for each of its 8 vectors."""
    geometry = Geometry("tess", (1, 8, 64), "int8", HWC, (1, 1, 8, 64))
    assert launch(geometry, {"workers": 1}).stats.workers[0].stalls["compute"] == 150 + 6 + 8 * 2
