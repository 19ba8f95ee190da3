"""Native form: a launch as the integers that `_exact` takes, and the figures that it returns.

A sweep needs the totals of a launch alone, which are sums over columns of its figures; the numbers of each worker, pool
and transfer are made of them for whoever asks.

The extension is optional: it is absent after an install without a C compiler, unused when stale; `missing` says why.
The orders of fields are the structs of `_exact.c`.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, starmap
from typing import TYPE_CHECKING, Any, NamedTuple

from tessbed.native_build import load_extension
from tessbed.sim.exact.program import (
    BandRun,
    CountResult,
    LaunchProgram,
    Sums,
    Tally,
    TimedBand,
    TransferTimes,
)
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec
from tessbed.sim.stats import STALLS, LaunchTotals

SOURCES = 0x7E8FE485
"""The number of the C sources that this module was written for."""

if TYPE_CHECKING:
    import tessbed.sim.exact._exact as _exact

    missing = ""
else:
    _exact, missing = load_extension("tessbed.sim.exact._exact", SOURCES)

MOST_TICKS = 1 << 61
MOST_TRANSFERS = 1 << 40
MOST_KEPT = 1 << 16
"""Bands in the runs of a launch whose tables are kept."""
FINISH_AT, STALLS_AT, SUMS_AT = 1, 2, 2 + len(STALLS)
GRANTS, ENDS, SUMS_FIELDS = 1, 3, 6
WORKER_FIELDS = SUMS_AT + SUMS_FIELDS * len(DIRECTIONS)
"""Of a worker's figures: start, finish, ticks by reason, and for each direction: transfers, two sums of two words, the
low one first, and the weighted sum.
"""
BAND_FIELDS = 6
"""Of a Band: its first group, its wait groups, its ticks, whether it is ordered, its drain, its descriptors."""


class Figures(NamedTuple):
    """All that is counted of a launch, as `_exact` lays it out: workers, peaks of pools, busy ports, periods jumped."""

    workers: int
    ports: int
    words: "array[int]"
    times: "array[int]"

    @property
    def totals(self) -> LaunchTotals:
        """The launch as a whole."""
        end = self.workers * WORKER_FIELDS

        def column(field: int) -> "array[int]":
            return self.words[field:end:WORKER_FIELDS]

        def total(field: int) -> int:
            return sum(column(field)) + (sum(column(field + 1)) << 64)

        return LaunchTotals(
            device_ticks=max(column(FINISH_AT)),
            stalls=tuple([sum(column(field)) for field in range(STALLS_AT, SUMS_AT)]),
            channel_busy=tuple(
                [total(at + ENDS) - total(at + GRANTS) for at in range(SUMS_AT, WORKER_FIELDS, SUMS_FIELDS)]
            ),
            port_busy=sum(self.words[-1 - self.ports : -1]),
        )

    @property
    def result(self) -> CountResult:
        """The same as `count_in_python` has it."""
        return _result(self.workers, self.ports, self.words.tolist(), self.times)


def count_in_c(
    spec: DeviceSpec, program: LaunchProgram, *, tracing: bool = False, skips: bool = True
) -> Figures | None:
    """All that is counted of a launch; None where its ticks could leave 62 bits."""
    tables = program.kept.get("native") or _tables(program)
    if not _fits(spec, len(program.workers), tables.bounds):
        return None
    settings = array("q", engine_settings(spec, skips=skips and not tracing, tracing=tracing))
    figures, times = figures_in_c(settings, *tables.arrays)
    ports = len(DIRECTIONS) if spec.memory.split_port else 1
    return Figures(len(program.workers), ports, array("Q", figures), array("q", times))


def figures_in_c(
    settings: "array[int]", costs: Any, groups: "array[int]", bands: Any, *runs: "array[int]"
) -> tuple[Any, Any]:
    """The figures of a launch and the times of its transfers, from tables of 64-bit integers."""
    assert _exact is not None
    return _exact.count(settings, costs, groups, bands, *runs)


def makespans_in_c(settings: "array[int]", costs: Any, *tables: Any) -> bytes:
    """The last finishes of launches in the same tables, as 64-bit integers: groups, bands, what `run_tables` makes,
    each launch's first span and then the number of all, and the numbers of the launches that are wanted.
    """
    assert _exact is not None
    return _exact.makespans(settings, costs, *tables)


class _Bounds(NamedTuple):
    """The most transfers of a band, descriptors of a drain, ticks of a band and of a cost; how many bands are run."""

    transfers: int = 0
    descriptors: int = 0
    ticks: int = 0
    cost: int = 0
    taken: int = 0


class _Tables(NamedTuple):
    """The tables of a launch as `figures_in_c` takes them, and what bounds its ticks."""

    arrays: "tuple[array[int], ...]"
    bounds: _Bounds


def _tables(program: LaunchProgram) -> _Tables:
    """The tables of a launch, kept with it unless it is long."""
    order, runs, spans = run_tables(program.workers)  # first: in a long launch they bring the bands
    costs, groups, bands, most = _bands(program.bands)
    taken = sum(length * times for length, times in zip(runs[1::3], runs[2::3], strict=True))
    bounds = _Bounds()
    if bands:
        bounds = _Bounds(most, max(bands[5::BAND_FIELDS]), max(bands[2::BAND_FIELDS]), max(costs), taken)
    tables = _Tables((costs, groups, bands, order, runs, spans), bounds)
    if len(order) <= MOST_KEPT:
        program.kept["native"] = tables
    return tables


def _fits(spec: DeviceSpec, workers: int, most: _Bounds) -> bool:
    """Whether all waits of a launch one after the other stay far below 62 bits, each band as long as any could be."""
    memory = spec.memory
    latency = max(memory.read_latency_ticks, memory.write_latency_ticks)
    issues = spec.dma.issue_ticks * (most.transfers + most.descriptors)
    longest = issues + most.ticks + most.transfers * (3 * most.cost + latency)
    starts = max(spec.launch_stagger_ticks, spec.relaunch_ticks) * (workers + 1)
    return most.taken * longest + starts < MOST_TICKS and most.taken * most.transfers < MOST_TRANSFERS


def engine_settings(
    spec: DeviceSpec, ticks: Sequence[int] | None = None, *, skips: bool = True, tracing: bool = False
) -> tuple[int, ...]:
    """The settings of a device; its `ticks` and credits may be others, in the order of `Prices.settings`."""
    dma, memory = spec.dma, spec.memory
    stagger, relaunch, issue, read_latency, write_latency, outstanding = ticks or (
        *(spec.launch_stagger_ticks, spec.relaunch_ticks, dma.issue_ticks),
        *(memory.read_latency_ticks, memory.write_latency_ticks, dma.outstanding),
    )
    return (
        *(spec.cores, spec.slots, stagger, relaunch, issue, dma.read_channels, dma.write_channels),
        *(read_latency, write_latency, outstanding, dma.channel_scope == "per_core"),
        *(dma.arbitration == "round_robin", len(DIRECTIONS) if memory.split_port else 1, skips, tracing),
    )


def _bands(bands: Iterable[TimedBand]) -> "tuple[array[int], array[int], array[int], int]":
    """Costs, groups as parts of them, and bands; a band's wait groups follow each other, then comes its drain. Last,
    the most transfers of a band."""
    costs, groups, rows, most = array("q"), array("q"), array("q"), 0
    for band in bands:
        first, before = len(groups) // 2, len(costs)
        for group in (*band.groups, band.chain):
            groups.extend((len(costs) // 3, len(group)))
            costs.extend(chain.from_iterable(group))
        reads, most = len(band.groups), max(most, (len(costs) - before) // 3)
        rows.extend((first, reads, band.ticks, band.ordered, first + reads, band.descriptors))
    return costs, groups, rows, most


def run_tables(workers: tuple[Iterable[BandRun], ...]) -> "tuple[array[int], array[int], array[int]]":
    """The bands of all runs one after the other, runs as parts of them, and each worker's runs, first and end."""
    order, runs, spans = array("i"), array("q"), array("q")
    for worker in workers:
        spans.append(len(runs) // 3)
        for run in worker:
            if run.bands:
                runs.extend((len(order), len(run.bands), run.times))
                order.extend(run.bands)
        spans.append(len(runs) // 3)
    return order, runs, spans


def _result(workers: int, ports: int, figures: list[int], times: "array[int]") -> CountResult:
    tallies = []
    for first in range(0, workers * WORKER_FIELDS, WORKER_FIELDS):
        mine = figures[first : first + WORKER_FIELDS]
        reads, drains = (_sums(mine[at : at + SUMS_FIELDS]) for at in range(SUMS_AT, WORKER_FIELDS, SUMS_FIELDS))
        tallies.append(Tally(mine[0], mine[1], tuple(mine[STALLS_AT:SUMS_AT]), (reads, drains)))
    rest = figures[workers * WORKER_FIELDS : -1]
    return CountResult(
        tallies=tuple(tallies),
        peaks=tuple(rest[:-ports]),
        port_busy=tuple(rest[-ports:]),
        times=tuple(starmap(TransferTimes, zip(*[iter(times)] * len(TransferTimes._fields), strict=True))),
        jumped=figures[-1],
    )


def _sums(figures: Sequence[int]) -> Sums:
    transfers, grants_low, grants_high, ends_low, ends_high, weighted = figures
    return Sums(transfers, (grants_high << 64) + grants_low, (ends_high << 64) + ends_low, weighted)
