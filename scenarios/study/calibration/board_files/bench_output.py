"""Bench output: what the public bench of Tess on A65 and EV74 prints, as rows of a table and as scenarios.

The bench (`tests/e2e_testing/tess_a65_vs_ev74_bench.cpp` of the repository sima-neat/core) runs each of its cases
200 times after 25 warm-ups. For each case it prints a line of its geometry, for each of four timers a line of avg_ms,
min_ms, max_ms and approx_gbps, and whether the bytes agree. Of the timers `ev74_element` is what the pipeline counts
around the job, in whole microseconds, and `ev74_wall` what a caller waits; both hold code of the host that no parameter
of the device is about. The times of `host_generic` and `host_neon` are those of the A65.

The warm-ups run in a pipeline that is closed before the one that is timed is built. So the first of the timed runs is
that of a new pipeline: it is in the mean, and it may be the maximum. The median is not printed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, shortened
from tessbed.scenarios.study.calibration.board_data import Observation

TIMERS = ("ev74_element", "ev74_wall")
STATISTICS = ("mean", "min", "max")
KEYS = ("input", "tile", "dtype", "elem_bytes", "payload_bytes", "aligned_bytes")
DTYPES = {"BF16": "bf16", "BFLOAT16": "bf16", "INT8": "int8"}
ALIGN_BYTES = 16
CASE = re.compile(r"\s*\[case\]\s+(\S+)\s+(.*)")
TIMING = re.compile(r"\s*(host_generic|host_neon|ev74_wall|ev74_element):\s+(.*)")
CTEST = re.compile(r"^\d+: ")  # what `ctest -V` writes before each line
PAIR = re.compile(r"(\w+)=(\S+)")
# A line of the case, and what it must say for the times to be those of the right bytes.
VERDICTS = (
    (re.compile(r"\s*ev74_stability:\s+(.*)"), {"payload": "stable"}),
    (re.compile(r"\s*compare_host_vs_ev74:\s+(.*)"), {"payload_match": "yes"}),
)


@attrs.frozen
class TimerSummary:
    """What a timer counted, in milliseconds, and the rate that the bench makes of it."""

    mean: float
    min: float
    max: float
    gbps: float
    place: Location


@attrs.define
class PublicBenchCase:
    """A case of the bench: its geometry as height, width, channels, and its timers."""

    name: str
    place: Location
    shape: tuple[int, ...] = ()
    tile: tuple[int, ...] = ()
    dtype: str = ""
    payload_bytes: int = 0
    timings: dict[str, TimerSummary] = attrs.field(factory=dict)
    verdicts: list[int] = attrs.field(factory=list)


@attrs.define
class PublicBenchReader:
    """Reads the lines of an output; every problem is found before it is refused."""

    name: str
    problems: list[Problem] = attrs.field(factory=list, init=False)
    cases: list[PublicBenchCase] = attrs.field(factory=list, init=False)

    def read(self, text: str) -> tuple[PublicBenchCase, ...]:
        """The cases. Raises ScenarioError for what is no complete and right output of the bench."""
        lines = [CTEST.sub("", line) for line in text.split("\n")]
        for number, line in enumerate(lines, 1):
            self._line(line, Location(self.name, number, 1))
        if not self.cases and not self.problems:
            text = "got no line that begins with [case], wanted the output of tess_a65_vs_ev74_bench"
            self._refuse(Location(self.name, 1, 1), text)
        elif self.cases and not any(line.lstrip().startswith("[OK]") for line in lines):
            self._refuse(self.cases[-1].place, "the output has no line [OK]: the bench did not come to its end")
        for case in self.cases:
            self.problems += _case_problems(case)
        if self.problems:
            raise ScenarioError(self.problems)
        return tuple(self.cases)

    def _refuse(self, place: Location, text: str) -> None:
        self.problems.append(Problem(place, text))

    def _line(self, line: str, place: Location) -> None:
        if found := CASE.match(line):
            self._case(found[1], dict(PAIR.findall(found[2])), place)
        elif self.cases and (found := TIMING.match(line)):
            self._timing(found[1], dict(PAIR.findall(found[2])), place)
        elif line.lstrip().startswith(("[FAIL]", "[SKIP-LONG]")):
            what = "failed" if "[FAIL]" in line else "skipped its cases"
            self._refuse(place, f"the bench {what}: {shortened(line.strip(), 120)}")
        elif self.cases:
            for number, (pattern, wanted) in enumerate(VERDICTS):
                if found := pattern.match(line):
                    self._verdict(number, dict(PAIR.findall(found[1])), wanted, place)

    def _case(self, name: str, said: Mapping[str, str], place: Location) -> None:
        case = PublicBenchCase(name, place)
        self.cases.append(case)
        try:
            case.shape, case.tile = (tuple(map(int, said[key].split("x"))) for key in ("input", "tile"))
            case.payload_bytes, width = int(said["payload_bytes"]), int(said["elem_bytes"])
            case.dtype, aligned = DTYPES[said["dtype"].upper()], int(said["aligned_bytes"])
        except (KeyError, ValueError) as error:
            self._refuse(place, f"case {name}: {error} is missing or unknown, wanted {', '.join(KEYS)}")
            return
        if len(case.shape) != 3 or len(case.tile) != 3 or min(*case.shape, *case.tile) < 1:
            self._refuse(
                place, f"case {name}: got {said['input']} and {said['tile']}, wanted height x width x channels"
            )
        elif (case.payload_bytes, aligned) != _sizes(case.shape, case.tile, width):
            wanted = " and ".join(f"{size:,}" for size in _sizes(case.shape, case.tile, width))
            self._refuse(
                place, f"case {name}: got {case.payload_bytes:,} and {aligned:,} bytes, its tiles have {wanted}"
            )

    def _timing(self, timer: str, said: Mapping[str, str], place: Location) -> None:
        try:
            values = [float(said[key]) for key in ("avg_ms", "min_ms", "max_ms", "approx_gbps")]
        except (KeyError, ValueError) as error:
            self._refuse(place, f"{timer}: {error}: wanted avg_ms, min_ms, max_ms and approx_gbps as numbers")
            return
        mean, low, high, gbps = values
        self.cases[-1].timings[timer] = TimerSummary(mean, low, high, gbps, place)

    def _verdict(self, number: int, said: Mapping[str, str], wanted: Mapping[str, str], place: Location) -> None:
        self.cases[-1].verdicts.append(number)
        for key, value in wanted.items():
            if said.get(key) != value:
                text = f"{key}={said.get(key)}, wanted {value}: the time of wrong bytes measures nothing"
                self._refuse(place, f"case {self.cases[-1].name}: {text}")


def read_bench(text: str, name: str) -> tuple[PublicBenchCase, ...]:
    """The cases of an output. Raises ScenarioError with every problem of it."""
    return PublicBenchReader(name).read(text)


def bench_scenario(case: PublicBenchCase, preset: str) -> dict[str, Any]:
    """The case as the values of a scenario file: one Tess job into compact tiles."""
    tiled = {"axes": [-1, 0, 1, 2], "tile": [1, *case.tile], "channels": "compact"}
    job = {"name": case.name, "op": "tess", "backend": "ev74", "dtype": case.dtype, "shape": list(case.shape)}
    return {
        "name": case.name,
        "device": {"preset": preset},
        "jobs": [{**job, "tiled": tiled, "input": {"pattern": "golden"}}],
    }


def bench_rows(case: PublicBenchCase, timer: str, statistic: str, runs: str) -> Iterator[Observation]:
    """One row: a statistic of a timer of the case; none where the timer counted nothing. `runs` says of how many."""
    timing = case.timings[timer]
    if timing.mean == 0:
        return
    others = [f"{name} {1000 * getattr(timing, name):,.1f}" for name in STATISTICS if name != statistic]
    note = f"{timer}: {statistic} of {runs}; {', '.join(others)} us; with code of the host"
    value = round(1000 * getattr(timing, statistic), 4)
    yield Observation(case.name, "job", 0, value, "us", note=note, place=timing.place)


def _sizes(shape: tuple[int, ...], tile: tuple[int, ...], width: int) -> tuple[int, int]:
    """Bytes of the scalars of all tiles, and of the tiles, each of them aligned."""
    sizes = [width]
    for extent, step in zip(shape, tile, strict=True):
        steps = [step] * (extent // step) + [extent % step] * (extent % step > 0)
        sizes = [size * one for size in sizes for one in steps]
    return sum(sizes), sum(-(-size // ALIGN_BYTES) * ALIGN_BYTES for size in sizes)


def _case_problems(case: PublicBenchCase) -> Iterator[Problem]:
    for timer in TIMERS:
        if timer not in case.timings:
            yield Problem(case.place, f"case {case.name} has no line {timer}: the output is cut off")
    if case.shape and len(set(case.verdicts)) < len(VERDICTS):
        yield Problem(case.place, f"case {case.name} does not say whether its bytes are right: the output is cut off")
    for timer, one in case.timings.items():
        if not 0 <= one.min <= one.mean <= one.max:
            text = f"{timer}: got min {one.min:g}, mean {one.mean:g}, max {one.max:g}, wanted them in this order"
            yield Problem(one.place, text)
        elif one.mean > 0 and case.payload_bytes and not _agrees(one, case.payload_bytes):
            got = f"{timer}: got {one.gbps:g} GB/s with a mean of {one.mean:g} ms"
            yield Problem(
                one.place, f"{got}, wanted {2e-6 * case.payload_bytes / one.mean:.4g}: the times are no longer ms"
            )


def _agrees(one: TimerSummary, payload_bytes: int) -> bool:
    """Whether the rate is that of the mean, as far as four decimals of both say: every byte is read and written."""
    low, high = one.mean - 6e-5, one.mean + 6e-5
    return low <= 0 or 2e-6 * payload_bytes / high - 6e-5 <= one.gbps <= 2e-6 * payload_bytes / low + 6e-5
