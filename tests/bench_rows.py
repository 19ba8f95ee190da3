"""How fast the rows are beside a user's own pipeline, on many shapes: `python -m tests.bench_rows [--rounds N]`.

Every conversion on a grid of shapes, tiles, paddings and orders, none of them chosen for its speed; the bench's own
cases of up to 1.6 MiB come on top. A case is measured as `tessbed bench` does, interleaved, in processor time: its
ratio is the strongest pipeline's time over the checked call's. TESSBED_ROWS=numpy measures the numpy rows. The slowest
cases are printed, and geometric means of each operation.

`--control` measures each call beside itself instead: a fair measure gives 1.00. `--prepare` measures preparation: all
cases in turns, with the caches cold (the memos of types and items empty, other data in the CPU's) and warm.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from statistics import geometric_mean, median
from time import thread_time_ns

import numpy as np

from tessbed.bench.cases import CASES, BenchCase
from tessbed.bench.measurement import BenchMeasurement, contenders, measure_case, ratio, time_in_turns
from tessbed.kernels import OPERATIONS, Plan
from tessbed.kernels.a65.executor import executor_of
from tessbed.kernels.a65.numpy_engine.steps import items
from tessbed.kernels.ops import requests_of

KINDS = (
    ("tess", "int8", None), ("tess", "bf16", None), ("detess", "int8", None), ("detess", "bf16", None),
    ("detesscast", "bf16", "fp32"), ("casttess", "bf16", "fp32"), ("quanttess", "int8", "fp32"),
    ("detessdequant", "int8", "fp32"),
)  # fmt: skip
"""(operation, tiled scalars, linear ones where they are others): each conversion once."""
GRID = (
    ((1, 1, 1000), (1, 1, 64)), ((1, 1, 4096), (1, 1, 4096)), ((4, 4, 512), (2, 4, 64)), ((7, 7, 96), (7, 7, 32)),
    ((8, 8, 16), (4, 4, 16)), ((10, 17, 40), (4, 8, 16)), ((13, 13, 255), (13, 13, 255)), ((14, 14, 256), (7, 14, 16)),
    ((20, 20, 80), (5, 20, 80)), ((28, 28, 128), (14, 14, 32)), ((32, 32, 3), (32, 32, 3)),
    ((40, 40, 64), (16, 16, 16)), ((64, 48, 24), (16, 16, 24)), ((80, 80, 7), (16, 16, 7)),
    ((96, 96, 33), (24, 24, 33)), ((100, 100, 1), (10, 100, 1)), ((224, 224, 3), (32, 32, 3)),
    ((1, 256, 384), (1, 64, 384)), ((120, 160, 5), (8, 32, 5)),
)  # fmt: skip
"""(shape, tile) of (H, W, C)."""
STORAGES = (("hwc", "compact"), ("hwc", "pad16"), ("chw", "compact"))
LARGEST_MIB = 1.6
WARM_CALLS, COLD_BYTES = 10, 1 << 23
"""Warm preparations behind a cold one, and what the CPU's caches are filled with before that."""


def grid() -> Iterator[BenchCase]:
    """Every kind of every shape, in every storage where that makes a difference."""
    for shape, tile in GRID:
        for order, channels in STORAGES:
            if (channels == "pad16" and tile[2] % 16 == 0) or (order == "chw" and 1 in (shape[2], prod(shape[:2]))):
                continue
            for op, dtype, to in KINDS:
                name = f"{op} {dtype} {'x'.join(map(str, shape))} by {'x'.join(map(str, tile))} {channels} {order}"
                yield BenchCase(name, op, dtype, shape, tile, channels, "grid", to, order)


def small_cases() -> Iterator[BenchCase]:
    """The bench's own cases, without the large ones."""
    for case in CASES:
        if prod(case.array_shape) * case.linear_dtype.width <= LARGEST_MIB * 2**20:
            yield case


def means(found: list[BenchMeasurement]) -> Iterator[str]:
    """A line for each operation and one for all."""
    for kind in dict.fromkeys((entry.op, entry.dtype) for entry in found):
        yield _line(" ".join(kind), [entry.user_ratio for entry in found if (entry.op, entry.dtype) == kind])
    yield _line("all", [entry.user_ratio for entry in found])


