"""`python -m tests.bench_sweep OTHER`: sweeps of 10,240 points of one head in this tree and in another one.

Each round runs `tessbed sweep --executor here` in both trees, in turns, and compares the tables. CPU seconds of whole
processes, start included; the ratio is the median of the rounds. `--over device` varies the device alone, `tiles` the
shape of the tiles, too. `--points N` draws N points instead of all.
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

HERE = Path(__file__).parents[1]
HEAD = """
name = "head"
[[jobs]]
name = "head"
op = "detesscast"
backend = "ev74"
dtype = "bf16"
shape = [80, 80, 80]
cblocked = { tile = [16, 16, 16] }
to = "fp32"
input = { pattern = "golden" }
"""
SPACES = {
    "device": (
        "device.workers=1..16", "device.dma.bytes_per_tick=8,16,32,64", "device.slots=1..4",
        "device.dma.outstanding=1,2,4,8,16", "device.write_granule_bytes=16,32,64,128",
        "device.memory.read_latency_ticks=100,200",
    ),
    "tiles": (
        "device.workers=1..16", "device.dma.bytes_per_tick=8,16,32,64", "device.memory.bytes_per_tick=16,32,64,128",
        "device.dma.outstanding=1,2,4,8,16",
        "jobs.0.cblocked.tile=[8,8,16],[16,8,16],[8,16,16],[16,16,16],[32,8,16],[8,32,16],[16,16,32],[16,16,48]",
    ),
}  # fmt: skip


def swept(tree: Path, space: str, drawn: int | None) -> tuple[float, str]:
    """(CPU seconds, the table) of the sweep by the product in a tree."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "head.toml").write_text(HEAD)
        varied = [word for text in SPACES[space] for word in ("--vary", text)]
        more = ["--random", str(drawn)] if drawn else []
        line = [sys.executable, "-m", "tessbed", "sweep", "head.toml", "-q", "--executor", "here", "--out", "t.csv"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        environment = os.environ | {"PYTHONPATH": str(tree)}
        subprocess.run([*line, *varied, *more], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds, (Path(folder) / "t.csv").read_text()


def main() -> None:
    """Print both and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the root of the other tree, its extensions built")
    parser.add_argument("--over", choices=SPACES, default="device")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--points", type=int)
    asked = parser.parse_args()
    trees, ratios = [HERE, asked.other.resolve()], []
    for number in range(asked.rounds):
        order = trees if number % 2 else trees[::-1]
        found = {tree: swept(tree, asked.over, asked.points) for tree in order}
        (here, table), (other, its_table) = (found[tree] for tree in trees)
        ratios.append(other / here)
        same = "the same table" if table == its_table else "ANOTHER TABLE"
        print(f"here {here:.2f} s, the other {other:.2f} s: {ratios[-1]:.2f} times as fast, {same}", flush=True)
    print(f"median of {asked.rounds} rounds: {median(ratios):.2f} times as fast")


if __name__ == "__main__":
    main()
