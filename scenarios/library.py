"""The library: finds a scenario by path, or by its name in the catalogue that ships with the package.

`-` is standard input.
"""

from collections.abc import Sequence
from pathlib import Path

from tessbed.scenarios.compose import compose
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.overrides import apply
from tessbed.scenarios.problems import Place, Problem, ScenarioError, nearest
from tessbed.scenarios.shipped import catalogue, drills
from tessbed.scenarios.texts import is_text, read_text
from tessbed.scenarios.toml_source import parse


def find(name: str) -> Path:
    """The file of a path or of a catalogue name; `-` is itself. Raises ScenarioError with the nearest name."""
    path = Path(name)
    if is_text(name):
        return path
    known = catalogue()
    if name in known:
        return known[name]
    what = "is a folder, wanted a file" if path.is_dir() else "no such file, and no scenario of that name"
    raise ScenarioError([Problem(Place(name), f"{what}{_hint(name, path.stem, known)}", "no_such_file")])


def _hint(name: str, stem: str, known: dict[str, Path]) -> str:
    if name in drills():
        return f"; it is a drill: tessbed drill {name}"
    return nearest(stem, known) or "; `tessbed list` shows the scenarios"


def load(name: str, settings: Sequence[str] = (), seed: int | None = None) -> Scenario:
    """The scenario of a path or catalogue name, with overrides. Raises ScenarioError with every mistake at once.

    Input files are relative to the scenario file; to the folder that we run in, where it comes from standard input.
    """
    path = find(name)
    source = parse(read_text(path, name), name if path == Path(name) else str(path))
    return compose(apply(source, settings, seed), path.parent)
