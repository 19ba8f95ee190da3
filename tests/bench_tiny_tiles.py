"""What jobs of tiny tiles take on the event engine, beside another tree: `python -m tests.bench_tiny_tiles [TREE]`.

Each job is one `tessbed run` of INT8 tiles of 16 bytes, the smallest that there are, with every byte moved by events,
checked and verified. TREE is a checkout of a release, its extension built in place. In every round each tree runs each
job once, in a process of its own, one after the other, its modules compiled before, as they are where it is installed.
Seconds are medians over rounds, of the whole command; a ratio is the median over rounds of the other tree's time over
this one's; the peak is VmHWM, the most memory of the process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import attrs

HERE = Path(__file__).parents[1]
OPERATIONS = ("tess", "detess")
SCENARIO = """
name = "the smallest tiles that there are"

[[jobs]]
name = "tiny"
op = "{op}"
dtype = "int8"
shape = [{rows}, {columns}, 16]
tiled = {{ axes = [-1, 0, 1, 2], tile = [1, 1, 1, 16] }}
backend = "ev74"
input = {{ pattern = "random" }}
"""
CHILD = """
import json, sys, time
from pathlib import Path

start = time.perf_counter()
from tessbed.cli import main

sys.argv = ["tessbed", "run", "--engine", "simpy", sys.argv[1]]
try:
    main()
except SystemExit as ended:
    assert not ended.code
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) / 1024
print(json.dumps([time.perf_counter() - start, time.process_time(), peak]))
"""


@attrs.frozen
class Cost:
    """What one run took: seconds on the wall, seconds of CPU time, peak in MiB; and the job's line of its report."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    line: str


def scenario(op: str, tiles: int) -> str:
    """A job of so many tiles, as near to a square as whole rows of a hundred allow."""
    columns = max(100, round(tiles**0.5 / 100) * 100)
    return SCENARIO.format(op=op, rows=max(1, tiles // columns), columns=columns)


def run(tree: Path, path: Path) -> Cost:
    """Run a scenario with a tree, in a process of its own; compiled modules are kept beside the scenario."""
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": str(path.parent)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", CHILD, str(path)]
    done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    *lines, cost = done.stdout.splitlines()
    return Cost(*json.loads(cost), next(line for line in lines if line.startswith("tiny ")))


def measure(op: str, tiles: int, trees: list[Path], rounds: int) -> str:
    """A line of a table: seconds and peaks of each tree, and the ratio where there are two."""
    costs: list[list[Cost]] = [[] for _ in trees]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny.toml"
        path.write_text(scenario(op, 100), encoding="utf-8")
        for tree in trees:
            run(tree, path)
        path.write_text(scenario(op, tiles), encoding="utf-8")
        for number in range(rounds):
            for at in range(len(trees))[:: -1 if number % 2 else 1]:
                costs[at].append(run(trees[at], path))
    if len({cost.line for found in costs for cost in found}) > 1:
        raise SystemExit(f"{op}: the trees differ: {sorted({cost.line for found in costs for cost in found})}")
    cells = [
        f"{median(c.wall_s for c in found):8.1f} {median(c.cpu_s for c in found):8.1f} {found[0].peak_mib:8.0f}"
        for found in costs
    ]
    if len(trees) > 1:
        pairs = list(zip(*costs, strict=True))
        cells += [f"{median(getattr(b, w) / getattr(a, w) for a, b in pairs):7.2f}" for w in ("wall_s", "cpu_s")]
    return f"{op:8}{tiles:>10} " + " ".join(cells)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("tree", type=Path, nargs="?", help="another tree to compare with")
    parser.add_argument("--tiles", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--op", choices=OPERATIONS, nargs="*", default=OPERATIONS)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    trees = [HERE, *([options.tree.resolve()] if options.tree else [])]
    head = " ".join([f"{'wall s':>8} {'CPU s':>8} {'peak MiB':>8}"] * len(trees))
    print(f"{'op':8}{'tiles':>10} {head}" + (f" {'x wall':>7} {'x CPU':>7}" if len(trees) > 1 else ""))
    for op in options.op:
        for tiles in options.tiles:
            print(measure(op, tiles, trees, options.rounds), flush=True)


if __name__ == "__main__":
    main()
