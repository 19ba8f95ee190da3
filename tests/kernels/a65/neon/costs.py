"""Measures the table of the A65's cost model anew: `python -m tests.kernels.a65.neon.costs`.

The rows are compiled for the A65 and run in the emulator, on the calibration's geometries. Each call gives the basic
blocks that each function executed; the analyzer gives the cycles of a block on each core. The model gives the steps
that the call consists of. The costs of a function's steps are then those whose sums come nearest to all calls, by
relative least squares, none below zero. A function whose sums stay far from its calls is an error: the model of its
loops (`kernels/a65/cost/features.py`) does not fit the code.

Needs LLVM's tools, which Debian's package `llvm` has, and ziglang, unicorn and pyelftools of the extra `test`.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from tessbed.kernels.a65.cost import nests
from tessbed.kernels.a65.cost.plan_steps import LOOPS, plan_steps
from tessbed.kernels.a65.cost.table import COLUMNS, PATH, REMEASURE, SCALE
from tessbed.kernels.a65.row_path import choose
from tests.contract.backends import plan_of
from tests.kernels.a65.neon import build, schedule
from tests.kernels.a65.neon.calibration import geometries
from tests.kernels.a65.neon.counting import Block, Blocks, Count, Counting
from tests.oracle import Geometry
from tests.requests import request_of

LOOPS_PATH = Path(__file__).with_name("loops.toml")
"""The schedules of the inner loops, to read beside the steps that they make."""
NEVER, ALWAYS = 1 << 62, 0
"""From which size on an output passes the caches."""
CORE_MHZ = 1400
MOST_ERROR = 0.10
"""The mean relative error of a function's costs that is too large to be recorded."""
Step = tuple[str, str]
Steps = Mapping[Step, int]


@attrs.frozen
class Call:
    """One counted call: its steps by the model, and the blocks that were executed by owner."""

    steps: Steps
    count: Count


@attrs.frozen
class Fit:
    """Costs of a function's steps, a column for each of COLUMNS, and the mean and largest relative error."""

    costs: Mapping[Step, tuple[int, ...]]
    calls: int
    mean_error: tuple[float, ...]
    worst_error: tuple[float, ...]


def owner_of(step: Step) -> str:
    """The function of the program that executes a step."""
    name = step[0].split(",")[0]
    return LOOPS if name == "same" else name


def calls_of(counting: Counting, listed: Iterable[Geometry]) -> Iterator[Call]:
    """Counted calls of geometries that are not empty, past the caches too where other loops run then."""
    for geometry in listed:
        plan = plan_of(request_of(geometry))
        seen: list[Steps] = []
        for stream_bytes in (NEVER, ALWAYS) if not plan.empty else ():
            steps = steps_from(plan, stream_bytes)
            if steps not in seen:
                seen.append(steps)
                yield Call(steps, counting.count(plan, stream_bytes))


def steps_from(plan: Any, stream_bytes: int) -> Steps:
    """The steps of a plan, with another size from which outputs pass the caches."""
    before, nests.STREAM_BYTES = nests.STREAM_BYTES, stream_bytes
    try:
        return plan_steps(plan, choose(plan))
    finally:
        nests.STREAM_BYTES = before


