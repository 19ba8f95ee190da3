"""Preset packages: the presets that installed packages bring, found without executing anything of them.

An entry point of the group `tessbed.presets` names a package; the preset is the file NAME.toml inside it:

    [project.entry-points."tessbed.presets"]
    mychip = "mychip_devices"          # mychip_devices/mychip.toml
"""

from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "tessbed.presets"


@attrs.frozen
class PackagePreset:
    """A preset of an installed package: its name, the package that the entry point names, and where its file belongs.

    `path` is None where the package can not be found.
    """

    name: str
    package: str
    path: Path | None

    @property
    def problem(self) -> str | None:
        """Why it can not be read, in words; None where its file is there."""
        if self.path is None:
            return f"the package {self.package}, which the entry point names, is not there"
        return None if self.path.is_file() else f"the package {self.package} has no file {self.path.name}"


def package_presets() -> dict[str, PackagePreset]:
    """The presets of all installed packages by name, sorted; of two with one name, that of the first package."""
    from importlib.metadata import entry_points  # with a parser of e-mail: a twentieth of the start of a command

    found: dict[str, PackagePreset] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        found.setdefault(entry.name, _located(entry))
    return found


def _located(entry: "EntryPoint") -> PackagePreset:
    package = entry.value.partition(":")[0].strip()
    top, *inner = package.split(".")
    spec = _spec(top)
    roots = list(spec.submodule_search_locations or ()) if spec else []
    files = [Path(root, *inner, f"{entry.name}.toml") for root in roots]
    return PackagePreset(entry.name, package, next((path for path in files if path.is_file()), next(iter(files), None)))


def _spec(top: str) -> ModuleSpec | None:
    """Where a package at the top is; looking for one below another would import that other."""
    try:
        return find_spec(top)
    except (ImportError, ValueError):
        return None
