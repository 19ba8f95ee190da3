"""The table of mutants: one TOML file for each package, a row for each mutant.

A row holds its `name`, the `file` that it changes, the `old` text, which occurs there exactly once, the `new` text,
what it `breaks` in one clause, and the `tests` that must catch it.
"""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
TABLES = Path(__file__).parent / "tables"
C_SOURCES = (".c", ".h")


@attrs.frozen
class Mutant:
    """One row."""

    name: str
    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...] = attrs.field(converter=tuple)

    @property
    def in_c(self) -> bool:
        """Whether the extensions must be built again."""
        return self.file.endswith(C_SOURCES)

    def fits(self, pattern: str) -> bool:
        """Whether a shell pattern fits its name or its file."""
        return fnmatch(self.name, pattern) or fnmatch(self.file, pattern)

    def found(self, root: Path) -> int:
        """How many times the old text occurs in the file below `root`; 0 where there is no such file."""
        path = root / self.file
        return path.read_text(encoding="utf-8").count(self.old) if path.is_file() else 0


def read_table(folder: Path = TABLES) -> list[Mutant]:
    """Every row, by package, in the order of its file."""
    return [
        Mutant(**row)
        for path in sorted(folder.glob("*.toml"))
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    ]
