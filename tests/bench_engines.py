"""How fast the engines are beside the yardstick: `python -m tests.bench_engines [--rounds N] [--json] [CASE ...]`.

In every round each contender runs once, one after the other; times are CPU time, rates and ratios medians over rounds.
A tile job is one band: its reads, its packing, its drain. Bands are made beforehand. The exact engine runs in both of
its forms, and walks every band: only the grids at the end, of equal tiles, let it jump.
"""

import argparse
import gc
import json
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import attrs

from tessbed.sim.exact import native
from tessbed.sim.exact.engine import VARIABLE, simulate
from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, TimedBand, Timing
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.yardstick.plain import run_plain
from tests.yardstick.reference import run_reference, timed
from tests.yardstick.work import Memory, Work, catalogue, single_rows, uniform

Contender = Callable[[], Any]
CATALOGUE = ("yolov8n-heads-bf16", "yolov8n-image", "chroma", "superpoint", "strided-outputs", "oversized-pitch")
FORMS = {"python": "exact, Python"} | ({} if native.missing else {"native": "exact, C"})
GRIDS = (10_000, 1_000_000, 10_000_000)
YARDSTICKS = {"plain": "simpy", "plain, data": "simpy, data"}
ENOUGH_TRANSFERS = 2000


@attrs.frozen
class Result:
    """One case: tile jobs per second by contender, and times the yardstick of the same kind."""

    case: str
    tile_jobs: int
    transfers: int
    tile_jobs_per_s: dict[str, float]
    times_plain: dict[str, float]


@attrs.frozen
class Grid:
    """A uniform grid, and the milliseconds that each form of the exact engine takes for it."""

    workers: int
    tiles: int
    ms: dict[str, float]


def contenders(work: Work, memory: Memory) -> dict[str, Contender]:
    """Ticks alone, then ticks and data; the last as a scenario runs it, with the checks of order."""
    program = timed(work)
    return {
        "plain": lambda: run_plain(work, memory, moves=False),
        "simpy": lambda: run_reference(work, memory, moves=False),
        **{name: partial(in_form, form, work.spec, program) for form, name in FORMS.items()},
        "plain, data": lambda: run_plain(work, memory, moves=True),
        "simpy, data": lambda: run_reference(work, memory, moves=True),
        "simpy, data, checks": lambda: run_reference(work, memory, moves=True, checks=True),
    }


def in_form(form: str, spec: DeviceSpec, program: LaunchProgram) -> Timing:
    """The exact engine in one of its forms."""
    os.environ[VARIABLE] = form
    return simulate(spec, program)


def grids(workers: int, rounds: int) -> list[Grid]:
    """Uniform grids of very different sizes: milliseconds by form, medians."""
    spec = override(DeviceSpec(), {"workers": workers, "cores": workers})
    band = TimedBand(((Cost(71, 16, 64),) * 8,), 400, False, (Cost(64, 128, 512),), 1)
    found = []
    for tiles in GRIDS:
        program = LaunchProgram((band,), tuple((BandRun((0,), len(range(w, tiles, workers))),) for w in range(workers)))
        spent = {
            name: median(_cpu_seconds(partial(in_form, form, spec, program), 10) for _ in range(rounds))
            for form, name in FORMS.items()
        }
        found.append(Grid(workers, tiles, {name: 1000 * seconds for name, seconds in spent.items()}))
    return found


def measure(work: Work, rounds: int) -> Result:
    """Measure all contenders on one piece of work, small ones repeated."""
    runs = contenders(work, work.fresh())
    repeats = max(1, ENOUGH_TRANSFERS // work.transfers)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            seconds[name].append(_cpu_seconds(run, repeats))
    yardstick = {name: "plain, data" if "data" in name else "plain" for name in runs}
    return Result(
        work.name,
        work.bands,
        work.transfers,
        {name: work.bands / median(spent) for name, spent in seconds.items()},
        {
            name: median(y / s for y, s in zip(seconds[yardstick[name]], seconds[name], strict=True))
            for name in runs
            if name not in YARDSTICKS
        },
    )


def _cpu_seconds(run: Contender, repeats: int) -> float:
    gc.collect()
    start = time.process_time()
    for _ in range(repeats):
        run()
    return (time.process_time() - start) / repeats


def table(results: list[Result]) -> str:
    """Rates in thousands of tile jobs per second, with the ratio to the yardstick behind each."""
    names = list(results[0].tile_jobs_per_s)
    lines = [
        f"{'thousand tile jobs/s (x plain)':44} {'jobs':>6} {'transfers':>9} " + " ".join(f"{n:>19}" for n in names)
    ]
    for result in results:
        cells = [f"{result.tile_jobs_per_s[name] / 1000:.2f}" + _times(result, name) for name in names]
        lines.append(
            f"{result.case:44} {result.tile_jobs:6} {result.transfers:9} " + " ".join(f"{cell:>19}" for cell in cells)
        )
    return "\n".join(lines)


def grid_table(found: list[Grid]) -> str:
    """Milliseconds a grid."""
    lines = [f"{'ms for a uniform grid':32} {'tiles':>10} " + " ".join(f"{name:>14}" for name in FORMS.values())]
    for grid in found:
        cells = " ".join(f"{ms:14.3f}" for ms in grid.ms.values())
        lines.append(f"{f'W={grid.workers}, 8 reads + 1 drain a band':32} {grid.tiles:10} {cells}")
    return "\n".join(lines)


def _times(result: Result, name: str) -> str:
    return f" ({result.times_plain[name]:.1f}x)" if name in result.times_plain else ""


def cases(wanted: list[str]) -> list[Work]:
    """The synthetic cases and the jobs of the catalogue, those whose name holds a wanted word."""
    everything = [uniform(400), uniform(1000, reads=1), single_rows(25600), *catalogue(CATALOGUE)]
    return [work for work in everything if not wanted or any(word in work.name for word in wanted)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cases", nargs="*", help="words of the names of the cases to run; all without")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = [measure(work, options.rounds) for work in cases(options.cases)]
    uniform_grids = [] if options.cases else [grid for workers in (1, 4, 16) for grid in grids(workers, options.rounds)]
    if options.json:
        reported = {"cases": [attrs.asdict(r) for r in results], "grids": [attrs.asdict(g) for g in uniform_grids]}
        print(json.dumps(reported, indent=2))
    else:
        print(table(results) if results else "no such case")
        if uniform_grids:
            print(grid_table(uniform_grids))


if __name__ == "__main__":
    main()
