"""Conditions: what must hold of every stream of a load, `p99 <= 5 ms` or `missed <= 1%`.

A latency is in ticks, or in us, ms or s of the device's clock; frames are a number, or a share in per cent of those
offered. Of a stream that is not stable no condition holds: its latencies grow with the length of the run.
"""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, nearest
from tessbed.scenarios.load.percentiles import PERCENTILES, latency_summary, sample_floor
from tessbed.scenarios.load.simulation import LoadRun, is_stable

COUNTED = {"missed": ("dropped", "failed", "late"), "dropped": ("dropped",)}
"""The frames that each of these measures counts."""
MEASURES = ("mean", *PERCENTILES, "max", *COUNTED)
TESTS: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, "<": operator.lt}
SCALES = {"": 0, "ticks": 0, "us": 1, "ms": 1000, "s": 1_000_000}
"""Microseconds in a unit of time; ticks have none."""
CONDITION = re.compile(r"\s*(\w+)\s*(<=|<)\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*(%|ticks|us|ms|s)?\s*")
WANTED = 'wanted such as "p99 <= 5_000_000", "p99 <= 5 ms" or "missed <= 1%"'


@attrs.frozen
class Condition:
    """A measure of every stream and its limit: in ticks, in frames, or in per cent of the frames offered."""

    measure: str
    test: str
    limit: float
    percent: bool
    text: str

    def holds(self, run: LoadRun, stream: int) -> bool:
        """Whether it holds of a stream, which is stable then."""
        found = self.value(run, stream)
        return is_stable(run, stream) and found is not None and TESTS[self.test](found, self.limit)

    def value(self, run: LoadRun, stream: int) -> float | None:
        """What a stream has of it; None of a percentile with too few frames."""
        if self.measure not in COUNTED:
            return latency_summary(run.latencies(stream))[self.measure]
        frames = sum(run.total(stream, name) for name in COUNTED[self.measure])
        return 100 * frames / max(1, run.total(stream, "offered")) if self.percent else frames


def parse_condition(text: str, clock_mhz: int, option: str = "--find") -> Condition:
    """A condition as people write it, times in ticks of the clock. Raises ScenarioError with the option's name."""
    found = CONDITION.fullmatch(text)
    if found is None:
        raise refused_condition(f'got "{text}", {WANTED}', option)
    measure, test, limit, unit = found.groups(default="")
    if measure not in MEASURES:
        raise refused_condition(f'got "{measure}", wanted {", ".join(MEASURES)}{nearest(measure, MEASURES)}', option)
    if unit == "%" and measure not in COUNTED:
        raise refused_condition(
            f'got "{text}", wanted ticks, us, ms or s: only missed and dropped are in per cent', option
        )
    if unit not in ("", "%") and measure in COUNTED:
        raise refused_condition(f'got "{text}", wanted a number of frames, or per cent', option)
    ticks = SCALES.get(unit, 0) * clock_mhz or 1
    return Condition(measure, test, float(limit.replace("_", "")) * ticks, unit == "%", text.strip())


def refused_condition(text: str, option: str = "--find") -> ScenarioError:
    """The error of an option of `tessbed load`."""
    return ScenarioError([Problem(Location(option), text, "usage")])


def check_frames(conditions: Sequence[Condition], run: LoadRun, option: str = "--find") -> None:
    """Raise ScenarioError for a percentile of too few frames: it would never hold."""
    streams = range(len(run.program.streams))
    offered = min(run.total(number, "offered") for number in streams) - run.program.warmup
    for condition in conditions:
        needed = sample_floor(PERCENTILES[condition.measure]) if condition.measure in PERCENTILES else 1
        if offered < needed:
            raise refused_condition(
                f"{condition.text}: got {offered} frames behind the warm-up, wanted at least {needed}", option
            )


def required_document(conditions: Sequence[Condition], run: LoadRun) -> list[dict[str, Any]]:
    """Of each condition, what every stream has of it and whether it holds."""
    return [
        {
            "condition": condition.text,
            "limit": condition.limit,
            "unit": "%" if condition.percent else "frames" if condition.measure in COUNTED else "ticks",
            "streams": [_judged(condition, run, number) for number in range(len(run.program.streams))],
        }
        for condition in conditions
    ]


def _judged(condition: Condition, run: LoadRun, number: int) -> dict[str, Any]:
    return {
        "name": run.program.streams[number].name,
        "value": condition.value(run, number),
        "stable": is_stable(run, number),
        "holds": condition.holds(run, number),
    }


def holds_everywhere(one: dict[str, Any]) -> bool:
    """Whether a condition holds of every stream."""
    return all(stream["holds"] for stream in one["streams"])


def breaches(required: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each condition and stream of which it does not hold."""
    return [
        f"{one['condition']} fails: {_has(stream, one['unit'])}"
        for one in required
        for stream in one["streams"]
        if not stream["holds"]
    ]


def required_lines(required: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What fails and what holds, for a person."""
    yield from (f"require: {line}" for line in breaches(required))
    holding = [one["condition"] for one in required if holds_everywhere(one)]
    if holding:
        yield f"require: {' and '.join(holding)} {'hold' if len(holding) > 1 else 'holds'} of every stream"


def _has(stream: dict[str, Any], unit: str) -> str:
    value = "too few frames" if stream["value"] is None else f"{stream['value']:,.2f}".removesuffix(".00") + f" {unit}"
    return f"{stream['name']} has {value}{'' if stream['stable'] else ' and is saturated'}"
