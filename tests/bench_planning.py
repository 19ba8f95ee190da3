"""What planning a launch for the exact engine takes: `python -m tests.bench_planning [--rounds N] [--random N]`.

Kinds of shapes at ten thousand, a million and ten million tiles, on the default device, for four workers. In every
round each is planned once, one after the other; CPU time, medians over rounds, and the ratio to the smallest launch of
a kind. Planned is without its runs, as long launches are; beside that is what it takes with all runs written out, where
these are kept. Band by band is the enumerating planner, which small launches take.

With `--random N --seed S` it draws N kinds instead (planning_kinds.py), and plans each at ten thousand and at ten
million tiles: the fewest ms of the rounds, their ratio, and the kind where it grows.
"""

import argparse
import time
from collections.abc import Callable
from random import Random
from statistics import median

import attrs

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.planning.enumerating_planner import EnumeratingPlanner
from tessbed.firmware_models.planning.launch_summary import plan_launch
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.firmware_models.planning.test_launch_summary import HWC, packet_geometry
from tests.oracle import Geometry
from tests.planning_kinds import RandomKind

NO_RUNS = -1
"""The most bands of runs that are written out when a launch is planned."""
MOST_ENUMERATED = 10_000
SIZES = ((100, 100), (1000, 1000), (3200, 3125))
"""Tiles along two axes."""
HALF = {"scale_bits": 0x3F000000, "zero_point": 0, "rounding": "nearest_even"}

