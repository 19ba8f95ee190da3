"""Band numbers: parts are numbered as the runs bring them, and equal bands have one number."""

import random

import numpy as np

from tessbed.firmware_models.planning.band_numbers import BandNumbers
from tessbed.firmware_models.planning.parts import FIELD, PartTable
from tessbed.sim.spec.device_spec import DeviceSpec


def table_of(*parts: tuple[int, int, int]) -> PartTable:
    """A table of parts of these (groups, ticks, what is counted), all with the same drain."""
    table = PartTable(DeviceSpec())
    codes = [groups << FIELD | table.tail(np.zeros(1, np.int32), ticks, counts) for groups, ticks, counts in parts]
    table.part_numbers(codes)
    return table


def test_bands_are_numbered_as_they_come() -> None:
    """Parts that differ by what is counted alone are one band; one that waits is another; each is numbered once."""
    numbers = BandNumbers(table_of((0, 10, 0), (0, 10, 1), (3, 20, 0)))
    assert numbers.of(np.array([4, 0, 2, 5, 4])).tolist() == [0, 1, 1, 2, 0]
    assert numbers.of(np.array([3, 1, 0])).tolist() == [3, 3, 1]
    assert len(numbers.keys) == 4


def test_parts_that_are_met_later_have_numbers_of_their_own() -> None:
    """The table grows between two sequences; what was numbered before keeps its number."""
    table = table_of((0, 10, 0))
    numbers = BandNumbers(table)
    assert numbers.of(np.array([1, 0])).tolist() == [0, 1]
    table.part_numbers([groups << FIELD for groups in range(1, 40)])
    order = [*range(2, 80)]
    random.Random(1).shuffle(order)
    assert numbers.of(np.array([0, *order, 1])).tolist() == [1, *range(2, 80), 0]
