"""Launch tables: launches laid out once for the exact engine, then timed at many prices, also in parts of a tick.

Whoever fits a device to measurements times the same few launches a million times, and only what transfers and bands
cost differs. So the order of bands is laid out once, and costs, ticks and settings are filled in anew.

The recurrence only adds ticks, compares them and takes the larger one. A launch in which every tick is `scale` times as
long therefore ends `scale` times as late, and prices may be multiples of 1 / `scale`: the same recurrence then times
devices whose parameters are no whole numbers. With whole ones the makespan is that of `simulate`.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

import attrs
import numpy as np

from tessbed.sim.errors import EngineError
from tessbed.sim.exact import native, period_skip
from tessbed.sim.exact.engine import chosen_form
from tessbed.sim.exact.order_tables import OrderTables, joined_tables, makespans_at, order_tables, settings_at
from tessbed.sim.exact.prices import Integers, Prices
from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, TimedBand
from tessbed.sim.spec.device_spec import DeviceSpec, override


@attrs.frozen(eq=False)
class LaunchOrder:
    """The order of a launch: what its bands wait for, and the runs of each worker.

    `sizes` are, for each band, the transfers of its wait groups, one after the other. Its drain is one transfer more,
    of `descriptors`; `ordered` says whether that waits for all earlier ones.
    """

    sizes: tuple[tuple[int, ...], ...]
    ordered: tuple[bool, ...]
    descriptors: tuple[int, ...]
    workers: tuple[tuple[BandRun, ...], ...]

    @property
    def transfers(self) -> int:
        """The different transfers, each of which has a price."""
        return sum(map(sum, self.sizes)) + len(self.sizes)

    @property
    def steps(self) -> int:
        """The bands that all workers go through."""
        return sum(len(run.bands) * run.times for runs in self.workers for run in runs)

    def program(self, costs: Integers, ticks: Integers) -> LaunchProgram:
        """The same launch as Python's form takes it."""
        priced = iter([Cost(*row) for row in costs.tolist()])
        bands = []
        for sizes, own, ordered, descriptors in zip(
            self.sizes, ticks.tolist(), self.ordered, self.descriptors, strict=True
        ):
            groups = tuple(tuple(next(priced) for _ in range(size)) for size in sizes)
            bands.append(TimedBand(groups, own, ordered, (next(priced),), descriptors))
        return LaunchProgram(tuple(bands), self.workers)


@attrs.frozen(eq=False, slots=False)
class LaunchTables:
    """Launches to be timed together. Prices list the transfers of all, one launch after the other, and the bands."""

    launches: tuple[LaunchOrder, ...]
    _tables: OrderTables
    _transfers: tuple[int, ...]
    _bands: tuple[int, ...]

    @classmethod
    def of(cls, launches: Sequence[LaunchOrder]) -> "LaunchTables":
        """The tables of launches, laid out."""
        tables = joined_tables([order_tables(o.sizes, o.ordered, o.descriptors, o.workers) for o in launches])
        transfers = [launch.transfers for launch in launches]
        return cls(tuple(launches), tables, _starts(transfers), _starts([len(launch.sizes) for launch in launches]))

    def makespans(self, device: DeviceSpec, prices: Prices, wanted: Integers) -> Integers:
        """The ticks of the launches with the numbers `wanted`, in parts of `scale`.

        Of the device only what holds no ticks is looked at. Raises EngineError for ticks that could leave 62 bits.
        """
        self._check_fits(prices)
        if not len(wanted):
            return wanted
        if chosen_form() == "native":
            return makespans_at(settings_at(device, prices), self._tables, prices, wanted)
        priced = _priced_device(device, prices)
        programs = [self.launches[n].program(*self.own(prices, n)) for n in wanted]
        counted = (period_skip.count_in_python(priced, program) for program in programs)
        return np.array([max(tally.finish for tally in one.tallies) for one in counted], np.int64)

    @cached_property
    def everything(self) -> Integers:
        """The numbers of all launches."""
        return np.arange(len(self.launches))

    def changed(self, prices: Prices, others: Prices) -> Integers:
        """The numbers of the launches that cost otherwise at these prices than at the others."""
        if prices.settings != others.settings:
            return self.everything
        found = np.zeros(len(self.launches), bool)
        found[self._launch_of_cost[(prices.costs != others.costs).ravel()]] = True
        found[self._launch_of_band[prices.ticks != others.ticks]] = True
        return np.flatnonzero(found)

    def own(self, prices: Prices, number: int) -> tuple[Integers, Integers]:
        """The costs and the ticks of one launch."""
        transfers, bands = self._transfers, self._bands
        costs = prices.costs[transfers[number] : transfers[number + 1]]
        return costs, prices.ticks[bands[number] : bands[number + 1]]

    def _check_fits(self, prices: Prices) -> None:
        """Whether all waits of any launch one after the other stay far below 62 bits."""
        most, descriptors, workers, steps = self._bounds
        longest = 3 * int(prices.costs.max(initial=0)) + prices.read_latency_ticks + prices.write_latency_ticks
        band = most * longest + prices.issue_ticks * (most + descriptors) + int(prices.ticks.max(initial=0))
        if steps * band + (prices.stagger_ticks + prices.relaunch_ticks) * (workers + 1) >= native.MOST_TICKS:
            raise EngineError("got prices at which a launch could take more than 2**61 ticks, wanted lower ones")

    @cached_property
    def _launch_of_cost(self) -> Integers:
        return np.repeat(self.everything, len(Cost._fields) * np.diff(self._transfers))

    @cached_property
    def _launch_of_band(self) -> Integers:
        return np.repeat(self.everything, np.diff(self._bands))

    @cached_property
    def _bounds(self) -> tuple[int, int, int, int]:
        """The most transfers of a band, descriptors of a drain, workers and bands of a launch."""
        most = 1 + max((sum(sizes) for launch in self.launches for sizes in launch.sizes), default=0)
        descriptors = max((n for launch in self.launches for n in launch.descriptors), default=0)
        workers = max((len(launch.workers) for launch in self.launches), default=0)
        return most, descriptors, workers, max((launch.steps for launch in self.launches), default=0)


def _starts(sizes: Sequence[int]) -> tuple[int, ...]:
    return (0, *accumulate(sizes))


def _priced_device(device: DeviceSpec, prices: Prices) -> DeviceSpec:
    latencies = {"read_latency_ticks": prices.read_latency_ticks, "write_latency_ticks": prices.write_latency_ticks}
    return override(
        device,
        {
            "launch_stagger_ticks": prices.stagger_ticks,
            "relaunch_ticks": prices.relaunch_ticks,
            "dma": {"issue_ticks": prices.issue_ticks, "outstanding": prices.outstanding},
            "memory": latencies,
        },
    )
