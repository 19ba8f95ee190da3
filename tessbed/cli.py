"""The command line's entry: only the standard library's `sys` is imported before Ctrl-C is handled."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main(argv: "Sequence[str] | None" = None) -> "NoReturn":
    """The console script: runs one command and leaves with its exit code."""
    from tessbed.commands import interrupts

    restore = interrupts.leave_at_once()
    try:
        from tessbed.commands.exits import run

        code = run(list(sys.argv[1:] if argv is None else argv))
    finally:
        if argv is not None:  # somebody's own process goes on after us
            restore()
    sys.exit(code)
