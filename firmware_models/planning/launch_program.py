"""Launch program: what the exact engine takes: an outline, priced on a device."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, overload

import attrs

from tessbed.firmware_models.launch_outline import BandShape, Outline, fields_that_price
from tessbed.sim.exact.program import Cost, LaunchProgram, TimedBand
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.cost import Counts, price

FEW_BANDS = 1024
"""The programs of a launch of so many different bands are kept."""

Groups = tuple[tuple[Counts, ...], ...]
Chain = tuple[Counts, ...]


@attrs.frozen
class _ProgramKey:
    """A program's key: an outline, the very same one, and what prices it."""

    plan: Outline = attrs.field(eq=id)
    prices: tuple[int, ...]
    spec: DeviceSpec = attrs.field(eq=False)


def exact_program(plan: Outline, spec: DeviceSpec) -> LaunchProgram:
    """What the workers do on a device of that spec; kept for others that price it alike, where bands are few."""
    if plan.long:
        return LaunchProgram(PricedBands(plan.bands, _Prices(spec)), plan.workers)
    key = _ProgramKey(plan, fields_that_price(spec), spec)
    return _program(key) if len(plan.bands) <= FEW_BANDS else _priced(key)


@lru_cache(maxsize=64)
def _program(wanted: _ProgramKey) -> LaunchProgram:
    return _priced(wanted)


def _priced(wanted: _ProgramKey) -> LaunchProgram:
    prices = _Prices(wanted.spec)
    return LaunchProgram(tuple([prices.timed(band) for band in wanted.plan.bands]), wanted.plan.workers)


@attrs.define(eq=False)
class _Prices:
    """Costs on one device: of what descriptors touch, of groups and of drains.

    Bands of an outline share what they touch, the very same tuples, so groups and drains are known by their ids. Each
    is kept beside its price: the id of one that is gone may be another's.
    """

    spec: DeviceSpec
    costs: dict[Counts, Cost] = attrs.field(factory=dict, init=False)
    groups: dict[int, tuple[Groups, tuple[tuple[Cost, ...], ...]]] = attrs.field(factory=dict, init=False)
    drains: dict[int, tuple[Chain, tuple[Cost]]] = attrs.field(factory=dict, init=False)

    def timed(self, band: BandShape) -> TimedBand:
        """A band of an outline."""
        groups, chain = band.groups, band.chain
        _, gathered = self.groups.get(id(groups)) or self._gathered(groups)
        _, drain = self.drains.get(id(chain)) or self._drained(chain)
        return TimedBand(gathered, band.ticks, band.ordered, drain, len(chain))

    def _gathered(self, groups: Groups) -> tuple[Groups, tuple[tuple[Cost, ...], ...]]:
        known = self.groups[id(groups)] = groups, tuple([tuple(map(self._cost, group)) for group in groups])
        return known

    def _drained(self, chain: Chain) -> tuple[Chain, tuple[Cost]]:
        total = Cost(*map(sum, zip(*map(self._cost, chain), strict=True)))
        known = self.drains[id(chain)] = chain, (total,)
        return known

    def _cost(self, counts: Counts) -> Cost:
        cost = self.costs.get(counts)
        if cost is None:
            segment = price(self.spec, counts)
            cost = self.costs[counts] = Cost(segment.setup_ticks, segment.port_ticks, segment.data_ticks)
        return cost


@attrs.frozen(eq=False)
class PricedBands(Sequence[TimedBand]):
    """The bands of a long launch, each priced when it is looked at."""

    bands: Sequence[BandShape]
    prices: _Prices

    def __len__(self) -> int:
        return len(self.bands)

    @overload
    def __getitem__(self, index: int) -> TimedBand: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TimedBand]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [*map(self.prices.timed, self.bands[index])]
        return self.prices.timed(self.bands[index])

    def __iter__(self) -> Iterator[TimedBand]:
        return map(self.prices.timed, self.bands)
