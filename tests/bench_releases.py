"""How fast the A65's calls are beside those of another tree: `python -m tests.bench_releases TREE [--rounds N]`.

TREE is a checkout of a release, its extension built in place, as `pip install -e` does.
Both trees run in processes of their own, and in every round each runs once: what else the machine does takes from both
alike; each makes the same number of calls, after one that is not timed and fills the caches. Times are CPU time. A
ratio is the median over rounds of the other tree's time over this one's; groups are geometric means. TESSBED_ROWS=numpy
measures the numpy rows of both.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

HERE = Path(__file__).parents[1]
ROUND_NS = 1_500_000
ROUNDS_IN_STORAGE = 3
"""Then both trees take other pages: which ones they got decides more than the code does, where caches are full."""
CHILD = """
import importlib, json, sys
from time import thread_time_ns

try:  # as it was called in 0.1.0
    cases, measurement = (importlib.import_module(f"tessbed.scenarios.bench.{name}") for name in ("cases", "measure"))
except ModuleNotFoundError:
    cases, measurement = (importlib.import_module(f"tessbed.bench.{name}") for name in ("cases", "measurement"))
known = {case.name: case for case in cases.CASES}
def attributes(case):
    megabytes = case.shape[0] * case.shape[1] * case.shape[2] * case.linear_dtype.width / 2**20
    return {"family": case.family, "dtype": case.dtype, "op": case.op, "mib": megabytes}
print(json.dumps({name: attributes(case) for name, case in known.items()}), flush=True)
call = None
for line in sys.stdin:
    name, repeats = json.loads(line)
    if not repeats:
        call = measurement.contenders(known[name])["call"]
        repeats = 1
    else:
        call()
    start = thread_time_ns()
    for _ in range(repeats):
        call()
    print((thread_time_ns() - start) / repeats, flush=True)
"""


class Tree:
    """The cases of one tree, in a process of its own."""

    def __init__(self, root: Path) -> None:
        command, environment = [sys.executable, "-c", CHILD], os.environ | {"PYTHONPATH": str(root)}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=root, env=environment, stdin=pipe, stdout=pipe, text=True)
        self.cases: dict[str, dict[str, Any]] = self._answer()

    def time(self, case: str, repeats: int) -> float:
        """Nanoseconds of one call; without repeats, of a first one in new storage."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([case, repeats]) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


def ratio_of(case: str, this: Tree, other: Tree, rounds: int) -> float:
    """The other tree's time over this one's."""
    trees, found, repeats = (this, other), [], 0
    for number in range(rounds):
        if number % ROUNDS_IN_STORAGE == 0:
            for tree in trees:
                tree.time(case, 0)
            repeats = max(1, int(ROUND_NS / max(min(tree.time(case, 2) for tree in trees), 1)))
        times = {at: trees[at].time(case, repeats) for at in ((0, 1) if number % 2 else (1, 0))}
        found.append(times[1] / times[0])
    return median(found)


def main() -> None:
    """A line for each case that both trees have, then the groups."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--most", type=float, default=30, help="MiB of the largest linear side")
    options = parser.parse_args()
    this, other = Tree(HERE), Tree(options.tree.resolve())
    groups: dict[str, list[float]] = {}
    for case, attributes in this.cases.items():
        if case in other.cases and attributes["mib"] <= options.most:
            ratio = ratio_of(case, this, other, options.rounds)
            groups.setdefault(f"{attributes['dtype']} {attributes['family']}", []).append(ratio)
            print(f"{case:<50}{ratio:>7.2f}", flush=True)
    for group, ratios in groups.items():
        text = f"{geometric_mean(ratios):>7.2f}  {min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{group:<40}{len(ratios):>3} cases {text}")


if __name__ == "__main__":
    main()
