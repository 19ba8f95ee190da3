"""Rate search: the highest rate of frames at which conditions hold, by bisection with common random numbers.

All streams that have a rate are sped up together: every gap between arrivals, random or not, is stretched by one
factor, and all else stays as it is drawn. Between the lowest rate at which a condition fails and the highest at which
all hold the search halves its steps until they are a thousandth of the rate. A queue can be faster at a slightly higher
rate, so what is found is a rate at which all hold, and a little more at which one does not.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs

from tessbed.scenarios.load.load_model import Arrivals
from tessbed.scenarios.load.program import LoadProgram
from tessbed.scenarios.load.simulation import LoadRun, arrival_rate, is_stable
from tessbed.scenarios.study.load.conditions import Condition, check_frames, refused_condition

FINEST = 1000
"""The search ends where a step is a thousandth of the rate."""
FARTHEST = 20
"""It doubles or halves the rate so many times at most."""


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
        raise refused_condition(
            "no stream has a rate: all are closed or at once, wanted every, poisson, gamma or a trace"
        )
    check_frames(conditions, runs(program))

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
