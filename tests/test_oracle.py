"""The literal oracle against bytes written by hand, the documents' formula and the recorded real cases."""

from hashlib import sha256

import pytest

from tests.geometries import FAMILY, KINDS, MAX_BYTES, RANKS, name_of, random_geometries, tiled_size
from tests.golden.by_hand import BY_HAND, TESS, ByHand
from tests.golden.realworld import REALWORLD, Recorded
from tests.oracle import (
    ALIGNMENT,
    PADDING,
    Geometry,
    expected_output,
    golden_bytes,
    input_bytes,
    linear_bytes,
    output_bytes,
    tiled_bytes,
    walk,
)

DENSE_TESS = [case for case in TESS if case.geometry.strides_bytes is None]


@pytest.mark.quick
@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case.name)
def test_by_hand(case: ByHand) -> None:
    """Every hand-written case comes out to the byte, and both spans have the length of their hex."""
    assert input_bytes(case.geometry) == len(case.source)
    assert output_bytes(case.geometry) == len(case.expected)
    assert expected_output(case.geometry, case.source) == case.expected


@pytest.mark.parametrize("case", DENSE_TESS, ids=lambda case: case.name)
def test_by_hand_read_back(case: ByHand) -> None:
    """The same hand-written tiles, read by Detess, give the hand-written tensor."""
    geometry = case.geometry
    inverse = Geometry("detess", geometry.shape, geometry.dtype, geometry.axes, geometry.tile, geometry.pad16)
    assert expected_output(inverse, case.expected) == case.source


@pytest.mark.parametrize(
    ("geometry", "tiled", "linear"),
    [
        pytest.param(Geometry("tess", (2, 17), "bf16", (-1, -1, 0, 1), (1, 1, 2, 16)), 80, 68, id="compact"),
        pytest.param(Geometry("tess", (2, 17), "bf16", (-1, -1, 0, 1), (1, 1, 2, 16), True), 128, 68, id="pad16"),
        pytest.param(
            Geometry("detesscast", (2, 3), "bf16", (-1, -1, 0, 1), (1, 1, 2, 3), strides_bytes=(16, 4), to="fp32"),
            16,
            28,
            id="pitched",
        ),
        pytest.param(Geometry("detess", (2, 0, 3), "int8", (-1, 0, 1, 2), (1, 1, 1, 1)), 0, 0, id="empty"),
    ],
)
def test_spans(geometry: Geometry, tiled: int, linear: int) -> None:
    """The byte counts that the documents state."""
    assert (tiled_bytes(geometry), linear_bytes(geometry)) == (tiled, linear)


@pytest.mark.parametrize(("height", "width", "channels"), [(1, 1, 17), (3, 5, 40), (2, 7, 16), (4, 1, 3)])
def test_cblocked_formula(height: int, width: int, channels: int) -> None:
    """Within one tile each byte lies where DetessCast's formula 32 * ((c / 16) * P + p) + c % 16 puts it."""
    geometry = Geometry("detesscast", (height, width, channels), "bf16", cblocked=(9, 9, 99), to="bf16")
    pixels, found = height * width, {entry: offset for offset, entry in enumerate(walk(geometry)) if entry[0] >= 0}
    for p in range(pixels):
        for c in range(channels):
            low = 32 * ((c // 16) * pixels + p) + c % 16
            assert found[(p * channels + c) * 2, 0] == low
            assert found[(p * channels + c) * 2, 1] == low + 16
    assert len(found) == 2 * pixels * channels


@pytest.mark.parametrize("geometry", random_geometries(60, seed=1), ids=name_of)
def test_walk_stores_each_byte_once(geometry: Geometry) -> None:
    """Every byte of every scalar is stored exactly once; all else is padding or alignment."""
    entries = [entry for entry in walk(geometry) if entry[0] not in (PADDING, ALIGNMENT)]
    scalars = 1
    for extent in geometry.shape:
        scalars *= extent
    assert len(entries) == len(set(entries)) == scalars * (1 if geometry.dtype == "int8" else 2)


@pytest.mark.parametrize("case", REALWORLD, ids=lambda case: case.name)
def test_realworld(case: Recorded) -> None:
    """Each recorded case of a real model has the recorded spans and SHA-256."""
    geometry = case.geometry
    source = golden_bytes(input_bytes(geometry))
    output = expected_output(geometry, source)
    spans = (len(output), len(source)) if geometry.op == "tess" else (len(source), len(output))
    assert spans == (case.tiled_bytes, case.linear_bytes)
    assert sha256(output).hexdigest() == case.sha256


def test_geometries_are_the_same_every_time() -> None:
    """The generator depends on nothing but count and seed, and a longer list starts with the shorter one."""
    assert random_geometries(40, seed=5) == random_geometries(300, seed=5)[:40]
    assert random_geometries(40, seed=5) != random_geometries(40, seed=6)


def test_sizes_of_geometries_are_those_counted_one_by_one() -> None:
    """By which geometries are drawn again or kept: of every kind, rank and layout."""
    for geometry in (*random_geometries(120, seed=3), *random_geometries(120, seed=3, kinds=FAMILY)):
        assert tiled_size(geometry) == tiled_bytes(geometry)


def test_geometries_reach_the_corners() -> None:
    """300 geometries hold every rank of every kind, and each feature that the documents name."""
    drawn = random_geometries(300, seed=2)
    assert {(len(g.shape), (g.op, g.dtype, g.to)) for g in drawn} == {(rank, kind) for rank in RANKS for kind in KINDS}
    assert max(max(tiled_bytes(g), linear_bytes(g)) for g in drawn) <= MAX_BYTES
    for feature, present in FEATURES.items():
        assert sum(map(present, drawn)) >= 5, feature


def _tiles(geometry: Geometry) -> list[tuple[int, int]]:
    """(extent, tile extent) of each mapped axis."""
    if geometry.cblocked:
        return list(zip(geometry.shape[-3:], geometry.cblocked, strict=True))
    pairs = zip(geometry.axes or (), geometry.tile or (), strict=True)
    return [(geometry.shape[axis], tile) for axis, tile in pairs if axis != -1]


FEATURES = {
    "empty": lambda g: 0 in g.shape,
    "cblocked": lambda g: g.cblocked is not None,
    "pad16": lambda g: g.pad16,
    "compact": lambda g: g.axes is not None and not g.pad16,
    "depth mapped": lambda g: g.axes is not None and g.axes[0] != -1,
    "height omitted": lambda g: g.axes is not None and g.axes[1] == -1,
    "outer axes": lambda g: len(g.shape) > len(_tiles(g)),
    "channel not last": lambda g: g.axes is not None and g.axes[3] != len(g.shape) - 1,
    "boundary tile": lambda g: any(extent % tile for extent, tile in _tiles(g) if tile < extent),
    "clipped tile": lambda g: any(tile > extent for extent, tile in _tiles(g)),
    "many channel tiles": lambda g: _tiles(g)[-1][0] > 2 * _tiles(g)[-1][1],
    "permuted": lambda g: g.strides_bytes is not None and list(g.strides_bytes) != sorted(g.strides_bytes)[::-1],
    "zero stride": lambda g: g.strides_bytes is not None and 0 in g.strides_bytes,
    "negative fill": lambda g: g.fill < 0,
}
