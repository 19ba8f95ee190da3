"""Native form: a launch as the integers that `_exact` takes, and what it returns.

The extension is optional: it is absent after an install without a C compiler, unused when stale; `missing` says why.
The orders of fields are the structs of `_exact.c`.
"""

from array import array
from itertools import chain, starmap
from typing import TYPE_CHECKING, Any

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
from tessbed.sim.stats import STALLS, WORD

SOURCES = 0x5E46A950
"""The number of the C sources that this module was written for."""

if TYPE_CHECKING:
    import tessbed.sim.exact._exact as _exact

    missing = ""
else:
    _exact, missing = load_extension("tessbed.sim.exact._exact", SOURCES)

MOST_TICKS = 1 << 61
MOST_TRANSFERS = 1 << 40
BAND_FIELDS = 6
"""Of a Band: its first group, its wait groups, its ticks, whether it is ordered, its drain, its descriptors."""


def count_in_c(
    spec: DeviceSpec, program: LaunchProgram, *, tracing: bool = False, skips: bool = True
) -> CountResult | None:
    """All that is counted of a launch, as `count_in_python` does; None where its ticks could leave 62 bits."""
    costs, groups, bands = _bands(program.bands)
    if not _fits(spec, program, costs, bands):
        return None
    settings = array("q", _settings(spec, skips and not tracing, tracing))
    figures, times = figures_in_c(settings, costs, groups, bands, *run_tables(program.workers))
    return _counted(len(program.workers), spec, array("q", figures), array("q", times))


def figures_in_c(
    settings: "array[int]", costs: Any, groups: "array[int]", bands: Any, *runs: "array[int]"
) -> tuple[Any, Any]:
    """The figures of a launch and the times of its transfers, from tables of 64-bit integers."""
    assert _exact is not None
    return _exact.count(settings, costs, groups, bands, *runs)


def _fits(spec: DeviceSpec, program: LaunchProgram, costs: "array[int]", bands: "array[int]") -> bool:
    """Whether all waits of a launch one after the other stay far below 62 bits, each band as long as any could be."""
    if not program.bands:
        return True
    memory = spec.memory
    most = max(sum(map(len, band.groups)) for band in program.bands) + 1
    latency = max(memory.read_latency_ticks, memory.write_latency_ticks)
    issues = spec.dma.issue_ticks * (most + max(bands[5::BAND_FIELDS]))
    longest = issues + max(bands[2::BAND_FIELDS]) + most * (3 * max(costs) + latency)
    starts = max(spec.launch_stagger_ticks, spec.relaunch_ticks) * (len(program.workers) + 1)
    taken = sum(len(run.bands) * run.times for runs in program.workers for run in runs)
    return taken * longest + starts < MOST_TICKS and taken * most < MOST_TRANSFERS


def _settings(spec: DeviceSpec, skips: bool, tracing: bool) -> tuple[int, ...]:
    dma, memory = spec.dma, spec.memory
    return (
        *(spec.cores, spec.slots, spec.launch_stagger_ticks, spec.relaunch_ticks, dma.issue_ticks),
        *(dma.read_channels, dma.write_channels, memory.read_latency_ticks, memory.write_latency_ticks),
        *(dma.outstanding, dma.channel_scope == "per_core", dma.arbitration == "round_robin"),
        *(len(DIRECTIONS) if memory.split_port else 1, skips, tracing),
    )


def _bands(bands: tuple[TimedBand, ...]) -> "tuple[array[int], array[int], array[int]]":
    """Costs, groups as parts of them, and bands; a band's wait groups follow each other, then comes its drain."""
    costs, groups, rows = array("q"), array("q"), array("q")
    for band in bands:
        first = len(groups) // 2
        for group in (*band.groups, band.chain):
            groups.extend((len(costs) // 3, len(group)))
            costs.extend(chain.from_iterable(group))
        reads = len(band.groups)
        rows.extend((first, reads, band.ticks, band.ordered, first + reads, band.descriptors))
    return costs, groups, rows


def run_tables(workers: tuple[tuple[BandRun, ...], ...]) -> "tuple[array[int], array[int], array[int]]":
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


def _counted(workers: int, spec: DeviceSpec, figures: "array[int]", times: "array[int]") -> CountResult:
    reasons = len(STALLS)
    size, sums = 2 + reasons + 6 * len(DIRECTIONS), 2 + reasons
    tallies = []
    for first in range(0, workers * size, size):
        mine = figures[first : first + size]
        reads, drains = (_sums(mine[at : at + 6]) for at in (sums, sums + 6))
        tallies.append(Tally(mine[0], mine[1], tuple(mine[2:sums]), (reads, drains)))
    rest = figures[workers * size : -1]
    ports = len(DIRECTIONS) if spec.memory.split_port else 1
    return CountResult(
        tallies=tuple(tallies),
        peaks=tuple(rest[:-ports]),
        port_busy=tuple(rest[-ports:]),
        times=tuple(starmap(TransferTimes, zip(*[iter(times)] * len(TransferTimes._fields), strict=True))),
        jumped=figures[-1],
    )


def _sums(figures: "array[int]") -> Sums:
    """Sums of ticks come as two words, the low one first; the weighted sum as one."""
    transfers, grants_low, grants_high, ends_low, ends_high, weighted = figures
    return Sums(
        transfers, (grants_high << 64) + (grants_low & WORD), (ends_high << 64) + (ends_low & WORD), weighted & WORD
    )