def totals(blocks: Blocks, cycles: Mapping[Block, tuple[float, ...]]) -> np.ndarray:
    """Instructions, then cycles by core, of counted blocks."""
    sums = np.zeros(len(COLUMNS))
    for block, times in blocks.items():
        sums += times * np.array([block[1] // 4, *cycles[block]])
    return sums


def samples(calls: Iterable[Call], cycles: Mapping[Block, tuple[float, ...]]) -> dict[str, list[tuple[Steps, Any]]]:
    """Of each function, and of each width that it has loops of its own for: the steps of a call, and what it took."""
    found: dict[str, list[tuple[Steps, Any]]] = defaultdict(list)
    for call in calls:
        by_name: dict[str, dict[Step, int]] = defaultdict(dict)
        for step, times in call.steps.items():
            by_name[LOOPS if step[0] == "same" else step[0]][step] = times
        for name, steps in by_name.items():
            found[name].append((steps, totals(call.count.blocks[owner_of((name, ""))], cycles)))
    return dict(found)


def fit(rows: list[tuple[Steps, Any]]) -> Fit:
    """The costs that come nearest to the calls of one function."""
    steps = sorted({step for found, _ in rows for step in found})
    counts = np.array([[found.get(step, 0) for step in steps] for found, _ in rows], float)
    taken = np.array([took for _, took in rows])
    costs = np.array([nearest(counts / column[:, None]) for column in taken.T]).T
    rounded = np.rint(costs * SCALE).astype(int)
    errors = np.abs(counts @ rounded / SCALE / taken - 1)
    table = {step: tuple(map(int, row)) for step, row in zip(steps, rounded, strict=True)}
    return Fit(table, len(rows), tuple(errors.mean(axis=0)), tuple(errors.max(axis=0)))


def nearest(counts: np.ndarray) -> np.ndarray:
    """Costs, none below zero, whose sums come nearest to 1 for each row: the lowest goes until none is negative."""
    kept, costs = list(range(counts.shape[1])), np.zeros(counts.shape[1])
    while kept:
        found = np.linalg.lstsq(counts[:, kept], np.ones(len(counts)), rcond=None)[0]
        if found.min() >= 0:
            costs[kept] = found
            return costs
        kept.pop(int(found.argmin()))
    return costs


def made() -> dict[str, Any]:
    """How a table is made here and now."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": REMEASURE,
        "sources_sha256": build.sources_sha256(),
        "compiler": f"ziglang {version('ziglang')} {' '.join(build.FLAGS[:2])} -mcpu={build.CPU}",
        "counts": f"unicorn {version('unicorn')}",
        "cycles": f"llvm-mca, {schedule.tool_version(schedule.ANALYZER)}, {schedule.ROUNDS} rounds of each block",
        "core_mhz": CORE_MHZ,
    }


def measure(program: Path) -> tuple[dict[str, Fit], list[Call], dict[Block, tuple[float, ...]]]:
    """The fit of every function, the calls and the schedules that it came from."""
    calls = list(calls_of(Counting.of(program), geometries()))
    blocks = {block for call in calls for counted in call.count.blocks.values() for block in counted}
    cycles = schedule.schedules(program, blocks)
    return {name: fit(rows) for name, rows in sorted(samples(calls, cycles).items())}, calls, cycles


def loop_rows(program: Path, cycles: Mapping[Block, tuple[float, ...]]) -> Iterator[str]:
    """A line for each inner loop: its function, where it starts there, its instructions, its cycles by core."""
    functions = sorted((address, name) for name, address in Counting.of(program).machine.symbols.items() if address)
    for start, size in schedule.loops(schedule.disassembly(program), cycles):
        address, name = max(entry for entry in functions if entry[0] <= start)
        costs = [size // 4 * SCALE, *(round(taken * SCALE) for taken in cycles[start, size])]
        yield f"{quoted(f'{name}+{start - address:#x}')} = {costs}"


def head(what: str, how: Mapping[str, Any]) -> list[str]:
    """The first lines of a table."""
    lines = [f"# {what} of the A65's rows: hundredths of {', '.join(COLUMNS)}.", "", "[made]"]
    return lines + [f"{key} = {value if isinstance(value, int) else quoted(value)}" for key, value in how.items()]


def toml(fits: Mapping[str, Fit], how: Mapping[str, Any]) -> str:
    """The table's file."""
    lines = head("Steps", how)
    by_name: dict[str, list[str]] = defaultdict(list)
    for found in fits.values():
        for (name, step), costs in found.costs.items():
            by_name[name].append(f"{quoted(step)} = {list(costs)}")
    for name, rows in sorted(by_name.items()):
        lines += ["", f"[steps.{quoted(name)}]", *rows]
    return "\n".join([*lines, ""])


def quoted(text: str) -> str:
    """A TOML string of a text without quotes and backslashes."""
    return f'"{text}"'


def main() -> None:
    """Measures, reports the errors, and writes the table."""
    with tempfile.TemporaryDirectory() as folder:
        program = build.build(Path(folder))
        fits, calls, cycles = measure(program)
        rows = list(loop_rows(program, cycles))
    print(f"{len(calls):,} calls; mean and worst relative error of {', '.join(COLUMNS)}")
    for name, found in fits.items():
        errors = (f"{mean:7.2%} {worst:7.1%}" for mean, worst in zip(found.mean_error, found.worst_error, strict=True))
        print(f"{name:36} {found.calls:6,}", *errors)
    far = [name for name, found in fits.items() if max(found.mean_error) > MOST_ERROR]
    if far:
        sys.exit(f"the costs of {', '.join(far)} stay far from what is executed: see kernels/a65/cost/features.py")
    how = made()
    PATH.write_text(toml(fits, how), "utf-8")
    LOOPS_PATH.write_text("\n".join([*head("Inner loops", how), "", "[loops]", *rows, ""]), "utf-8")
    print(f"written: {PATH.name} with {sum(len(found.costs) for found in fits.values())} steps")
    print(f"written: {LOOPS_PATH.name} with {len(rows)} loops")


if __name__ == "__main__":
    main()
