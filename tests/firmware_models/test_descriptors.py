"""Descriptors cover exactly the box, with every field as narrow as the hardware's."""

from random import Random

import numpy as np
import pytest

from tessbed.firmware_models.descriptors import BoxDescriptors, build_descriptors, dense_byte_strides


def draw_box(random: Random) -> tuple[list[int], list[int], int]:
    """Extents, strides and run of a box without overlap, axes in any order; pitches often beyond 16 bits."""
    run = random.choice([1, 2, 3, 16, 100])
    axes, span = [], run
    for _ in range(random.randint(0, 4)):
        extent = random.choice([1, 2, 3, 5, 9])
        stride = span + random.choice([0, 0, 1, 7, 60, 70000, 200000])
        axes.append((extent, stride))
        span += (extent - 1) * stride
    random.shuffle(axes)
    return [extent for extent, _ in axes], [stride for _, stride in axes], run


def memory_bytes(made: BoxDescriptors) -> list[int]:
    """Every memory address that the descriptors touch, in scratch order."""
    pairs = [
        (d.scratch + row * d.scratch_pitch + byte, d.address + row * d.pitch + byte)
        for d in made.descriptors
        for row in range(d.rows)
        for byte in range(d.row_bytes)
    ]
    assert len({scratch for scratch, _ in pairs}) == len(pairs)
    return [address for _, address in sorted(pairs)]


@pytest.mark.parametrize("limit", [255, 1023, 65535])
def test_covers_exactly_the_box(limit: int) -> None:
    """Each byte of the box travels once, none outside it, and scratch then holds the box densely."""
    for index in range(200):
        random = Random(f"cover/{limit}/{index}")
        extents, strides, run = draw_box(random)
        made = build_descriptors(1 << 20, 64, extents, strides, run, limit)
        dense, total = dense_byte_strides(extents, strides, run)
        assert made.scratch_bytes == total
        assert made.scratch_strides == dense
        expected = np.zeros(total, np.int64)
        for at in np.ndindex(*extents):
            address = (1 << 20) + sum(i * s for i, s in zip(at, strides, strict=True))
            place = sum(i * s for i, s in zip(at, dense, strict=True))
            expected[place : place + run] = np.arange(address, address + run)
        assert memory_bytes(made) == expected.tolist()


@pytest.mark.parametrize("limit", [255, 1023, 65535])
def test_every_field_fits(limit: int) -> None:
    """Rows, row bytes and the pitches of more rows than one stay within the field; a longer pitch means single rows."""
    for index in range(200):
        extents, strides, run = draw_box(Random(f"fields/{limit}/{index}"))
        made = build_descriptors(1 << 20, 0, extents, strides, run, limit)
        for d in made.descriptors:
            assert 1 <= d.rows <= limit
            assert 1 <= d.row_bytes <= limit
            assert d.rows == 1 or (d.pitch <= limit and d.scratch_pitch <= limit)


def test_a_long_run_is_cut() -> None:
    """A run that no length field holds travels in pieces."""
    made = build_descriptors(4096, 0, (70000,), (1,), 1, 65535)
    assert [(d.address, d.row_bytes) for d in made.descriptors] == [(4096, 65535), (4096 + 65535, 70000 - 65535)]


@pytest.mark.parametrize(("pitch", "descriptors", "oversized"), [(65535, 1, False), (65536, 5, True)])
def test_a_pitch_is_never_narrowed(pitch: int, descriptors: int, oversized: bool) -> None:
    """The longest pitch that fits is a 2-D descriptor; one byte more, and each row is an independent read."""
    made = build_descriptors(4096, 0, (5,), (pitch,), 9, 65535)
    assert len(made.descriptors) == descriptors
    assert made.oversized is oversized
    assert [d.address for d in made.descriptors] == [4096 + row * pitch for row in range(descriptors)]


@pytest.mark.parametrize(("extents", "strides"), [((2, 100), (40_000, 300)), ((100, 2), (300, 40_000))])
def test_the_longest_axis_becomes_the_rows(extents: tuple[int, int], strides: tuple[int, int]) -> None:
    """Of two axes whose pitches fit, the longer one is the rows, so that two descriptors are enough for 200 runs."""
    made = build_descriptors(4096, 0, extents, strides, 9, 65535)
    assert [(d.address, d.rows, d.pitch) for d in made.descriptors] == [(4096, 100, 300), (4096 + 40_000, 100, 300)]


def test_an_axis_beyond_the_field_is_stepped_through() -> None:
    """The rows are the longest axis among those whose pitch fits, even if another is longer."""
    made = build_descriptors(4096, 0, (100, 3), (70_000, 300), 9, 65535)
    assert len(made.descriptors) == 100
    assert {(d.rows, d.pitch) for d in made.descriptors} == {(3, 300)}
