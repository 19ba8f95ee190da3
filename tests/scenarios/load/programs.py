"""Programs of loads for tests, without a scenario around them."""

from collections.abc import Sequence

from tessbed.scenarios.load.load_model import Arrivals, Distribution
from tessbed.scenarios.load.program import NO_LIMIT, LoadProgram, StageProgram, Station, StreamProgram


def constant(ticks: int) -> Distribution:
    """Always so many ticks."""
    return Distribution("constant", ticks)


def tandem(
    arrivals: Arrivals,
    services: Sequence[Distribution],
    frames: int,
    servers: Sequence[int] = (),
    warmup: int = 0,
    seed: int = 0,
    **rules: object,
) -> LoadProgram:
    """Jobs one after the other, each on a station of its own."""
    counts = servers or [1] * len(services)
    stations = tuple(Station(f"server {number}", "external", count) for number, count in enumerate(counts))
    last = len(services) - 1
    stages = tuple(
        StageProgram(
            f"job {number}",
            number,
            ticks,
            after=(number - 1,) if number else (),
            before=(number + 1,) if number < last else (),
        )
        for number, ticks in enumerate(services)
    )
    stream = StreamProgram("stream", stages, arrivals, frames, **rules)  # type: ignore[arg-type]
    return LoadProgram(stations, (stream,), warmup=warmup, seed=seed, horizon_ticks=NO_LIMIT)
