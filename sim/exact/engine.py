"""Entry of the exact engine: counts a launch in C or in Python, and says which; equal to the event engine throughout.

`count_launch` is the recurrence. What it counts is kept as it is: a sweep takes the totals of it, everybody else the
`Timing`, with the statistics of each worker, pool and port, which is made when it is asked for.

The recurrence is there twice, in Python (recurrence.py, period_skip.py) and in C (native.py), and gives the same
numbers. `TESSBED_EXACT=python` or `=native` asks for one and gets it or is refused; without it, C runs where it was
built. A launch whose ticks could leave 62 bits is always Python's.
"""

import os

import attrs

from tessbed.sim.errors import EngineError
from tessbed.sim.exact import native, period_skip
from tessbed.sim.exact.program import CountResult, LaunchProgram, Sums, Tally, Timing
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec
from tessbed.sim.stats import STALLS, WORD, Digest, LaunchTotals, PoolStats, PortStats, WorkerStats

VARIABLE = "TESSBED_EXACT"
FORMS = ("native", "python")


@attrs.frozen
class LaunchCount:
    """What was counted of a launch on a device of `spec`."""

    spec: DeviceSpec
    counted: native.Figures | CountResult

    @property
    def totals(self) -> LaunchTotals:
        """The launch as a whole, without the way over its workers."""
        return self.counted.totals

    @property
    def timing(self) -> Timing:
        """The time part of its statistics, made anew each time."""
        return _timing(self.spec, self.counted.result)


def count_launch(spec: DeviceSpec, program: LaunchProgram, *, trace: bool = False) -> LaunchCount:
    """Count a launch of one worker at least, on a device of that spec; `trace` keeps every transfer."""
    counted = native.count_in_c(spec, program, tracing=trace) if chosen_form() == "native" else None
    return LaunchCount(spec, counted or period_skip.count_in_python(spec, program, tracing=trace))


def simulate(spec: DeviceSpec, program: LaunchProgram, *, trace: bool = False) -> Timing:
    """The timing of a launch of one worker at least, on a device of that spec; `trace` keeps every transfer."""
    return count_launch(spec, program, trace=trace).timing


def _timing(spec: DeviceSpec, counted: CountResult) -> Timing:
    return Timing(
        device_ticks=max(tally.finish for tally in counted.tallies),
        workers=tuple(_worker(number, tally) for number, tally in enumerate(counted.tallies)),
        pools=tuple(_pool(spec, counted, number) for number in range(len(counted.peaks))),
        ports=tuple(map(PortStats, DIRECTIONS if spec.memory.split_port else ("memory",), counted.port_busy)),
        digests=_digests(spec, counted),
        trace=counted.times,
    )


def chosen_form() -> str:
    """The form that counts the next launch. Raises EngineError for one that is unknown or was not built."""
    asked = os.environ.get(VARIABLE, "")
    if not asked:
        return "python" if native.missing else "native"
    if asked not in FORMS:
        raise EngineError(f"{VARIABLE}: got {asked!r}, wanted python or native, or no value at all")
    if asked == "native" and native.missing:
        raise EngineError(
            f"{VARIABLE}: got native, but the extension is not there ({native.missing}); "
            "install with a C compiler, or ask for python"
        )
    return asked


def _worker(number: int, tally: Tally) -> WorkerStats:
    return WorkerStats(number, tally.start, tally.finish, dict(zip(STALLS, tally.stalls, strict=True)))


def _pool(spec: DeviceSpec, counted: CountResult, number: int) -> PoolStats:
    per_core = spec.dma.channel_scope == "per_core"
    core, kind = divmod(number, len(DIRECTIONS))
    mine = [tally.sums[kind] for tally in (counted.tallies[core :: spec.cores] if per_core else counted.tallies)]
    channels = (spec.dma.read_channels, spec.dma.write_channels)[kind]
    busy = sum(sums.ends - sums.grants for sums in mine)
    grants = sum(sums.transfers for sums in mine)
    peak = counted.peaks[number]
    return PoolStats(DIRECTIONS[kind], core if per_core else -1, channels, spec.dma.outstanding, grants, busy, peak)


def _digests(spec: DeviceSpec, counted: CountResult) -> dict[tuple[int, str], Digest]:
    latencies = spec.memory.read_latency_ticks, spec.memory.write_latency_ticks
    return {
        (worker, kind): _digest(sums, latency)
        for worker, tally in enumerate(counted.tallies)
        for kind, sums, latency in zip(DIRECTIONS, tally.sums, latencies, strict=True)
        if sums.transfers
    }


def _digest(sums: Sums, latency: int) -> Digest:
    """C is E plus a constant, so its sums follow."""
    n = sums.transfers
    weighted = sums.weighted + latency * n * (n + 1) // 2
    return Digest(n, sums.grants, sums.ends, sums.ends + n * latency, weighted & WORD)
