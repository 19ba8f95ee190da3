"""Band list: the bands of a long launch as keys, each made when it is looked at; parts find theirs in it."""

import random

import numpy as np
import pytest

from tessbed.firmware_models.nests.band_numbers import BandList
from tessbed.firmware_models.nests.parts import FIELD, PartTable
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.bench_planning import KINDS
from tests.firmware_models.nests.test_nest_totals import from_nests
from tests.firmware_models.test_launch_summary import packet_geometry


def keys(*bands: tuple[int, int, int]) -> list[int]:
    """Keys of (groups, drain, whether it waits)."""
    return [groups << FIELD + 1 | drain << 1 | waits for groups, drain, waits in bands]


@pytest.mark.parametrize("largest", [5, 1 << 20])
def test_keys_are_listed_once_in_their_order(largest: int) -> None:
    """Whether numbers are few or far apart: what comes several times is listed once, nothing else is, in order."""
    rng = random.Random(largest)
    found = keys(*[(rng.randrange(largest), rng.randrange(largest), rng.randrange(2)) for _ in range(200)])
    assert BandList.of(PartTable(DeviceSpec()), np.asarray(found)).keys.tolist() == sorted({*found})


def table_of(*tails: tuple[int, int]) -> PartTable:
    """A table that knows tails of these (ticks, what is counted), all with the same drain."""
    table = PartTable(DeviceSpec())
    for ticks, counts in tails:
        table.tail(np.zeros(1, np.int32), ticks, counts)
    return table


def test_parts_find_their_bands() -> None:
    """Parts that differ by what is counted alone are one band; one that waits is another; what is not listed is -1."""
    table = table_of((10, 0), (10, 1), (20, 0))
    listed = BandList.of(table, np.asarray(keys((0, 0, 0), (0, 0, 1), (3, 1, 1))))
    codes = [0 << FIELD | 0, 0 << FIELD | 1, 3 << FIELD | 2, 3 << FIELD | 0, 9 << FIELD | 2]
    assert listed.numbers(codes).tolist() == [0, 1, 0, 1, -1, 2, -1, -1, -1, -1]


def test_bands_are_those_of_their_keys() -> None:
    """One by one, from behind, as a slice, and all in a row; no two are equal, and equal ones share what they touch."""
    geometry = packet_geometry(KINDS["tess, cut tiles, odd rows"](30, 30), random.Random(1))
    listed = from_nests(geometry, DeviceSpec(), 4).bands
    assert isinstance(listed, BandList)
    bands = [*listed]
    assert len({*bands}) == len(bands) == len(listed) > 10
    assert [listed[number] for number in range(len(listed))] == bands
    assert ([*listed[2:9]], listed[-1]) == (bands[2:9], bands[-1])
    assert all(one.groups is other.groups for one in bands for other in bands if one.groups == other.groups)
