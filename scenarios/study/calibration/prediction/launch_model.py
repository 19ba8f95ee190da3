"""Launch model: the launches of experiments planned once, and their ticks at any values of parameters, whole or not.

Prices follow `sim/transfer/cost.py`, as arrays over all different descriptors. Between whole numbers they are defined
so that a fit sees a continuous function which is exact wherever parameters are whole:

- ticks that are added may be any number: everything is counted in parts of a tick, SCALE to one;
- a rate rounds quotients up, which jumps. Between two whole rates (bytes a tick, bursts) a price is the straight line
  between the prices at both. What others leave of the memory is such a rate where it is not made of whole numbers.

`dma.outstanding` counts credits and stays whole. The ticks that a fit reports at whole values are those of the engine.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import floor
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tessbed.firmware_models.launch_outline import BandShape, Outline
from tessbed.scenarios.exact.exact_device import ExactDevice
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.prediction.compute_terms import TERMS, counting_device, term_matrix
from tessbed.sim.exact.launch_tables import LaunchOrder, LaunchTables
from tessbed.sim.exact.prices import Prices
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.cost import Counts

MOST_KEPT = 4
SCALE = 64
"""Parts of a tick."""
Values = Mapping[str, float]
"""Parameters by their paths; those of parameter_space.PARAMETERS are needed."""
Floats = NDArray[np.float64]


@attrs.frozen(eq=False)
class DescriptorCounts:
    """What the different descriptors of launches touch, as columns.

    A transfer is one descriptor or a chain of them. `segments` are the descriptors of the different transfers one after
    the other, `starts` where each begins; `transfers` which of those each transfer of the launches is.
    """

    writes: NDArray[np.bool_]
    further_rows: Floats
    payload_bytes: Floats
    port_bytes: Floats
    bursts: Floats
    pages: Floats
    partial: NDArray[np.bool_]
    segments: NDArray[np.int64]
    starts: NDArray[np.int64]
    transfers: NDArray[np.int64]
    terms: dict[str, dict[tuple[float, ...], Any]] = attrs.field(factory=dict, repr=False)

    @classmethod
    def of(cls, bands: Sequence[BandShape]) -> "DescriptorCounts":
        """The descriptors of bands. Transfers are counted as LaunchTables counts them."""
        known: dict[Counts, int] = {}
        sums: dict[tuple[int, ...], int] = {}
        transfers = []
        for band in bands:
            for parts in (*((counts,) for group in band.groups for counts in group), band.chain):
                segments = tuple(known.setdefault(counts, len(known)) for counts in parts)
                transfers.append(sums.setdefault(segments, len(sums)))
        columns = list(zip(*known, strict=True))
        kinds, rows, payload, port_bytes, bursts, pages, partial = (np.array(column) for column in columns)
        return cls(
            kinds == "write",
            rows - 1.0,
            payload.astype(float),
            port_bytes.astype(float),
            bursts.astype(float),
            pages.astype(float),
            partial > 0,
            np.array([number for segments in sums for number in segments], np.int64),
            np.array([0, *accumulate(map(len, sums))][:-1], np.int64),
            np.array(transfers, np.int64),
        )

    def costs(self, values: Values) -> Floats:
        """s, m and c of each different transfer, in ticks."""
        names = ("memory.read_latency_ticks", "memory.write_latency_ticks")
        latency, partial = self._kept(self._latencies, *(values[name] for name in names))
        port = self._kept(self._port, values["memory.bytes_per_tick"], values["memory.background_percent"])
        moved = self._kept(self._moved, values["dma.bytes_per_tick"])
        rounds = self._kept(self._rounds, values["dma.outstanding_bursts"])
        setup = (
            values["dma.setup_ticks"]
            + values["dma.row_ticks"] * self.further_rows
            + values["memory.page_walk_ticks"] * self.pages
        )
        data = np.maximum(np.maximum(port, moved), rounds * latency) + partial
        return np.add.reduceat(np.stack((setup, port, data), axis=1)[self.segments], self.starts)

    def _kept(self, term: Callable[..., Any], *values: float) -> Any:
        """A term at these values. A fit moves few of them at a time, so the last of each are kept."""
        kept = self.terms.setdefault(term.__name__, {})
        if values not in kept:
            if len(kept) == MOST_KEPT:
                del kept[next(iter(kept))]
            kept[values] = term(*values)
        return kept[values]

    def _latencies(self, read: float, write: float) -> tuple[Floats, Floats]:
        """The latency of each descriptor, and what reading a partial granule adds."""
        return np.where(self.writes, write, read), np.where(self.partial, read, 0.0)

    def _moved(self, rate: float) -> Floats:
        return interpolated(lambda whole: _rounded_up(self.payload_bytes, whole), rate)

    def _rounds(self, most: float) -> Floats:
        """The rounds of bursts after the first."""
        return interpolated(lambda whole: _rounded_up(self.bursts, whole) - 1, most)

    def _port(self, rate: float, background: float) -> Floats:
        """Ticks of the memory port: exact where both are whole, else straight between whole bytes a tick."""
        if rate == round(rate) and background == round(background):
            return np.maximum(1.0, _rounded_up(100 * self.port_bytes, rate * (100 - background)))
        left = rate * (100 - background) / 100
        return np.maximum(1.0, interpolated(lambda whole: _rounded_up(self.port_bytes, whole), left))


@attrs.frozen(eq=False)
class LaunchModel:
    """The launches of experiments on devices that differ from `device` in the parameters alone."""

    device: DeviceSpec
    counts: DescriptorCounts
    terms: Floats
    tables: LaunchTables

    @classmethod
    def of(cls, experiments: Sequence[Experiment]) -> "LaunchModel":
        """The planned launches. Raises what planning raises: HeapExhausted, NotRepresentable, KernelFailure."""
        outlines = [planned_outline(experiment) for experiment in experiments]
        bands = [band for outline in outlines for band in outline.bands]
        return cls(
            experiments[0].device,
            DescriptorCounts.of(bands),
            term_matrix([band.ticks for band in bands]),
            LaunchTables.of([_order(outline) for outline in outlines]),
        )

    def prices(self, values: Values) -> Prices:
        """What everything costs at these values."""
        compute = np.array([1.0, *(values[path] for path in TERMS)])
        return Prices(
            costs=_parts(self.counts.costs(values))[self.counts.transfers],
            ticks=_parts(self.terms @ compute),
            stagger_ticks=_part(values["launch_stagger_ticks"]),
            relaunch_ticks=_part(values["relaunch_ticks"]),
            issue_ticks=_part(values["dma.issue_ticks"]),
            read_latency_ticks=_part(values["memory.read_latency_ticks"]),
            write_latency_ticks=_part(values["memory.write_latency_ticks"]),
            outstanding=round(values["dma.outstanding"]),
        )

    def ticks(self, values: Values, device: DeviceSpec | None = None, like: "Timings | None" = None) -> "Timings":
        """The device ticks of each experiment. A `device` has other choices: scope, arbitration, ports, channels.

        Launches that cost the same as in `like`, which is of the same device, are not timed again.
        """
        prices = self.prices(values)
        if like is None:
            wanted, ticks = self.tables.everything, np.empty(len(self.tables.launches))
        else:
            wanted, ticks = self.tables.changed(prices, like.prices), like.ticks.copy()
        ticks[wanted] = self.tables.makespans(device or self.device, prices, wanted) / SCALE
        return Timings(prices, ticks, len(wanted))


@attrs.frozen(eq=False)
class Timings:
    """Device ticks of all experiments, the prices that they hold for, and how many launches were timed for them."""

    prices: Prices
    ticks: Floats
    timed: int


def planned_outline(experiment: Experiment) -> Outline:
    """The outline of an experiment's launch, the ticks of its bands being counts of what they compute."""
    return ExactDevice(counting_device(experiment.device)).launch(experiment.job).outline


def _order(outline: Outline) -> LaunchOrder:
    return LaunchOrder(
        sizes=tuple(tuple(map(len, band.groups)) for band in outline.bands),
        ordered=tuple(band.ordered for band in outline.bands),
        descriptors=tuple(len(band.chain) for band in outline.bands),
        workers=tuple(map(tuple, outline.workers)),
    )


def interpolated(price: Callable[[int], Floats], value: float) -> Floats:
    """The price at a whole number, or the straight line between those at the two numbers around."""
    low = floor(value)
    part = value - low
    at = price(low)
    return at if not part else at + part * (price(low + 1) - at)


def _rounded_up(bytes_: Floats, rate: float) -> Floats:
    return np.ceil(bytes_ / rate)


def _parts(ticks: Floats) -> NDArray[np.int64]:
    return np.ascontiguousarray(np.rint(ticks * SCALE).astype(np.int64))


def _part(ticks: float) -> int:
    return round(ticks * SCALE)
