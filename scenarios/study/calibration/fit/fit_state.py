"""Fit state: what of a fit is done, in a file; the same fit goes on from it, and any other begins anew."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from tessbed.scenarios.output.files import replacing

Result = dict[str, Any]


@attrs.define
class FitState:
    """The results of a fit's tasks by their names.

    `key` is a hash of all that they depend on. A `path` of None keeps nothing.
    """

    path: Path | None
    key: str
    results: dict[str, Result] = attrs.field(factory=dict)

    @classmethod
    def open(cls, path: Path | None, key: str) -> "FitState":
        """The state in a file where it is of this fit; else an empty one, whose first result replaces the file."""
        state = cls(path, key)
        if path is not None and path.is_file():
            state.results = _read(path, key)
        return state

    def known(self, names: Iterable[str]) -> dict[str, Result]:
        """The results that are there."""
        return {name: self.results[name] for name in names if name in self.results}

    def add(self, name: str, result: Result) -> None:
        """Keep a result, at once in the file, which is whole at any moment."""
        self.results[name] = result
        if self.path is not None:
            document = {"schema_version": 1, "key": self.key, "results": self.results}
            with replacing(self.path) as part:
                part.write_text(json.dumps(document))

    def forget(self) -> None:
        """Remove the file: the fit is over."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _read(path: Path, key: str) -> dict[str, Result]:
    """The results of a file of this fit; none of anything else."""
    try:
        document: Mapping[str, Any] = json.loads(path.read_text())
        results = document["results"] if document["key"] == key else {}
        return {str(name): dict(result) for name, result in results.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
