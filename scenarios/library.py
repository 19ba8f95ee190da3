"""The library: loads a scenario by path, or by its name in the catalogue that ships with the package."""

from collections.abc import Sequence
from pathlib import Path

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.overrides import apply
from tessbed.scenarios.format.texts import find, read_text
from tessbed.scenarios.format.toml_source import Source, parse_toml
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.shipped import catalogue

__all__ = ["catalogue", "find", "load", "read_source", "read_text"]


def load(name: str, settings: Sequence[str] = (), seed: int | None = None, *, to_run: bool = True) -> Scenario:
    """The scenario of a path or catalogue name, with overrides. Raises ScenarioError with every error at once.

    Input files are relative to the scenario file; to the folder that we run in, where it comes from standard input.
    What only a run needs is asked for only where the scenario is `to_run`, as `compose` says.
    """
    source, folder = read_source(name)
    return compose(apply(source, settings, seed), folder, to_run=to_run)


def read_source(name: str) -> tuple[Source, Path]:
    """What `load` starts from: the values of the file, and the folder of its input files. Raises likewise."""
    path = find(name)
    return parse_toml(read_text(path, name), name if path == Path(name) else str(path)), path.parent
