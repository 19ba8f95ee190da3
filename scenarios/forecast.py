"""Forecast: how much there is to do for a run, from the plans of its jobs alone and before any of it is begun.

The work of a step (a job on a backend) is counted in four units, and what a unit takes on a common processor is a guess
(SECONDS). Forecasts and percentages are weighed by it; nothing that is simulated depends on it.
"""

import os
from collections.abc import Iterable, Mapping
from time import monotonic

import attrs

from tessbed.firmware_models.band import BANDS
from tessbed.kernels import Plan
from tessbed.scenarios.model import Scenario
from tessbed.sim.spec.device_spec import DeviceSpec

LONG_SECONDS = 2.0
"""A person hears of work that may take longer before it begins."""
TRACED_BYTES = 600
"""Memory of one transfer in a trace: its record, and its line of the run folder."""
SECONDS = {"bands": 8e-5, "bands timed": 3e-7, "bytes filled": 4e-9, "bytes checked": 1.6e-8, "transfers traced": 4e-6}
"""A band that events move, one that is timed alone, a byte of an input written, one of an output judged, a transfer
recorded or written.
"""
EXPLAINED = 4e-5
"""Seconds for a recorded transfer in a study that follows each one: where its ticks went. Also a guess."""
NEARLY = 0.99
"""A step has at least the bands that were forecast: until its end there may be more."""

FOLDER = ("the run folder", "")
"""The last step of a run that keeps a trace."""

Work = Mapping[str, int]
"""How much, by the units of SECONDS."""


@attrs.frozen
class Forecast:
    """A job: tiles, the fewest bands and transfers that move them on the EV74, bytes of input and output."""

    job: str
    backends: tuple[str, ...]
    tiles: int
    bands: int
    input_bytes: int = 0
    output_bytes: int = 0

    @property
    def transfers(self) -> int:
        """A read and a write for each band, at least; none without an EV74."""
        return 2 * self.bands if "ev74" in self.backends else 0

    @property
    def trace_bytes(self) -> int:
        """Memory that a trace of all transfers takes, about."""
        return self.transfers * TRACED_BYTES

    def work(self, backend: str, engine: str, *, trace: bool = False) -> dict[str, int]:
        """The work of the job on one of its backends; the first one writes the input, too."""
        timed = backend == "ev74" and engine != "simpy"
        moves = backend != "ev74" or engine != "exact"
        return {
            "bands": self.bands * (backend == "ev74" and moves),
            "bands timed": self.bands * timed,
            "bytes filled": self.input_bytes * (moves and backend == self.backends[0]),
            "bytes checked": self.output_bytes * moves,
            "transfers traced": self.transfers * (trace and timed),
        }

    def seconds(self, engine: str, *, trace: bool = False, explained: bool = False) -> float:
        """What the job may take on all its backends, and what it takes to follow each transfer of a trace."""
        runs = sum(seconds_of(self.work(backend, engine, trace=trace)) for backend in self.backends)
        return runs + EXPLAINED * self.transfers * explained

    def words(self, engine: str, runs: int = 1, *, trace: bool = False) -> str:
        """The announcement of so many runs."""
        moved = self.input_bytes + self.output_bytes
        bytes_ = f", {moved:,} bytes" if self.backends != ("ev74",) or engine != "exact" else ""
        bands = f", at least {self.bands:,} bands and {self.transfers:,} transfers" if self.transfers else ""
        traced = f", {self.trace_bytes:,} bytes of trace" if trace and self.transfers else ""
        return (
            f"job {self.job} on {' and '.join(self.backends)}: {self.tiles:,} tile{'s' * (self.tiles != 1)}"
            f"{bands}{bytes_}{traced}{f', in each of {runs} runs' * (runs > 1)}: this takes a while, Ctrl-C ends it"
        )


def seconds_of(work: Work) -> float:
    """What work may take."""
    return sum(SECONDS[unit] * amount for unit, amount in work.items())


