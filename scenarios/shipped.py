"""Shipped files: the scenarios and failure cases that come with the package, by name; nothing is read."""

from pathlib import Path

HERE = Path(__file__).parent


def catalogue() -> dict[str, Path]:
    """The scenarios that ship with the package: file by name, sorted by name."""
    return _files(HERE / "catalogue")


def failure_cases() -> dict[str, Path]:
    """The failure cases that ship with the package, likewise."""
    return _files(HERE / "verification" / "failure_cases" / "shipped")


def _files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}
