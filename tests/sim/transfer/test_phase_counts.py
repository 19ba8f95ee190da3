"""Phase counts: the same as counting each phase by itself."""

import random

import numpy as np
import pytest

from tessbed.sim.errors import HazardError
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.cost import count_read, count_write
from tessbed.sim.transfer.phase_counts import CountList, PhaseCounts, count_phases, distinct


def device(rng: random.Random) -> DeviceSpec:
    """A device with blocks of any size."""
    blocks = [1 << power for power in range(4, 13)]
    changes = {
        "write_granule_bytes": rng.choice(blocks),
        "scratch_bytes": 1 << 20,
        "byte_strobes": rng.random() < 0.3,
        "memory": {"access_bytes": rng.choice([1, 2, *blocks])},
        "dma": {"burst_bytes": rng.choice([1, 8, *blocks])},
    }
    return override(DeviceSpec(), changes)


def shape(rng: random.Random) -> tuple[int, int, int]:
    """Rows, bytes of a row and pitch: gaps of none, of a few bytes, of pages; rows of a byte, and of many pages."""
    rows, row_bytes = rng.choice([1, 1, 2, 3, rng.randint(4, 300)]), rng.choice([1, 15, 64, rng.randint(1, 9000)])
    return rows, row_bytes, row_bytes + rng.choice([0, 0, 1, 63, 64, rng.randint(0, 9000)])


def test_all_phases_are_what_each_is_by_itself() -> None:
    """Every phase of a page, for shapes and devices at random, both ways."""
    rng = random.Random(1)
    for number in range(200):
        spec, asked = device(rng), shape(rng)
        phases = sorted(rng.sample(range(PAGE_BYTES), 60)) if number > 2 else range(PAGE_BYTES)
        for kind, count in (("read", count_read), ("write", count_write)):
            found = count_phases(spec, kind, asked, np.array(phases)).T.tolist()
            assert found == [[*count(spec, (at, *asked))[3:]] for at in phases]


def test_few_and_many_phases_are_counted_alike() -> None:
    """Phases asked for one by one, then many, then again."""
    rng = random.Random(2)
    for _ in range(20):
        spec, asked = device(rng), shape(rng)
        counts = PhaseCounts(spec, "read", asked, CountList())
        phases = np.array([rng.randrange(PAGE_BYTES) for _ in range(9)])
        few = [counts.counts.listed[at] for at in counts.numbers(phases)]
        many = [counts.counts.listed[at] for at in counts.numbers(np.array([*range(64), *phases]))]
        assert few == [count_read(spec, (at, *asked)) for at in phases.tolist()] == many[64:]
        assert len({*counts.counts.listed}) == len(counts.counts.listed)


@pytest.mark.parametrize("most", [1, 1 << 20, 1 << 50])
@pytest.mark.parametrize("places", [0, 3, 60, PAGE_BYTES])
def test_sums_are_those_of_each(places, most) -> None:
    """At few places and at all, seldom and so often that sums leave 64 bits; both ways."""
    rng = random.Random(f"{places}/{most}")
    for kind, count in (("read", count_read), ("write", count_write)):
        spec, asked, times = device(rng), shape(rng), np.zeros(PAGE_BYTES, np.int64)
        times[rng.sample(range(PAGE_BYTES), places)] = [rng.randint(1, most) for _ in range(places)]
        found = PhaseCounts(spec, kind, asked, CountList()).sums(times)
        each = [(many, count(spec, (at, *asked))) for at, many in enumerate(times.tolist()) if many]
        assert found == (kind, *[sum(many * counts[field] for many, counts in each) for field in range(1, 7)])


def test_rows_that_overlap_are_refused() -> None:
    """A read may overlap itself, a drain may not, however many phases are asked for."""
    spec = DeviceSpec()
    read = PhaseCounts(spec, "read", (2, 64, 32), CountList())
    assert read.counts.listed[read.numbers(np.array([0]))[0]].rows == 2
    for phases in (1, PAGE_BYTES):
        with pytest.raises(HazardError, match="overlaps itself at pitch 32"):
            PhaseCounts(spec, "write", (2, 64, 32), CountList()).numbers(np.arange(phases))
        with pytest.raises(HazardError, match="overlaps itself at pitch 32"):
            PhaseCounts(spec, "write", (2, 64, 32), CountList()).sums(np.ones(phases, np.int64))


@pytest.mark.parametrize("largest", [1, 3, 40, 1 << 40])
def test_distinct_columns(largest: int) -> None:
    """Of each different column the first, and which one each column is, whether numbers are small or far apart."""
    rng = random.Random(largest)
    columns = [(rng.randrange(largest) - 7, rng.randrange(min(largest, 5))) for _ in range(60)]
    firsts, which = distinct(np.asarray(columns).T)
    assert [columns[first] for first in firsts.tolist()] == sorted({*columns})
    assert [columns.index(columns[first]) for first in firsts.tolist()] == firsts.tolist()
    assert [columns[firsts[number]] for number in which.tolist()] == columns
