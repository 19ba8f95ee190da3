"""The library: loads a scenario by path, or by its name in the catalogue that ships with the package."""

from collections.abc import Sequence
from pathlib import Path

from tessbed.kernels.custom.loading import parse_reference, registered_names
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.overrides import apply
from tessbed.scenarios.format.texts import STDIN, find, is_text, read_text
from tessbed.scenarios.format.toml_source import Source, parse_toml
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.shipped import catalogue

__all__ = ["catalogue", "find", "load", "read_source", "read_text", "stem_of"]


def load(name: str, settings: Sequence[str] = (), seed: int | None = None, *, to_run: bool = True) -> Scenario:
    """The scenario of a path or catalogue name, with overrides. Raises ScenarioError with every error at once.

    Input files are relative to the scenario file; to the folder that we run in, where it comes from standard input.
    What only a run needs is asked for only where the scenario is `to_run`, as `compose` says.
    """
    source, folder = read_source(name)
    return compose(apply(source, settings, seed), folder, to_run=to_run)


def kernel_source(name: str) -> Source | None:
    """The scenario of one job that a reference to a kernel is; None where `name` is none. Loads no kernel.

    Raises ScenarioError for a file of Python without the kernel's name.
    """
    if (is_text(name) and not name.endswith(".py")) or name in catalogue():
        return None
    if name.endswith(".py"):
        raise ScenarioError([Problem(Location(name), f"wanted the name of a kernel in it, as in {name}:copy", "usage")])
    if parse_reference(name, Path()) is None and name not in registered_names():
        return None
    values = {"name": name, "jobs": [{"name": name.rpartition(":")[2], "kernel": name}]}
    return Source(name, values, {}, {(): Location(name)})


def stem_of(name: str) -> str:
    """A short name for what `name` means: of a file without its ending, of a folder, of a kernel, of standard input.

    Raises ScenarioError.
    """
    if kernel_source(name) is not None:
        return name.rpartition(":")[2]
    if name == STDIN:
        return "stdin"
    path = find(name)
    return Path(name).resolve().name if path.parent == Path(name) else path.stem


def read_source(name: str) -> tuple[Source, Path]:
    """What `load` starts from: the values of the file, and the folder of its input files. Raises likewise."""
    if (kernel := kernel_source(name)) is not None:
        return kernel, Path()
    path = find(name)
    return parse_toml(read_text(path, name), name if path == Path(name) else str(path)), path.parent
