"""How fast the rows are beside every pipeline of a user, on a wide grid: `python -m tests.bench_users [--rounds N]`.

Eight conversions on 259 tensors: five orders of the axes, tiles from 3 to 640 pixels wide, few and many channels,
slices with gaps, scalars apart, ranks 1 to 5, from a hundred bytes to megabytes; none chosen for its speed. Contenders
are those of `tessbed bench`, in the same turns; of the rivals only the three that are fastest in a first round stay.
With einops and torch installed they are among them, torch on one thread. Cases slower than a rival are printed, then
means. TESSBED_ROWS=numpy measures the numpy rows.
"""

import argparse
from collections.abc import Iterator
from statistics import geometric_mean, median
from typing import Any

import attrs

from tessbed.bench.cases import BenchCase
from tessbed.bench.measurement import contenders, ratio, time_in_turns
from tests.bench_rows import KINDS

RIVALS = 3
Size = tuple[int, int, int]
Table = dict[Size, tuple[Size, ...]]
"""Tiles by the shape that they cut, each of (H, W, C)."""

SCATTERED: Table = {
    (28, 28, 64): ((14, 14, 64), (7, 7, 64), (28, 28, 64), (4, 4, 16), (28, 3, 16)),
    (56, 56, 64): ((14, 14, 64), (16, 16, 16), (8, 5, 64)),
    (7, 7, 512): ((7, 7, 512), (7, 7, 16)),
    (112, 112, 33): ((16, 16, 33), (28, 14, 33)),
    (1, 197, 768): ((1, 197, 64),),
    (160, 160, 3): ((32, 32, 3), (160, 14, 3), (10, 10, 3)),
    (160, 160, 5): ((32, 32, 5), (16, 14, 5)),
    (96, 96, 10): ((32, 32, 10), (16, 12, 10)),
    (200, 300, 2): ((39, 42, 2), (20, 6, 2)),
    (224, 224, 24): ((32, 32, 24), (14, 14, 24)),
    (13, 13, 255): ((13, 13, 255), (5, 3, 255)),
}
SCATTERED_PADDED: Table = {(28, 28, 20): ((14, 14, 20),), (112, 112, 3): ((16, 16, 3),), (7, 7, 100): ((7, 7, 100),)}
DENSE: Table = {
    (56, 56, 64): ((14, 14, 64), (16, 16, 16), (7, 7, 24)),
    (640, 640, 3): ((32, 128, 3), (640, 17, 3), (5, 5, 3)),
    (384, 832, 1): ((384, 17, 1), (16, 16, 1), (48, 5, 1), (3, 3, 1)),
    (192, 832, 2): ((39, 42, 2), (192, 7, 2)),
    (60, 80, 65): ((12, 4, 65), (60, 3, 7)),
    (100, 100, 7): ((10, 10, 7), (100, 4, 7)),
    (40, 40, 243): ((1, 20, 243), (40, 2, 10), (5, 5, 3)),
    (160, 160, 24): ((16, 16, 24), (16, 16, 5), (16, 16, 12)),
    (7, 7, 512): ((7, 7, 512), (7, 7, 2), (3, 3, 9)),
}
SLICED: Table = {
    (56, 56, 16): ((14, 14, 16),), (160, 160, 3): ((32, 32, 3),), (100, 100, 7): ((20, 10, 7),),
    (80, 80, 33): ((16, 16, 33),), (200, 200, 1): ((25, 25, 1),), (64, 64, 4): ((16, 16, 4),),
}  # fmt: skip
SLICES: tuple[dict[str, Any], ...] = (
    {"gap": 5}, {"pitch": 37}, {"pitch": 1}, {"apart": 2}, {"apart": 4}, {"order": "chw", "gap": 7},
    {"order": "chw", "apart": 2}, {"order": "wch", "gap": 1},
)  # fmt: skip
TINY: Table = {
    (1, 1, 64): ((1, 1, 16),), (1, 1, 1000): ((1, 1, 16),), (1, 1, 5): ((1, 1, 2),), (4, 4, 3): ((2, 2, 3),),
    (2, 3, 7): ((1, 2, 5),), (8, 8, 16): ((4, 4, 16),), (1, 1, 4096): ((1, 1, 64),), (1, 16, 16): ((1, 4, 16),),
    (16, 16, 4): ((8, 8, 4),),
}  # fmt: skip
LARGE: Table = {
    (640, 640, 16): ((32, 32, 16),), (1024, 1024, 3): ((64, 14, 3),), (320, 320, 40): ((16, 7, 40),),
}  # fmt: skip
OUTER: tuple[tuple[Size, Size, tuple[int, ...]], ...] = (
    ((28, 28, 64), (14, 14, 64), (4,)), ((14, 14, 20), (7, 5, 20), (2, 3)), ((10, 10, 3), (5, 5, 3), (16,)),
)  # fmt: skip
BLOCKS: Table = {
    (80, 80, 64): ((16, 16, 16),), (20, 20, 80): ((1, 20, 80),), (13, 13, 48): ((13, 5, 48),),
}  # fmt: skip
BLOCK_KINDS = (("detesscast", "bf16", "fp32"), ("detesscast", "bf16", "bf16"), ("detessdequant", "int8", "fp32"))


