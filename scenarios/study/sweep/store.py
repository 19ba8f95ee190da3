"""Store: results in SQLite by key. A batch is one transaction, so that a sweep can be killed at any moment."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tessbed.scenarios.study.sweep.point import Row

SCHEMA = """
create table if not exists results (key text primary key, version text not null, row text not null) without rowid
"""
ASKED = 500
PATIENCE_S = 30
"""How long another program may hold the file."""


class Store:
    """An open database. Every method raises OSError where the file can not be used: foreign, damaged, full, held."""

    def __init__(self, path: Path, version: str) -> None:
        self.path, self.version = path, version
        with self._told():
            self._base = sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=None)
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = normal")
            self._base.execute(SCHEMA)
            self._base.execute("select key, version, row from results limit 0")

    def known(self, keys: Sequence[str]) -> dict[str, Row]:
        """The rows that are there already; one that is no result is as if it were not there."""
        found: dict[str, Row] = {}
        for first in range(0, len(keys), ASKED):
            some = keys[first : first + ASKED]
            marks = ",".join("?" * len(some))
            with self._told():
                rows = self._base.execute(f"select key, row from results where key in ({marks})", some).fetchall()
            found |= {key: row for key, text in rows if (row := _read(text))}
        return found

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Keep the rows of a batch, all or none; without those that may end otherwise at another try."""
        with self._told():
            self._base.execute("begin immediate")
            self._base.executemany(
                "insert or replace into results values (?, ?, ?)",
                [(key, self.version, json.dumps(row)) for key, row in rows if not row.get("passing")],
            )
            self._base.execute("commit")

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            text = f"can not be used as a database of results: {error}; --db names another one"
            raise OSError(0, text, str(self.path)) from None


def _read(text: str) -> Row | None:
    try:
        row = json.loads(text)
    except ValueError:
        return None
    return row if isinstance(row, dict) and not {"device_ticks", "error"}.isdisjoint(row) else None
