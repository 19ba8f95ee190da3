"""The database of a sweep's results: what it holds, and files that it can not be."""

import json
import sqlite3

import pytest

from tessbed.scenarios.study.sweep import store as module
from tessbed.scenarios.study.sweep.store import Store

ROW = {"device_ticks": 7}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.sqlite"


def kept(path, rows=(("a", ROW),)) -> None:
    """A database with rows."""
    store = Store(path, "1")
    store.add(rows)
    store.close()


def damaged(path) -> None:
    """The header stands, the pages behind it do not."""
    kept(path, [(f"key {n}", ROW) for n in range(1000)])
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))


def foreign(path) -> None:
    """Somebody else's table of that name."""
    with sqlite3.connect(path) as base:
        base.execute("create table results (name text, score int)")


UNUSABLE = {
    "no database": lambda path: path.write_bytes(b"no database at all " * 500),
    "damaged": damaged,
    "foreign": foreign,
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("make", UNUSABLE.values(), ids=UNUSABLE)
def test_a_file_that_is_no_database_of_results(make, path) -> None:
    """It is told as the file's trouble, with a way out, and not as a bug of ours."""
    make(path)
    with pytest.raises(OSError, match=r"can not be used as a database of results: .*; --db names another one") as told:
        Store(path, "1").known(["a"])
    assert told.value.filename == str(path)


def test_a_file_that_another_program_holds(path, monkeypatch) -> None:
    """After the patience is over the file is told to be locked, and nothing is lost."""
    monkeypatch.setattr(module, "PATIENCE_S", 0)
    kept(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    mine = Store(path, "1")
    with pytest.raises(OSError, match="database is locked"):
        mine.add([("b", ROW)])
    other.execute("rollback")
    mine.add([("b", ROW)])
    assert mine.known(["a", "b"]) == {"a": ROW, "b": ROW}


def test_a_full_disk(path) -> None:
    """It is told, what was kept before is still there, and more can be kept when there is room."""
    kept(path)
    mine = Store(path, "1")
    mine._base.execute("pragma max_page_count = 3")
    with pytest.raises(OSError, match="database or disk is full"):
        mine.add([(f"key {n}", ROW) for n in range(1000)])
    mine.close()
    again = Store(path, "1")
    assert again.known(["a", "key 0"]) == {"a": ROW}
    again.add([("key 0", ROW)])
    assert again.known(["key 0"]) == {"key 0": ROW}


@pytest.mark.parametrize("text", ["{oops", "[1]", "7", "{}", '{"jobs": {}}'])
def test_a_row_that_is_no_result_is_made_again(text, path) -> None:
    """It is as if it were not there; a row with ticks or an error is."""
    kept(path)
    with sqlite3.connect(path) as base:
        base.executemany(
            "insert into results values (?, '1', ?)", [("bad", text), ("good", json.dumps({"error": "why"}))]
        )
    assert Store(path, "1").known(["a", "bad", "good"]) == {"a": ROW, "good": {"error": "why"}}
