"""`make mutants`: plants each mutant of the table in a copy of the tree, and says whether its tests catch it.

Prints one line for each mutant, tab-separated: outcome, name, what caught it. Exit code 1 where one is not killed.
First the named tests run without any mutant: where they fail anyhow, no outcome would mean a thing.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.sandbox import Outcome, Sandbox
from tests.mutants.table import ROOT, Mutant, read_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = parser().parse_args(arguments)
    mutants = [mutant for mutant in read_table() if any(map(mutant.fits, options.only or ["*"]))]
    if not mutants:
        print(f"no mutant fits {options.only}; names are in tests/mutants/tables", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        boxes = [Sandbox.of(ROOT, Path(folder) / str(number), options.timeout) for number in range(options.jobs)]
        if not options.unchecked and not passes(boxes[0], mutants):
            return 2
        outcomes = [shown(mutant, outcome) for mutant, outcome in outcomes_of(boxes, mutants)]
    print(f"{sum(outcome.good for outcome in outcomes)} of {len(outcomes)} mutants killed", file=sys.stderr)
    return 0 if all(outcome.good for outcome in outcomes) else 1


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="python -m tests.mutants", description=str(__doc__).splitlines()[0])
    options.add_argument("--only", metavar="PATTERN", action="append", help="names or files, as a shell pattern")
    options.add_argument("-j", "--jobs", type=int, default=1, help="copies of the tree at work (default: 1)")
    options.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="for one mutant's tests")
    options.add_argument("--unchecked", action="store_true", help="leave out the run without a mutant")
    return options


def passes(box: Sandbox, mutants: Sequence[Mutant]) -> bool:
    """Whether all named tests pass without a mutant."""
    outcome = box.run_tests(tuple(dict.fromkeys(test for mutant in mutants for test in mutant.tests)))
    if outcome.word != "survived":
        print(f"without a mutant the tests do not pass: {outcome.detail}; correct that first", file=sys.stderr)
    return outcome.word == "survived"


def outcomes_of(boxes: Sequence[Sandbox], mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, Outcome]]:
    """The outcome of each mutant, in the order of the table."""
    idle: SimpleQueue[Sandbox] = SimpleQueue()
    for box in boxes:
        idle.put(box)

    def tried(mutant: Mutant) -> Outcome:
        box = idle.get()
        try:
            return box.try_mutant(mutant)
        finally:
            idle.put(box)

    with ThreadPoolExecutor(len(boxes)) as pool:
        yield from zip(mutants, pool.map(tried, mutants), strict=True)


def shown(mutant: Mutant, outcome: Outcome) -> Outcome:
    """Print a outcome."""
    print(outcome.word, mutant.name, outcome.detail, sep="\t", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
