"""Rate search: the highest rate of frames at which conditions hold, by bisection with common random numbers.

All streams that have a rate are sped up together: every gap between arrivals, random or not, is stretched by one
factor, and all else stays as it is drawn. Between the lowest rate at which a condition fails and the highest at which
all hold the search halves its steps until they are a thousandth of the rate. A queue can be faster at a slightly higher
rate, so what is found is a rate at which all hold, and a little more at which one does not.
"""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, nearest
from tessbed.scenarios.load.load_model import Arrivals
from tessbed.scenarios.load.percentiles import PERCENTILES, latency_summary, sample_floor
from tessbed.scenarios.load.program import LoadProgram
from tessbed.scenarios.load.simulation import LoadRun, arrival_rate, is_stable

MEASURES = ("mean", *PERCENTILES, "max", "missed", "dropped")
TESTS: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, "<": operator.lt}
CONDITION = re.compile(r"\s*(\w+)\s*(<=|<)\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*(%?)\s*")
FINEST = 1000
"""The search ends where a step is a thousandth of the rate."""
FARTHEST = 20
"""It doubles or halves the rate so many times at most."""


@attrs.frozen
class Condition:
    """What must hold of every stream: a latency in ticks, or frames missed or dropped, as a number or in per cent."""

    measure: str
    test: str
    limit: float
    percent: bool
    text: str

    def holds(self, run: LoadRun, stream: int) -> bool:
        """Whether it holds of a stream, which is stable then."""
        if not is_stable(run, stream):
            return False
        if self.measure in ("missed", "dropped"):
            names = ("dropped", "failed", "late") if self.measure == "missed" else ("dropped",)
            value = sum(run.total(stream, name) for name in names)
            share = 100 * value / max(1, run.total(stream, "offered"))
            return TESTS[self.test](share if self.percent else value, self.limit)
        found = latency_summary(run.latencies(stream))[self.measure]
        return found is not None and TESTS[self.test](found, self.limit)


def parse_condition(text: str) -> Condition:
    """A condition such as `p99 <= 5_000_000` or `missed <= 1%`. Raises ScenarioError."""
    found = CONDITION.fullmatch(text)
    if found is None:
        raise _refusal(f'got "{text}", wanted such as "p99 <= 5_000_000" or "missed <= 1%"')
    measure, test, limit, percent = found.groups()
    if measure not in MEASURES:
        raise _refusal(f'got "{measure}", wanted {", ".join(MEASURES)}{nearest(measure, MEASURES)}')
    if percent and measure not in ("missed", "dropped"):
        raise _refusal(f'got "{text}", wanted ticks: only missed and dropped are in per cent')
    return Condition(measure, test, float(limit.replace("_", "")), bool(percent), text.strip())


def _refusal(text: str) -> ScenarioError:
    return ScenarioError([Problem(Location("--find"), text, "usage")])


def at_rate(program: LoadProgram, factor: Fraction) -> LoadProgram:
    """The load with `factor` times as many frames a tick in each stream that has a rate."""
    streams = tuple(attrs.evolve(stream, arrivals=_faster(stream.arrivals, factor)) for stream in program.streams)
    return attrs.evolve(program, streams=streams)


def _faster(arrivals: Arrivals, factor: Fraction) -> Arrivals:
    if not arrivals.open:
        return arrivals
    if arrivals.kind == "trace":
        return attrs.evolve(arrivals, ticks=tuple(int(tick / factor) for tick in arrivals.ticks))
    assert arrivals.between is not None
    between = arrivals.between
    shorter = attrs.evolve(between, ticks=max(1, round(between.ticks / factor)), high=round(between.high / factor))
    return attrs.evolve(arrivals, between=shorter, first=round(arrivals.first / factor))


def find_rate(
    program: LoadProgram, conditions: Sequence[Condition], clock_mhz: int, runs: Callable[[LoadProgram], LoadRun]
) -> dict[str, Any]:
    """The document of a search: the factor, the rates of the streams, and the first condition that fails above it.

    Raises ScenarioError where no stream has a rate, and where there are too few frames for a percentile.
    """
    if not any(arrival_rate(stream) for stream in program.streams):
        raise _refusal("no stream has a rate: all are closed or at once, wanted every, poisson, gamma or a trace")
    _check_frames(program, conditions, runs(program))

    def failing(factor: Fraction) -> str | None:
        run = runs(at_rate(program, factor))
        return next(_failing(run, conditions), None)

    good, bad, why = _bracket(failing)
    while good is not None and bad is not None and (bad - good) * FINEST > good:
        middle = (good + bad) / 2
        failed = failing(middle)
        good, bad, why = (middle, bad, why) if failed is None else (good, middle, failed)
    rates = [] if good is None else [_rate(stream, clock_mhz) for stream in at_rate(program, good).streams]
    return {
        "conditions": [condition.text for condition in conditions],
        "factor": None if good is None else round(float(good), 6),
        "streams": [
            {"name": stream.name, "frames_per_second": rate}
            for stream, rate in zip(program.streams, rates, strict=False)
        ],
        "limit": why,
    }


def _bracket(failing: Callable[[Fraction], str | None]) -> tuple[Fraction | None, Fraction | None, str | None]:
    """A rate at which all holds, twice that at which something fails, and what; None where there is none."""
    factor, failed = Fraction(1), failing(Fraction(1))
    step = Fraction(2) if failed is None else Fraction(1, 2)
    for _ in range(FARTHEST):
        other, at_other = factor * step, failing(factor * step)
        if failed is None and at_other is not None:
            return factor, other, at_other
        if failed is not None and at_other is None:
            return other, factor, failed
        factor, failed = other, at_other
    return (factor, None, None) if failed is None else (None, factor, failed)


def _failing(run: LoadRun, conditions: Sequence[Condition]) -> Iterator[str]:
    for number, stream in enumerate(run.program.streams):
        if not is_stable(run, number):
            yield f"{stream.name} is saturated"
        yield from (
            f"{stream.name}: {condition.text} fails" for condition in conditions if not condition.holds(run, number)
        )


def _rate(stream: Any, clock_mhz: int) -> float | None:
    rate = arrival_rate(stream)
    return round(rate * clock_mhz * 10**6, 4) if rate else None


def _check_frames(program: LoadProgram, conditions: Sequence[Condition], run: LoadRun) -> None:
    """Raise ScenarioError for a percentile of too few frames: it would never hold."""
    for condition in conditions:
        needed = sample_floor(PERCENTILES[condition.measure]) if condition.measure in PERCENTILES else 1
        offered = min(np.min([run.total(n, "offered") - program.warmup for n in range(len(program.streams))]), 10**9)
        if offered < needed:
            raise _refusal(f"{condition.text}: got {offered} frames behind the warm-up, wanted at least {needed}")


def found_rate_lines(found: dict[str, Any]) -> Iterator[str]:
    """The result for a person."""
    wanted = " and ".join(found["conditions"])
    if found["factor"] is None:
        yield f"find: {wanted} holds at no rate: {found['limit']}"
        return
    each = [
        f"{stream['name']} {stream['frames_per_second']:,.2f} frames/s"
        for stream in found["streams"]
        if stream["frames_per_second"] is not None
    ]
    yield f"find: {wanted} holds up to {found['factor']:,.3f} times the rate: {', '.join(each)}"
    yield f"      above: {found['limit'] or 'nothing fails'}"
