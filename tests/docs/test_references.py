"""References: what is between backquotes in docstrings, comments and pages exists in the code by that name.

A name is known where the code of the product, of a test or of a scenario has it; `module.name` where some module of
that name defines it or some code uses it so; a path where the file is there. Pages may name what a packet, a run folder
or the outside world holds: EXTERNAL and KEYS have those.
"""

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import attrs
import pytest

from tessbed.kernels.ev74.fields import FIELDS
from tessbed.kernels.operations import OPERATIONS
from tests.docs.quoted import ROOT

FOLDERS = ("kernels", "sim", "firmware_models", "runtime", "scenarios", "tessbed", "tests", "docs")
PYTHON = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if ".venv" not in path.parts]
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.[ch]"))]
TABLES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.toml"))]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "tests").rglob("*.md"))]
HISTORY = ROOT / "CHANGELOG.md"  # it names what was there at the time

LEFT_OUT = re.compile(r"^```.*?^```|^<!-- names of others -->.*?<!-- end of names -->", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*-]*/[\w./*-]*|[\w-]+\.(?:py|md|toml|c|h|tsv|json)")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")
IN_A_RUN_FOLDER = {
    "run.json", "scenario.toml", "scenario.sha256", "stats.json", "report.md",
    "inputs/", "outputs/", "packets/", "transfers/",
}  # fmt: skip
EXAMPLES = {
    "Op.TESS", "complemented", "x.bin", "copy.py", "NAME.toml", "cN", "CN", "tessbed.NAME", "tessbed.PACKAGE",
    "module.name", "device.nope", "cameras.toml", "cameras.pftrace", "head.pftrace",
}  # fmt: skip
IN_A_CALIBRATION = {"setup.toml", "table.csv", "fit.json", "board/fit.json", "experiments/NAME.toml"}
OUTSIDE = {
    "tests/e2e_testing/tess_a65_vs_ev74_bench.cpp",
    "share/man/man1/tessbed.1",
    "/dev/stdin",
    "sha256sum",
    "pyright",
}
EXTERNAL = EXAMPLES | OUTSIDE | IN_A_RUN_FOLDER | IN_A_CALIBRATION
LIBRARIES = {"np", "numpy", "simpy", "concurrent", "core", "events"}  # the last two are SimPy's modules
KEYS = {
    "device",
    "firmware",
    "compute",
    "expect",
    "host",
    "load",
    "parts_ticks",
    "layout",
    "scenario",
}  # of scenarios and documents


class Passage(NamedTuple):
    """A docstring, a comment or a page."""

    file: Path
    line: int
    text: str


@attrs.define
class Names:
    """What the code has: words, and pairs (owner, name) of what a module or class defines or code looks up."""

    words: set[str] = attrs.field(factory=lambda: {*dir(builtins), *keyword.kwlist, *dir(float)})
    pairs: set[tuple[str, str]] = attrs.field(factory=lambda: {("float", name) for name in dir(float)})

    def learn(self, owner: str, tree: ast.AST) -> None:
        """Take what a module or class defines and what its code looks up."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                self.pairs.add((getattr(node.value, "attr", getattr(node.value, "id", "")), node.attr))
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.pairs.add((owner, node.name))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.pairs.add((owner, node.id))
            elif isinstance(node, ast.alias):
                self.pairs.add((owner, node.asname or node.name))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # what a package exports on first use
                self.pairs.add((owner, node.value))
            if isinstance(node, ast.ClassDef) and node.name != owner:
                self.learn(node.name, node)

    def has(self, name: str) -> bool:
        """Whether the code has the name, with each of its owners."""
        parts = name.removesuffix("()").removeprefix("tessbed.").split(".")
        if parts[0] in LIBRARIES:
            return True
        pairs = pairwise(parts)
        return {*parts} <= self.words and (parts[0] in KEYS or all(map(self.defines, pairs)))

    def defines(self, pair: tuple[str, str]) -> bool:
        """Whether the owner has the name, or a class does that ends so: `port.flat`, where KernelPort has `flat`."""
        owner, name = pair
        return pair in self.pairs or any(
            other == name and owner.islower() and its.lower().endswith(owner) for its, other in self.pairs
        )


def passages_of(path: Path, names: Names) -> Iterator[Passage]:
    """The docstrings and comments of a module; its other tokens go into `names`."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    names.learn(path.parent.name if path.stem == "__init__" else path.stem, tree)
    docstrings = {
        node.value.lineno: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    yield from (Passage(path, line, docstring) for line, docstring in docstrings.items())
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Passage(path, token.start[0], token.string)
        elif token.start[0] not in docstrings or token.type == tokenize.NAME:
            names.words.update(re.findall(r"\w+", token.string))


def surroundings(names: Names) -> Iterator[Passage]:
    """The pages, without their examples and the names of other software; into `names` go those of files, packages,
    packet fields and operations.
    """
    for path in (*PYTHON, *SOURCES, *TABLES, *PAGES):
        parts = [*path.relative_to(ROOT).with_suffix("").parts]
        names.words.update(parts)
        names.pairs.update(pairwise(parts))
    for path in (*SOURCES, *TABLES):
        names.words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    names.words.update(field.name for field in FIELDS)
    names.pairs.update((package, op) for package in ("ops", "a65", "ev74") for op in OPERATIONS)
    for path in PAGES:
        if path != HISTORY:
            text = LEFT_OUT.sub(lambda found: "\n" * found[0].count("\n"), path.read_text())
            yield Passage(path, 1, text)


def there(path: str, near: Path) -> bool:
    """Whether a path is one of a file or folder: from the root, from docs/, or beside the one that names it."""
    name = path.strip("/")
    if any(next(base.glob(name), None) is not None for base in (ROOT, ROOT / "docs", near)):
        return True
    return any(file.name == path for file in (*PYTHON, *SOURCES, *TABLES, *PAGES))


def known(reference: str, near: Path, names: Names) -> bool:
    """Whether what is between backquotes is there, or is neither a path nor a name."""
    if reference in EXTERNAL:
        return True
    if PATH.fullmatch(reference) and reference.strip("/"):
        return there(reference, near)
    return not NAME.fullmatch(reference) or names.has(reference)


def unknown() -> list[str]:
    """Every reference to what is not there, as file:line: reference."""
    names = Names()
    passages = [*surroundings(names), *(passage for path in PYTHON for passage in passages_of(path, names))]
    return [
        f"{file.relative_to(ROOT)}:{line + text.count(chr(10), 0, found.start())}: {found[1]}"
        for file, line, text in passages
        for found in QUOTED.finditer(text)
        if not known(found[1], file.parent, names)
    ]


def test_every_reference_is_to_something() -> None:
    """No docstring, comment or page names a module, a function or a file that is not there any more."""
    assert unknown() == []


@pytest.mark.parametrize("reference", ["spans.conflicts", "sim/clock.py", "PreparedJobs", "Footprint.meets"])
def test_what_is_not_there_is_unknown(reference: str) -> None:
    """Names of modules that were, with a name that is there; a file, and a class, that never were."""
    names = Names()
    names.learn("address_ranges", ast.parse("class DrainFootprint:\n def meets(self): ...\ndef conflicts(spans): ..."))
    names.words |= {"spans", "conflicts", "Footprint", "meets", "address_ranges"}
    assert names.has("address_ranges.conflicts")
    assert not known(reference, ROOT, names)