KINDS: dict[str, Callable[[int, int], Geometry]] = {
    "tess, 16 bytes a tile": lambda h, w: Geometry("tess", (h, w, 16), "int8", HWC, (1, 1, 1, 16)),
    "detess, 16 bytes a tile": lambda h, w: Geometry("detess", (h, w, 16), "int8", HWC, (1, 1, 1, 16)),
    "detess, tiles of 4x4x32": lambda h, w: Geometry("detess", (4 * h, 4 * w, 32), "bf16", HWC, (1, 4, 4, 32)),
    "tess, cut tiles, odd rows": lambda h, w: Geometry("tess", (4 * h - 1, 4 * w - 1, 5), "bf16", HWC, (1, 4, 4, 5)),
    "detess, cut tiles, odd rows": lambda h, w: Geometry(
        "detess", (4 * h - 1, 8 * w - 3, 7), "int8", HWC, (1, 4, 8, 7)
    ),
    "tess, rows of an odd pitch": lambda h, w: Geometry(
        "tess", (2 * h, 2 * w, 3), "int8", HWC, (1, 2, 2, 3), pad16=True, strides_bytes=(6 * w + 1, 3, 1)
    ),
    "detess, channels cut in three": lambda h, w: Geometry(
        "detess", (h, 2 * w // 3 + 1, 43), "bf16", HWC, (1, 1, 2, 16)
    ),
    "tess, five axes, four cut": lambda h, w: Geometry(
        "tess", (h // 10, 5, 5, 2 * w - 1, 11), "int8", (1, 2, 3, 4), (2, 3, 2, 4)
    ),
    "detess, five axes": lambda h, w: Geometry(
        "detess", (h // 10, 5, 3, 2 * w - 1, 16), "int8", (-1, 2, 3, 4), (1, 2, 2, 16)
    ),
    "quanttess, odd channels": lambda h, w: Geometry(
        "quanttess", (3 * h - 1, 3 * w - 2, 17), "int8", HWC, (1, 3, 3, 17), to="fp32", **HALF
    ),
    "detess, channel-first, odd planes": lambda h, w: Geometry(
        "detess",
        (3 * (h // 4) - 1, 4 * w, 4),
        "int8",
        HWC,
        (1, 3, 4, 1),
        strides_bytes=(4 * w, 1, 4 * w * (3 * (h // 4) - 1) + 1),
    ),
    "detess, channel-first, many bands": lambda h, w: Geometry(
        "detess",
        (6 * w - 2, 4 * (h // 3), 21),
        "int8",
        HWC,
        (1, 6, 4, 7),
        strides_bytes=(4 * (h // 3), 1, 4 * (h // 3) * (6 * w - 2) + 46),
    ),
    "detessdequant, channels cut in four": lambda h, w: Geometry(
        "detessdequant", (4 * (h // 4) - 3, 7 * w, 117), "int8", HWC, (1, 4, 7, 33), to="fp32", **HALF
    ),
}


@attrs.define
class Figures:
    """Of one launch, by round."""

    planned: list[float] = attrs.Factory(list)
    with_runs: list[float] = attrs.Factory(list)
    one_by_one: list[float] = attrs.Factory(list)
    tiles: int = 0
    long: bool = False


def _bound(asked: Geometry) -> PacketGeometry:
    return packet_geometry(asked, Random(1))


def _cpu_ms(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return 1000 * (time.process_time() - start)


def measure(rounds: int) -> dict[str, list[Figures]]:
    """The figures of each kind, by size."""
    spec, found = DeviceSpec(), {name: [Figures() for _ in SIZES] for name in KINDS}
    for number in range(rounds + 1):  # the first warms up
        for name, kind in KINDS.items():
            for size, figures in zip(SIZES, found[name], strict=True):
                geometry = _bound(kind(*size))
                if not number:
                    figures.tiles, figures.long = geometry.tiles, plan_launch(geometry, spec, 4).long
                    continue
                figures.planned.append(_cpu_ms(lambda at=geometry: plan_launch(at, spec, 4, NO_RUNS)))
                if not figures.long:
                    figures.with_runs.append(_cpu_ms(lambda at=geometry: plan_launch(at, spec, 4)))
                if geometry.tiles <= MOST_ENUMERATED:
                    figures.one_by_one.append(_cpu_ms(lambda at=geometry: EnumeratingPlanner(spec).draw(at, 4)))
    return found


GROWS, SOME_TENS_MS = 1.5, 50
"""What is more than both is shown with its kind."""


def search(seeds: range, rounds: int) -> None:
    """Plan random kinds and print what they take, line by line; the worst at the end."""
    print(f"{'seed':>6} {'small ms':>9} {'large ms':>9} {'ratio':>6}")
    found = []
    for seed in seeds:
        kind, best = RandomKind.of(seed, SIZES[-1]), []
        for size in (SIZES[0], SIZES[-1]):
            geometry, spec, workers = kind.bound(*size), kind.spec, kind.workers
            best.append(
                min(
                    _cpu_ms(lambda at=geometry, on=spec, of=workers: plan_launch(at, on, of, NO_RUNS))
                    for _ in range(rounds)
                )
            )
        small, large = best
        found.append((large / small, large, seed))
        figures = f"{seed:6} {small:9.1f} {large:9.1f} {large / small:6.2f}"
        grows = large > GROWS * small and large > SOME_TENS_MS
        print(f"{figures}  {kind.workers} workers, {kind.geometry(*SIZES[-1])}, {kind.spec}" if grows else figures)
    grown = [seed for ratio, large, seed in found if ratio > GROWS and large > SOME_TENS_MS]
    print(f"{len(grown)} of {len(found)} are above {GROWS} and {SOME_TENS_MS} ms; the dearest:")
    for ratio, large, seed in sorted(found, key=lambda row: -row[1])[:5]:
        print(f"{seed:6} {large:9.1f} ms, ratio {ratio:.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random kinds instead of the table")
    parser.add_argument("--seed", type=int, default=0, help="of the first random kind")
    asked = parser.parse_args()
    if asked.random:
        search(range(asked.seed, asked.seed + asked.random), asked.rounds)
        return
    found = measure(asked.rounds)
    columns = ("tiles", "planned", "ratio", "with its runs", "band by band")
    print(f"{'ms to plan a launch of 4 workers':32} " + " ".join(f"{name:>12}" for name in columns))
    for name, sizes in found.items():
        least = median(sizes[0].planned)
        for figures in sizes:
            ms = median(figures.planned)
            runs, enumerated = [
                f"{median(of):13.1f}" if of else 13 * " " for of in (figures.with_runs, figures.one_by_one)
            ]
            print(f"{name:32} {figures.tiles:12,} {ms:12.1f} {ms / least:12.2f} {runs} {enumerated}".rstrip())


if __name__ == "__main__":
    main()
