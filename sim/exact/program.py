"""Program: what the exact engine takes and returns: workers' timed bands, and the time part of a job's statistics."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import attrs

from tessbed.sim.stats import Digest, LaunchTotals, PoolStats, PortStats, WorkerStats


class Cost(NamedTuple):
    """A transfer's channel ticks before the data, port ticks and data ticks; latency belongs to the direction."""

    s: int
    m: int
    c: int


class TimedBand(NamedTuple):
    """A band's wait groups, its ticks of compute, whether its drain waits for all earlier ones, and its drain.

    The drain is one transfer of `descriptors`, each of which the worker issues.
    """

    groups: tuple[tuple[Cost, ...], ...]
    ticks: int
    ordered: bool
    chain: tuple[Cost]
    descriptors: int


class BandRun(NamedTuple):
    """Bands, as indices into a Program's table, that a worker goes through `times` times, once at least."""

    bands: Sequence[int]
    times: int = 1


def unrolled(runs: Iterable[BandRun]) -> Iterator[int]:
    """The bands that a worker takes, one after the other."""
    return chain.from_iterable(chain.from_iterable(repeat(run.bands, run.times)) for run in runs)


@attrs.frozen
class LaunchProgram:
    """What a launch does: the different bands, and of each worker the runs that it takes one after the other.

    Runs may be written out each time that they are asked for. The bands of a run are there when it has been, all of
    them when all runs have been.
    """

    bands: Sequence[TimedBand]
    workers: tuple[Iterable[BandRun], ...]
    kept: dict[str, Any] = attrs.field(factory=dict, eq=False, repr=False, init=False)
    """What a form of the engine has made of it, for the next timing."""

    @classmethod
    def of(cls, workers: Iterable[Iterable[TimedBand]]) -> "LaunchProgram":
        """The program of workers that take these bands, each once; equal bands are kept once."""
        table: dict[TimedBand, int] = {}
        runs = tuple((BandRun(tuple(table.setdefault(band, len(table)) for band in bands)),) for bands in workers)
        return cls(tuple(table), runs)


class TransferTimes(NamedTuple):
    """One transfer: who asked when, its pool, and its G, P, E, C."""

    worker: int
    seq: int
    arrival: int
    pool: int
    grant: int
    start: int
    end: int
    done: int


@attrs.define
class Sums:
    """Of the transfers of one (worker, direction): number, sums of G and E, and of i * E mod 2**64, i from 1."""

    transfers: int = 0
    grants: int = 0
    ends: int = 0
    weighted: int = 0


@attrs.frozen
class Tally:
    """A worker: first and last tick, ticks by the reasons of STALLS, and the sums of its reads and its drains."""

    start: int
    finish: int
    stalls: tuple[int, ...]
    sums: tuple[Sums, Sums]


@attrs.frozen
class CountResult:
    """What the recurrence counts: of workers, of pools the most transfers in flight, of ports the ticks busy.

    `jumped` is how many periods were counted without being walked; `times` are in order of grants.
    """

    tallies: tuple[Tally, ...]
    peaks: tuple[int, ...]
    port_busy: tuple[int, ...]
    times: tuple[TransferTimes, ...]
    jumped: int

    @property
    def totals(self) -> LaunchTotals:
        """The launch as a whole."""
        stalls = zip(*(tally.stalls for tally in self.tallies), strict=True)
        sums = zip(*(tally.sums for tally in self.tallies), strict=True)
        return LaunchTotals(
            max(tally.finish for tally in self.tallies),
            tuple(map(sum, stalls)),
            tuple(sum(own.ends - own.grants for own in kind) for kind in sums),
            sum(self.port_busy),
        )

    @property
    def result(self) -> "CountResult":
        """Itself, where `native.Figures` still has to be read."""
        return self


@attrs.frozen
class Timing:
    """The time part of a JobStats, equal to that of the event engine; `trace` is in order of grants, if asked for."""

    device_ticks: int
    workers: tuple[WorkerStats, ...]
    pools: tuple[PoolStats, ...]
    ports: tuple[PortStats, ...]
    digests: dict[tuple[int, str], Digest]
    trace: tuple[TransferTimes, ...] = ()
