"""The library: finds a scenario by path, or by its name in the catalogue that ships with the package."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from tessbed.scenarios.compose import compose
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.overrides import apply
from tessbed.scenarios.problems import Place, Problem, ScenarioError, nearest
from tessbed.scenarios.toml_source import parse


def catalogue() -> dict[str, Path]:
    """The scenarios that ship with the package: file by name, sorted by name."""
    folder = Path(str(resources.files("tessbed.scenarios") / "catalogue"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find(name: str) -> Path:
    """The file of a path or of a catalogue name. Raises ScenarioError with the nearest name."""
    path = Path(name)
    if path.is_file():
        return path
    known = catalogue()
    if name in known:
        return known[name]
    what = "is a folder, wanted a file" if path.is_dir() else "no such file, and no scenario of that name"
    raise ScenarioError([Problem(Place(name), f"{what}{_hint(name, path.stem, known)}")])


def _hint(name: str, stem: str, known: dict[str, Path]) -> str:
    from tessbed.scenarios.drills.format import drills

    if name in drills():
        return f"; it is a drill: tessbed drill {name}"
    return nearest(stem, known) or "; `tessbed list` shows the scenarios"


def read_text(path: Path, name: str) -> str:
    """The file as text. Raises ScenarioError where it can not be read."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ScenarioError([Problem(Place(name), f"can not be read: {error.strerror}")]) from None
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        text = f"got the byte {raw[error.start]:#04x}, wanted UTF-8 text: is this a scenario file?"
        raise ScenarioError([Problem(Place(name, line, column), text)]) from None


def load(name: str, settings: Sequence[str] = (), seed: int | None = None) -> Scenario:
    """The scenario of a path or catalogue name, with overrides. Raises ScenarioError with every mistake at once.

    Input files are relative to the scenario file.
    """
    path = find(name)
    source = parse(read_text(path, name), name if path == Path(name) else str(path))
    return compose(apply(source, settings, seed), path.parent)
