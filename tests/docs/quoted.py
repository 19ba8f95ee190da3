"""Quoted output: a page of Markdown with every output that it shows replaced by what its examples really print.

A `python` block runs, all of a page in one namespace; a `text` block right behind it holds what it prints. A `console`
block has commands behind `$ `, each followed by what it prints. A `toml` or `python` block that begins with `# file:
NAME` is that file. The examples of a page share one folder, with `examples/` in it.

Every page with an example is such a page, unless something else runs its examples. What the clock of this machine says
is written as one time: the seconds behind pytest's counts.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.cli import forks

ROOT = Path(__file__).resolve().parents[2]
RENEWED = ("docs/scenario.md", "docs/study.md", "docs/load.md")
"""Pages whose examples `tessbed.scenarios.docs` runs."""
EXAMPLE = re.compile(r"^```(?:python|console)\n", re.MULTILINE)
PAGES = tuple(
    path
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    if EXAMPLE.search(path.read_text()) and path.relative_to(ROOT).as_posix() not in RENEWED
)
"""Every other page with an example: a page can not have one that nothing runs."""
BLOCK = re.compile(r"^```(python|console|text|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

SECONDS = re.compile(r"(?<=passed in |failed in )\d+\.\d\ds\b(?: \(.*\))?")

# Commands that set something up first: here they are equivalent to what remains when all is set up.
EQUIVALENT = {"make demo": "tessbed run yolov8n-heads-bf16"}


def refreshed(path: Path) -> str:
    """The text of the page with fresh output. Whatever an example raises passes through."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("examples").symlink_to(ROOT / "examples")
        return Page(path).refreshed()


class Page:
    """A page under way: what its Python blocks have defined, and what the last of them printed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()
        self.namespace: dict[str, Any] = {"__name__": "page"}
        self.printed = ""
        self.printed_at = -1

    def refreshed(self) -> str:
        """The page with fresh output."""
        return BLOCK.sub(self._block, self.text)

    def _block(self, match: re.Match[str]) -> str:
        kind, body = match.groups()
        if body.startswith("# file: "):
            Path(body.splitlines()[0].removeprefix("# file: ")).write_text(body)
        elif kind == "python":
            self.printed, self.printed_at = self._run(body, match), match.end()
        elif kind == "console":
            body = "".join(_answered(line[2:]) for line in body.splitlines() if line.startswith("$ "))
        elif kind == "text" and not self.text[self.printed_at : match.start()].strip() and self.printed_at >= 0:
            body = self.printed
        return f"```{kind}\n{body}```"

    def _run(self, code: str, match: re.Match[str]) -> str:
        """What the code prints. Blank lines before it put its line numbers right in a traceback."""
        lines_before = self.text.count("\n", 0, match.start()) + 1
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile("\n" * lines_before + code, str(self.path), "exec"), self.namespace)
        return output.getvalue()


def _answered(command: str) -> str:
    """The command behind its prompt, and what it prints, on both streams."""
    line = EQUIVALENT.get(command, command)
    words = forks.words_of(line)
    printed = _by_a_shell(line) if words is None else forks.merged(*words, folder=Path.cwd())
    lines = [line.rstrip() for line in SECONDS.sub("1.00s", printed.strip("\n")).splitlines()]
    return "\n".join([f"$ {command}", *lines, ""])


def _by_a_shell(line: str) -> str:
    python = shlex.quote(sys.executable)
    functions = "".join(f'{name}() {{ {python} -m {name} "$@"; }}; ' for name in ("tessbed", "pytest"))
    done = subprocess.run(
        ["/bin/sh", "-c", functions + line], env=forks.environment() | {"NO_COLOR": "1", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return done.stdout
