"""Planned bands of unpacking: they are the bands that are run, and know how their reads move."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from tessbed.firmware_models.nests.planned_band import DescriptorArray
from tessbed.firmware_models.nests.unpack_bands import planned_band
from tessbed.firmware_models.ops.unpack import D, OutputBlock, UnpackMaker, output_dimensions, unpack_cuts
from tests.firmware_models.planning.test_launch_summary import several


def makers() -> Iterator[tuple[UnpackMaker, list[OutputBlock]]]:
    """Random launches that unpack, each with some blocks of its last worker."""
    for geometry, spec, workers in several(400, 5):
        if not geometry.packs:
            dimensions = output_dimensions(geometry)
            cuts, maker = unpack_cuts(geometry, spec, dimensions, workers), UnpackMaker(geometry, spec, dimensions)
            items = islice(maker.items(*cuts[-2:]), 5)
            yield maker, [block for item in items for block in maker._fitting(item.part[0])][:8]


def same(one: DescriptorArray, other: DescriptorArray) -> None:
    """Compare descriptors, but for where they are in scratch."""
    assert one.addresses.tolist() == other.addresses.tolist()
    assert [one.shapes[kind] for kind in one.kinds] == [other.shapes[kind] for kind in other.kinds]


def test_a_planned_band_is_the_band_that_is_run() -> None:
    """Every read and every drain in its order, cost, footprint and counts."""
    seen = 0
    for maker, blocks in makers():
        for block in blocks:
            planned, band = planned_band(maker, block), maker.band(block)
            same(planned.reads, DescriptorArray.of(band.reads))
            same(planned.chain, DescriptorArray.of(band.chain))
            assert (planned.ticks, planned.footprint) == (band.ticks, band.footprint)
            assert (planned.oversized, planned.counts) == (band.oversized, band.counts)
            seen += 1
    assert seen > 300


def moves(step: int | tuple[int, ...], moves_with: np.ndarray) -> list[int]:
    """By how much each read moves, given that of all or of those that move alike."""
    return [step[number] if isinstance(step, tuple) else step for number in moves_with.tolist()]


def test_steps_are_what_lies_between_bands() -> None:
    """A band one pixel further in the same tile along D, H or W, and one a whole tile further in full ones."""
    seen = [0, 0]
    for maker, blocks in makers():
        for block, axis in ((block, axis) for block in blocks for axis in range(D, 4)):
            (low, high), along = block.ranges[axis], maker.geometry.axes[axis]
            tile, extent = along.tile, along.extent
            one = planned_band(maker, block)
            by_pixel = high < extent and low // tile == high // tile
            by_tile = high + tile <= extent // tile * tile
            steps = [(1, one.pixel_steps[axis - D])] * by_pixel + [(tile, one.tile_steps[axis])] * by_tile
            for pixels, step in steps:
                two = planned_band(maker, block.sliced(axis, low + pixels, high + pixels))
                assert (two.reads.addresses - one.reads.addresses).tolist() == moves(step, one.moves_with)
                seen[pixels > 1 and pixels == tile] += 1
    assert min(seen) > 10, seen