def _line(name: str, ratios: list[float]) -> str:
    below = ", ".join(f"{sum(ratio < least for ratio in ratios)} below {least:.2f}" for least in (0.95, 0.97, 1))
    mean = f"{geometric_mean(ratios):.2f}, least {min(ratios):.2f}"
    return f"{name:<22}{len(ratios):>4} cases  x user {mean:<18}{below}"


def measure(cases: list[BenchCase], rounds: int, show: int) -> None:
    """Prints the slowest cases beside a user's pipeline, then the means."""
    found = sorted((measure_case(case, rounds) for case in cases), key=lambda entry: entry.user_ratio)
    for entry in found[:show]:
        print(f"{entry.name:<72}{entry.call_ns / 1e3:>9.1f} us{entry.user_ratio:>7.2f} x {entry.rival}")
    print(*means(found), sep="\n")


def control(cases: list[BenchCase], rounds: int, show: int) -> None:
    """Prints where a call's time is farthest from that of the same call, both measured as contenders among all."""
    found = sorted((control_ratio(case, rounds), case.name) for case in cases)
    for found_ratio, name in sorted(found, key=lambda entry: -abs(entry[0] - 1))[:show]:
        print(f"{name:<72}{found_ratio:>7.3f}")
    ratios = [entry[0] for entry in found]
    beyond = ", ".join(f"{sum(abs(r - 1) > far for r in ratios)} farther than {far}" for far in (0.03, 0.05))
    print(f"{len(ratios)} cases: median {median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}, {beyond}")


def control_ratio(case: BenchCase, rounds: int) -> float:
    """The time of a call again over that of the call."""
    runs = contenders(case)
    call = runs["call"]
    times = time_in_turns(runs | {"again": lambda: call()}, rounds)
    return ratio(times["again"], times["call"])


def prepare(cases: list[BenchCase], rounds: int, show: int) -> None:
    """Prints the slowest preparations, then the slowest of each operation: with cold caches, and with warm ones."""
    found = preparation(cases, rounds)
    for case, (cold, warm) in sorted(found.items(), key=lambda entry: -entry[1][0])[:show]:
        print(f"{case.name:<72}cold {cold / 1e3:>5.0f} us  warm {warm / 1e3:>5.0f} us")
    for kind in dict.fromkeys((case.op, case.dtype) for case in cases):
        columns = zip(*(times for case, times in found.items() if (case.op, case.dtype) == kind), strict=True)
        cold, warm = (f"{median(times) / 1e3:>5.0f}, at most {max(times) / 1e3:>4.0f} us" for times in columns)
        print(f"{' '.join(kind):<22}cold {cold}    warm {warm}")


def preparation(cases: list[BenchCase], rounds: int) -> dict[BenchCase, tuple[float, float]]:
    """Nanoseconds that preparing each case takes, medians over rounds: with cold caches, and with warm ones."""
    runs = [partial(executor_of(OPERATIONS[case.op]).prepare, plan_of(case)) for case in cases]
    times: dict[BenchCase, tuple[list[float], list[float]]] = {case: ([], []) for case in cases}
    for _ in range(rounds):
        for case, run in zip(cases, runs, strict=True):
            items.cache_clear()
            np.ones(COLD_BYTES, np.uint8)
            cold, warm = times[case]
            cold.append(_once(run))
            warm.append(median([_once(run) for _ in range(WARM_CALLS)]))
    return {case: (median(cold), median(warm)) for case, (cold, warm) in times.items()}


def plan_of(case: BenchCase) -> Plan:
    """Its plan."""
    return requests_of(OPERATIONS[case.op]).check_inference(case.request())


def _once(run: Callable[[], object]) -> float:
    start = thread_time_ns()
    run()
    return thread_time_ns() - start


def main() -> None:
    """Prints what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--show", type=int, default=40, help="how many of the slowest cases are printed")
    kinds = parser.add_mutually_exclusive_group()
    for other in (control, prepare):
        kinds.add_argument(f"--{other.__name__}", dest="run", action="store_const", const=other, help=other.__doc__)
    options = parser.parse_args()
    cases = [case for case in (*grid(), *small_cases()) if options.match in case.name]
    (options.run or measure)(cases, options.rounds, options.show)


if __name__ == "__main__":
    main()
