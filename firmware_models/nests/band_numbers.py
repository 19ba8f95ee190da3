"""Band numbers: the bands of a launch, numbered as they come; a part whose drain waits is another band."""

from collections import Counter
from collections.abc import Mapping

import attrs

from tessbed.firmware_models.launch_outline import BandShape, add_traffic
from tessbed.firmware_models.nests.parts import FIELD, PartTable
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts


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
            code, ordered = self.table.listed[number // 2], bool(number % 2)
            known = self.known[number] = self._keys.setdefault(2 * (code >> FIELD) + ordered, len(self.bands))
            if known == len(self.bands):
                self.bands.append(self.table.shape(code, ordered=ordered))
        return known


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
