"""Store: results in SQLite by key. A batch is one transaction, so that a sweep can be killed at any moment."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from tessbed.scenarios.study.sweep.point import Row

SCHEMA = """
create table if not exists results (key text primary key, version text not null, row text not null) without rowid
"""
ASKED = 500


class Store:
    """An open database. Raises OSError where the file can not be used."""

    def __init__(self, path: Path, version: str) -> None:
        self.path, self.version = path, version
        try:
            self._base = sqlite3.connect(path, isolation_level=None)
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = normal")
            self._base.execute(SCHEMA)
        except sqlite3.Error as error:
            raise OSError(0, f"can not be used as a database of results: {error}", str(path)) from None

    def known(self, keys: Sequence[str]) -> dict[str, Row]:
        """The rows that are there already."""
        found: dict[str, Row] = {}
        for first in range(0, len(keys), ASKED):
            some = keys[first : first + ASKED]
            marks = ",".join("?" * len(some))
            rows = self._base.execute(f"select key, row from results where key in ({marks})", some)
            found |= {key: json.loads(row) for key, row in rows}
        return found

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Keep the rows of a batch, all or none; without those that may end otherwise at another try."""
        self._base.execute("begin immediate")
        self._base.executemany(
            "insert or replace into results values (?, ?, ?)",
            [(key, self.version, json.dumps(row)) for key, row in rows if not row.get("passing")],
        )
        self._base.execute("commit")

    def close(self) -> None:
        """Close the file."""
        self._base.close()
