"""How fast the rows are beside a user's own pipeline, on many shapes: `python -m tests.bench_rows [--rounds N]`.

Every conversion on a grid of shapes, tiles, paddings and orders, none of them chosen for its speed; the bench's own
cases of up to 1.6 MiB come on top. A case is measured as `tessbed bench` does, interleaved, in processor time: its
ratio is the strongest pipeline's time over the checked call's. TESSBED_ROWS=numpy measures the numpy rows. The slowest
cases are printed, geometric means of each operation, and what preparation takes.
"""

import argparse
from collections.abc import Iterator
from math import prod
from statistics import geometric_mean

from tessbed.bench.cases import CASES, BenchCase
from tessbed.bench.measurement import BenchMeasurement, measure_case

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
        yield _line(" ".join(kind), [entry for entry in found if (entry.op, entry.dtype) == kind])
    yield _line("all", found)


def _line(name: str, found: list[BenchMeasurement]) -> str:
    ratios, prepare = [entry.user_ratio for entry in found], max(entry.prepare_ns for entry in found) / 1e3
    below = f"{sum(ratio < 0.95 for ratio in ratios)} below 0.95, {sum(ratio < 1 for ratio in ratios)} below 1"
    mean = f"{geometric_mean(ratios):.2f}, least {min(ratios):.2f}"
    return f"{name:<22}{len(found):>4} cases  x user {mean:<18}{below:<32}prepare at most {prepare:.0f} us"


def main() -> None:
    """The slowest cases, then the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--show", type=int, default=40, help="how many of the slowest cases are printed")
    options = parser.parse_args()
    cases = [case for case in (*grid(), *small_cases()) if options.match in case.name]
    found = sorted((measure_case(case, options.rounds) for case in cases), key=lambda entry: entry.user_ratio)
    for entry in found[: options.show]:
        times = f"{entry.call_ns / 1e3:>9.1f} us{entry.user_ratio:>7.2f} x {entry.rival:<7}"
        print(f"{entry.name:<72}{times}prepare {entry.prepare_ns / 1e3:.0f} us", flush=True)
    print(*means(found), sep="\n")


if __name__ == "__main__":
    main()