@attrs.frozen
class SlicedCase(BenchCase):
    """A case with `gap` scalars behind each innermost run: channels of a wider pixel, or pixels of a wider row."""

    gap: int = 0

    @property
    def dense(self) -> bool:
        """True where the linear side is row-major without gaps."""
        return not self.gap and self.order == "hwc" and not self.pitch and self.apart == 1

    def strides(self) -> tuple[int, ...]:
        """Byte strides of the outer axes and of H, W, C on the linear side."""
        width, step, strides = self.linear_dtype.width, self.apart * self.linear_dtype.width, {}
        for axis, behind in zip(reversed(self.order), (self.gap, self.pitch, 0), strict=True):
            strides[axis] = step
            step = step * self.shape["hwc".index(axis)] + behind * width
        around: list[int] = []
        for extent in reversed(self.outer):
            around.insert(0, step)
            step *= extent
        return (*around, *(strides[axis] for axis in "hwc"))


def _cases(table: Table, channels: str = "compact", kinds: Any = KINDS, **options: Any) -> Iterator[SlicedCase]:
    told = " ".join(f"{key} {value}" for key, value in options.items())
    for shape, tile in ((shape, tile) for shape, tiles in table.items() for tile in tiles):
        for op, dtype, to in kinds:
            sizes = f"{'x'.join(map(str, shape))} by {'x'.join(map(str, tile))}"
            name = f"{op} {dtype} {sizes} {channels} {told}".rstrip() + (f" to {to}" if kinds is BLOCK_KINDS else "")
            yield SlicedCase(name, op, dtype, shape, tile, channels, "users", to, **options)


def grid() -> Iterator[SlicedCase]:
    """Every case."""
    for order in ("chw", "cwh", "wch", "hcw"):
        yield from _cases(SCATTERED, order=order)
        yield from _cases(SCATTERED_PADDED, "pad16", order=order)
    for channels in ("compact", "pad16"):
        yield from _cases(DENSE, channels)
        yield from _cases(TINY, channels)
    yield from _cases(TINY, order="chw")
    for options in SLICES:
        yield from _cases(SLICED, **options)
    yield from _cases({(1, 1, 4096): ((1, 1, 64),)}, rank=1)
    yield from _cases({(1, 197, 768): ((1, 197, 64),)}, rank=2)
    for order in ("hwc", "chw", "cwh"):
        for shape, tile, outer in OUTER:
            yield from _cases({shape: (tile,)}, outer=outer, order=order)
    for order in ("hwc", "chw"):
        yield from _cases(LARGE, order=order)
        yield from _cases(BLOCKS, "cblocked", BLOCK_KINDS, order=order)


@attrs.frozen
class Ratio:
    """The strongest rival's time over the call's, and the same of the copy."""

    name: str
    call_ns: float
    user: float
    copy: float
    rival: str


def ratio_of(case: SlicedCase, rounds: int) -> Ratio:
    """Medians over the turns of all rounds; ArithmeticError where a rival's bytes differ."""
    runs = contenders(case)
    first = time_in_turns(runs, 1)
    rivals = sorted(runs.keys() - {"call", "copy"}, key=lambda name: (median(first[name]), name))[:RIVALS]
    times = time_in_turns({name: runs[name] for name in ("call", "copy", *rivals)}, rounds)
    over = {name: ratio(found, times["call"]) for name, found in times.items()}
    best = min(rivals, key=over.__getitem__)
    return Ratio(case.name, median(times["call"]), over[best], over["copy"], best)


def main() -> None:
    """The cases below 1, slowest first, and geometric means of each operation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="one case of so many")
    options = parser.parse_args()
    cases = [case for case in grid() if options.match in case.name][:: options.every]
    found = sorted((ratio_of(case, options.rounds) for case in cases), key=lambda case_ratio: case_ratio.user)
    for case_ratio in found:
        if case_ratio.user < 1:
            ratios = f"{case_ratio.copy:.2f} x copy, {case_ratio.user:.2f} x {case_ratio.rival}"
            print(f"{case_ratio.name:<72}{case_ratio.call_ns / 1e3:>9.1f} us  {ratios}")
    for kind in dict.fromkeys(" ".join(case.name.split()[:2]) for case in cases):
        _print_mean(kind, [case_ratio for case_ratio in found if case_ratio.name.startswith(f"{kind} ")])
    _print_mean("all", found)


def _print_mean(name: str, found: list[Ratio]) -> None:
    users = [case_ratio.user for case_ratio in found]
    below = f"{sum(user < 1 for user in users)} below 1"
    print(f"{name:<22}{len(found):>5} cases  x user {geometric_mean(users):.2f}, least {min(users):.2f}, {below}")


if __name__ == "__main__":
    main()
