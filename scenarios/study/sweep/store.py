"""Store: results in SQLite by key, each batch one transaction, so that a sweep can be killed at any moment.

A row is believed only where its digest is that of its key, version and content, the version is this one, and the
content has the form of a result. Any other row is as if it were not there: it is computed again and replaced, and
`damaged` counts it. The file must be a database of results and nothing else; no link is followed to it, and nothing is
written into a file that belongs to somebody else.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from tessbed.scenarios.output.files import unusable
from tessbed.scenarios.study.sweep.point import Row, is_row

SCHEMA = """
create table if not exists results
    (key text primary key, version text not null, row text not null, digest text) without rowid
"""
FIRST_COLUMNS, COLUMNS = ["key", "version", "row"], ["key", "version", "row", "digest"]
"""Of a database of version 0.1.0, whose rows have no digest, and of one of this version."""
MOST_KEYS = 500
PATIENCE_S = 30
"""How long another program may hold the file."""
SAY_AFTER_S = 1
T = TypeVar("T")
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
JOURNALS = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-journal": (b"\xd9\xd5\x05\xf9", b"\0\0\0\0"),
    "-shm": (b"\x18\xe2\x2d\x00", b"\x00\x2d\xe2\x18", b"\0\0\0\0"),
}
"""The files beside a database that SQLite replays or deletes, and what they begin with."""


class Store:
    """An open database. Every method raises OSError where the file can not be used: foreign, damaged, full, held.

    `notice` hears that another program holds the file.
    """

    def __init__(self, path: Path, version: str, notice: Callable[[str], None] = lambda text: None) -> None:
        self.path, self.version, self.damaged = path, version, 0
        self._notice = notice
        problem = unusable(path) or _foreign_journal(path)
        if problem:
            raise self._unusable(problem)
        with self._reported():
            # An absolute name: ":memory:" is a file like any other. Waiting is done here, where Ctrl-C is heard.
            self._base = sqlite3.connect(path.absolute(), timeout=0, isolation_level=None)
        try:
            # Text is judged by its digest; no encoding may be in the way.
            self._base.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            with self._reported():
                self._patiently(self._open)
        except BaseException:
            self._base.close()
            raise

    def known(self, keys: Sequence[str]) -> dict[str, Row]:
        """The rows that are there already; one that is not to be believed is as if it were not there."""
        found: dict[str, Row] = {}
        for some in _parts(keys):
            with self._reported():
                rows = self._patiently(partial(self._some, some))
            for key, *kept in rows:
                row = _read(key, self.version, *kept)
                if row is None:
                    self.damaged += 1
                else:
                    found[key] = row
        return found

    def count(self, keys: Sequence[str]) -> int | None:
        """How many of these have a row to be believed. None where the file is held at the moment: this never waits."""
        try:
            rows = [row for some in _parts(keys) for row in self._some(some)]
        except sqlite3.Error:
            return None
        return sum(_read(key, self.version, *kept) is not None for key, *kept in rows)

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Keep the rows of a batch, all or none; without those that may end otherwise at another try."""
        texts = [(key, json.dumps(row)) for key, row in rows if not row.get("passing")]
        kept = [(key, self.version, text, digest(key, self.version, text)) for key, text in texts]
        if kept:
            with self._reported():
                self._patiently(lambda: self._insert(kept))

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def _open(self) -> None:
        """Make the table, or look at the one that is there; nothing is written into somebody else's database."""
        master = "select name, type from sqlite_master where name not like 'sqlite\\_%' escape '\\' order by name"
        for name, what in self._base.execute(master).fetchall():
            if (name, what) != ("results", "table"):
                raise sqlite3.DatabaseError(f"it has the {what} {name!r}, which is not a table of results")
        for pragma in ("application_id", "user_version"):
            ((number,),) = self._base.execute(f"pragma {pragma}").fetchall()
            if number:
                raise sqlite3.DatabaseError(f"its {pragma} is {number}, so it is another program's")
        columns = [column for _, column, *_ in self._base.execute("pragma table_info(results)").fetchall()]
        if columns not in ([], FIRST_COLUMNS, COLUMNS):
            raise sqlite3.DatabaseError(f"its table of results has the columns {', '.join(columns)}")
        self._base.execute("pragma journal_mode = wal")
        self._base.execute("pragma synchronous = normal")
        with self._transaction():
            self._base.execute(SCHEMA)
            if "digest" not in [column for _, column, *_ in self._base.execute("pragma table_info(results)")]:
                self._base.execute("alter table results add column digest text")

    def _insert(self, kept: Sequence[tuple[str, str, str, str]]) -> None:
        with self._transaction():
            self._base.executemany(
                "insert or replace into results (key, version, row, digest) values (?, ?, ?, ?)", kept
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, an interrupt included."""
        self._base.execute("begin immediate")
        try:
            yield
            self._base.execute("commit")
        finally:
            if self._base.in_transaction:
                self._base.execute("rollback")

    def _some(self, keys: Sequence[str]) -> list[tuple[Any, ...]]:
        marks = ",".join("?" * len(keys))
        return self._base.execute(
            f"select key, version, row, digest from results where key in ({marks})", keys
        ).fetchall()

    def _patiently(self, action: Callable[[], T]) -> T:
        """The result of `action`, tried again while another program holds the file, for PATIENCE_S at most."""
        began, said = monotonic(), False
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                waited = monotonic() - began
                if error.sqlite_errorcode & 0xFF not in BUSY or waited >= PATIENCE_S:
                    raise
            if waited >= SAY_AFTER_S and not said:
                said = True
                self._notice(f"another program holds {self.path}: waiting for it, {PATIENCE_S} s at most")
            sleep(0.05)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._unusable(str(error)) from None

    def _unusable(self, why: str) -> OSError:
        text = f"can not be used as a database of results: {why}; --db names another one"
        return OSError(0, text, str(self.path))


def _parts(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[first : first + MOST_KEYS] for first in range(0, len(keys), MOST_KEYS))


def digest(key: str, version: str, row: str) -> str:
    """The SHA-256 that a row is kept with: of its key, its version and its content."""
    parts = (part.encode("utf-8", "surrogateescape") for part in (key, version, row))
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).hexdigest()


def _read(key: Any, wanted: str, version: Any, text: Any, said: Any) -> Row | None:
    """The row, or None where it is not to be believed."""
    if not all(isinstance(value, str) for value in (key, version, text, said)):
        return None
    if version != wanted or said != digest(key, version, text):
        return None
    try:
        row = json.loads(text)
        json.dumps(row, ensure_ascii=False).encode()  # half a surrogate can be written nowhere
    except (ValueError, RecursionError):
        return None
    return row if is_row(row) else None


def _foreign_journal(path: Path) -> str | None:
    """Why a file beside the database, which SQLite would replay or delete, is none of its own; None where all are."""
    for suffix, starts in JOURNALS.items():
        beside = path.with_name(f"{path.name}{suffix}")
        problem = unusable(beside)
        if problem is None and beside.exists():
            with beside.open("rb") as file:
                start = file.read(4)
            problem = "is not a journal of a database" if start and start not in starts else None
        if problem:
            return f"{beside.name}: {problem}"
    return None
