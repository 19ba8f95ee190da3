"""Band numbers: the bands of a launch, numbered as they come; a part whose drain waits is another band."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import attrs
import numpy as np

from tessbed.firmware_models.launch_outline import BandShape, add_traffic
from tessbed.firmware_models.nests.parts import FIELD, LARGEST, PartTable
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts
from tessbed.sim.transfer.phase_counts import SPARSE

Array = Any


@attrs.define(eq=False)
class BandNumbers:
    """The bands by twice the number of a part, and one more where its drain waits."""

    table: PartTable
    bands: list[BandShape] = attrs.field(factory=list, init=False)
    known: dict[int, int] = attrs.field(factory=dict, init=False)
    _keys: dict[int, int] = attrs.field(factory=dict, init=False)

    def of(self, number: int) -> int:
        """The band of a part; parts that differ by what they count alone are one."""
        known = self.known.get(number)
        if known is None:
            [key] = self.table.keys(np.asarray([self.table.listed[number // 2]])).tolist()
            key += number % 2
            known = self.known[number] = self._keys.setdefault(key, len(self.bands))
            if known == len(self.bands):
                self.bands.append(self.table.shape(key))
        return known


@attrs.frozen(eq=False)
class BandList(Sequence[BandShape]):
    """The bands of a launch that has many, as their keys in ascending order; each is made when it is looked at."""

    table: PartTable
    keys: Array

    @classmethod
    def of(cls, table: PartTable, keys: Array) -> "BandList":
        """Those of these keys, each once."""
        groups, behind = keys >> FIELD + 1, keys & 2 * LARGEST + 1
        width, high = int(behind.max(initial=0)) + 1, int(groups.max(initial=0)) + 1
        if width * high > SPARSE * len(keys):
            return cls(table, np.unique(keys))
        there = np.zeros(high * width, bool)
        there[groups * width + behind] = True
        groups, behind = np.divmod(np.flatnonzero(there), width)
        return cls(table, groups << FIELD + 1 | behind)

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: int) -> BandShape: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[BandShape]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return BandList(self.table, self.keys[index])
        return self.table.shape(int(self.keys[index]))

    def __iter__(self) -> Iterator[BandShape]:
        return map(self.table.shape, self.keys.tolist())

    def numbers(self, codes: Sequence[int]) -> Array:
        """Of each of these parts the band, and the band where its drain waits, in a row; -1 where one is not listed."""
        keys = (self.table.keys(np.asarray(codes, np.int64))[:, None] + np.arange(2)).reshape(-1)
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[found] == keys, found, -1).astype(np.int32)


def account(
    reads: Mapping[Counts, int], drains: Mapping[Counts, int], counts: Mapping[str, int]
) -> tuple[Traffic, Traffic, dict[str, int]]:
    """Traffic of reads and writes by how often each is touched, and what is counted but not 0. A band is one drain."""
    read, written = Traffic(), Traffic(transfers=counts.get("bands", 0))
    for touched, times in reads.items():
        add_traffic(read, (touched,), times, times)
    for touched, times in drains.items():
        add_traffic(written, (touched,), 0, times)
    return read, written, {name: counts[name] for name in sorted(counts) if counts[name]}


def add_touched(to: Counter[Counts], touched: tuple[Counts, ...], times: int) -> None:
    """Add what some descriptors touch so many times over."""
    for one, many in Counter(touched).items():
        to[one] += many * times