def forecast(name: str, plan: Plan, spec: DeviceSpec, backends: tuple[str, ...] = ("ev74",)) -> Forecast:
    """What a plan comes to: a band holds no more than an area of scratch does."""
    area = max(1, spec.usable_scratch_bytes // (1 + spec.slots))
    tiles = bands = 0
    for tile in plan.classes:
        count = 1
        for along in tile.counts:
            count *= along
        for axis in plan.outer:
            count *= axis.extent
        tiles += count
        bands += count * max(1, -(-tile.span_bytes // area))
    return Forecast(name, backends, tiles, bands, plan.input.required_bytes, plan.output.required_bytes)


def forecasts(scenario: Scenario) -> list[Forecast]:
    """Those of the jobs of operations that move a byte."""
    moving = [job for job in scenario.operations if not job.empty]
    return [forecast(job.name, job.plan, scenario.device, job.backends) for job in moving]


def check_trace(found: list[Forecast], runs: int = 1, remedy: str = "run without -o, or with fewer tiles") -> None:
    """Raise MemoryError where the traces of so many runs of all jobs would not fit into the memory that is free."""
    needed, free = runs * sum(one.trace_bytes for one in found), free_bytes()
    if needed > free:
        most = max(found, key=lambda one: one.trace_bytes)
        times = f", {runs} times over" if runs > 1 else ""
        raise MemoryError(
            f"a record of every transfer takes about {needed:,} bytes of memory, this machine has {free:,} free;"
            f" job {most.job!r} has {most.transfers:,} or more{times}: {remedy}"
        )


def free_bytes() -> int:
    """Memory that this machine could still give; no limit where it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 1 << 62


@attrs.define
class Meter:
    """How far runs are: what the runner and the studies report of their steps, and a display reads from a thread.

    `steps` is the work of each (job, backend) of one run, and of FOLDER where a run folder is written; `runs` says how
    many runs of them there are at most.
    """

    steps: dict[tuple[str, str], Work]
    runs: int = 1
    _begun: int = attrs.field(default=0, init=False)
    _finished: float = attrs.field(default=0.0, init=False)
    _what: str = attrs.field(default="", init=False)
    _step: Work = attrs.field(factory=dict, init=False)
    _done: dict[str, int] = attrs.field(factory=dict, init=False)
    _unit: str = attrs.field(default="", init=False)
    _since: float = attrs.field(factory=monotonic, init=False)

    @classmethod
    def of(
        cls, found: Iterable[Forecast], engine: str, *, trace: bool = False, folder: bool = False, runs: int = 1
    ) -> "Meter":
        """The meter of `runs` runs of these jobs, each of which ends in a run `folder` or not."""
        jobs = list(found)
        steps: dict[tuple[str, str], Work] = {
            (one.job, name): one.work(name, engine, trace=trace) for one in jobs for name in one.backends
        }
        if folder:
            steps[FOLDER] = {"transfers traced": sum(one.transfers for one in jobs)}
        return cls(steps, runs)

    @property
    def total(self) -> float:
        """The seconds of all runs."""
        return self.runs * sum(map(seconds_of, self.steps.values()))

    def begin(self, name: str, backend: str) -> None:
        """The step before, if there was one, is over. What nobody forecast, a kernel of one's own, adds nothing."""
        step = self.steps.get((name, backend), {})
        self._finished += seconds_of(self._step)
        run, self._begun = self._begun // max(1, len(self.steps)) + 1, self._begun + bool(step)
        self._what = " on ".join(filter(None, (name, backend)))
        self._what += f", run {min(run, self.runs)} of {self.runs}" * (self.runs > 1)
        self._step, self._done, self._unit, self._since = step, {}, "", monotonic()
        BANDS.restart()

    def advance(self, unit: str, amount: int) -> None:
        """So much more of the step is done."""
        if unit != self._unit:
            self._unit, self._since = unit, monotonic()
            self._done[unit] = 0
        self._done[unit] += amount

    def reading(self) -> tuple[float, str, str]:
        """The seconds that are done of all, what is under way, and how fast."""
        done = self._done | self._bands()
        step = sum(SECONDS[unit] * min(amount, self._step.get(unit, 0)) for unit, amount in done.items())
        unit = self._unit or "bands"
        speed = done.get(unit, 0) / max(1e-9, monotonic() - self._since)
        rate = f"{speed / 1e6:,.0f} MB/s" if unit.startswith("bytes") else f"{speed:,.0f} {unit.split()[0]}/s"
        return min(self._finished + min(step, NEARLY * seconds_of(self._step)), self.total), self._what, rate

    def _bands(self) -> dict[str, int]:
        """The bands of the step: where both engines run, those of the event engine come first."""
        wanted, furthest = self._step.get("bands", 0), BANDS.furthest
        return {"bands": min(furthest, wanted) if wanted else furthest, "bands timed": max(0, furthest - wanted)}
