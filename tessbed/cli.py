"""The command line: one table of verbs; a verb's module is imported when it runs.

`tessbed --version` and `tessbed --help` need nothing but this table. To add a verb: a module in `tessbed/verbs` with a
click command named `command`, and one line here. What an exit code means stands in `tessbed/verbs/exits.py`.
"""

import sys
from collections.abc import Sequence
from typing import NoReturn

# verb: (module with its click `command`, what it does)
VERBS = {
    "run": ("tessbed.verbs.run", "run a scenario on its backends and check every byte"),
    "list": ("tessbed.verbs.list", "list the scenarios and the drills that ship with tessbed"),
    "show": ("tessbed.verbs.show", "show what a scenario asks for, and what it comes down to"),
    "validate": ("tessbed.verbs.validate", "check scenario files without running them"),
    "encode": ("tessbed.verbs.encode", "write the relocatable packets of a scenario's EV74 jobs"),
    "disasm": ("tessbed.verbs.disasm", "show packets field by field"),
    "diff": ("tessbed.verbs.diff", "compare two packets field by field"),
    "verify": ("tessbed.verbs.verify", "judge packets as the firmware would; --census flips every bit"),
    "drill": ("tessbed.verbs.drill", "make a mistake from the field again, and read the diagnosis"),
    "explore": ("tessbed.verbs.explore", "run jobs in many legal orders, or in all; shrink what goes wrong"),
    "soak": ("tessbed.verbs.soak", "run many random jobs with faults, and draw the balance"),
    "explain": ("tessbed.verbs.explain", "tell where every tick of an EV74 job went"),
    "bound": ("tessbed.verbs.bound", "print certified lower bounds of an EV74 job, and the gap to them"),
    "advise": ("tessbed.verbs.advise", "tell how many workers pay off, and why"),
    "whatif": ("tessbed.verbs.whatif", "re-run with each device parameter worse and better, ranked"),
    "compare": ("tessbed.verbs.compare", "tell which terms make the difference between two runs"),
    "sweep": ("tessbed.verbs.sweep", "time thousands of configurations in parallel; resumes"),
    "search": ("tessbed.verbs.search", "search a large space for the configuration with the fewest ticks"),
    "bench": ("tessbed.verbs.bench", "measure the A65 rows beside plain copies and plain numpy"),
    "doctor": ("tessbed.verbs.doctor", "tell what is installed, and what of it runs in C"),
}
USAGE = "usage: tessbed VERB [ARGUMENTS]      tessbed VERB --help      tessbed --version"


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The console script: runs one verb and leaves with its exit code."""
    sys.exit(_main(list(sys.argv[1:] if argv is None else argv)))


def _main(arguments: list[str]) -> int:
    verb = arguments[0] if arguments else "--help"
    if verb == "--version":
        from tessbed import __version__

        print(f"tessbed {__version__}")
        return 0
    if verb in ("--help", "-h", "help"):
        print(_help())
        return 0
    if verb not in VERBS:
        return _unknown(verb)
    from tessbed.verbs.exits import call

    return call(VERBS[verb][0], f"tessbed {verb}", arguments[1:])


def _help() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {what}" for verb, (_, what) in VERBS.items()]
    title = "Tessbed simulates the tile re-layout kernels of an edge-AI chip: exact bytes, exact model ticks."
    return "\n".join([title, "", USAGE, "", *lines, "", "Start with: tessbed list"])


def _unknown(verb: str) -> int:
    import difflib

    close = difflib.get_close_matches(verb, VERBS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"wanted one of {', '.join(VERBS)}"
    print(f"{USAGE}\nerror: got the verb {verb!r}; {hint}", file=sys.stderr)
    return 2
