"""The database of a sweep's results: what it holds, and files that it can not be."""

import json
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tessbed.scenarios.study.sweep import store as module
from tessbed.scenarios.study.sweep.point import COUNTS, is_row
from tessbed.scenarios.study.sweep.store import Store, digest

ROW = {**dict.fromkeys(COUNTS, 1), "device_ticks": 7, "jobs": {"a": 3, "b": 4}, "engine": "exact"}
INSTEAD = {**ROW, "engine": "simpy", "instead": "job a has faults"}
ERROR = {"error": "why"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.sqlite"


def kept(path, rows=(("a", ROW),)) -> None:
    """A database with rows."""
    store = Store(path, "1")
    store.add(rows)
    store.close()


def damaged(path) -> None:
    """The header is intact, the pages behind it do not."""
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
    """It is reported as the file's trouble, with a way out, and not as a bug of ours."""
    make(path)
    with pytest.raises(
        OSError, match=r"can not be used as a database of results: .*; --db names another one"
    ) as reported:
        Store(path, "1").known(["a"])
    assert reported.value.filename == str(path)


def held(path):
    """A connection that has the file for itself."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    return other


def test_a_file_that_another_program_holds(path, monkeypatch) -> None:
    """After the patience is over the file is reported as locked, at once when it is opened; nothing is lost."""
    monkeypatch.setattr(module, "PATIENCE_S", 0)
    mine = Store(path, "1")
    mine.add([("a", ROW)])
    other = held(path)
    with pytest.raises(OSError, match="database is locked"):
        mine.add([("b", ROW)])
    with pytest.raises(OSError, match="database is locked"):
        Store(path, "1")
    assert mine.count(["a", "b"]) == 1
    other.execute("rollback")
    mine.add([("b", ROW)])
    assert mine.known(["a", "b"]) == {"a": ROW, "b": ROW}


def test_a_wait_is_said_once_and_ends_when_the_file_is_free(path, monkeypatch) -> None:
    """The notice names the file and the longest wait; a short wait is not worth a word."""
    said: list[str] = []
    mine = Store(path, "1", said.append)
    for say_after, wanted in ((60, 0), (0.1, 1)):
        monkeypatch.setattr(module, "SAY_AFTER_S", say_after)
        other = held(path)
        threading.Timer(0.4, other.execute, ["rollback"]).start()
        mine.add([("a", ROW)])
        assert len(said) == wanted
    assert said == [f"another program holds {path}: waiting for it, 30 s at most"]


def test_an_interrupt_ends_a_wait_and_a_transaction(path, monkeypatch) -> None:
    """The wait is ours, so Ctrl-C is heard; what was half kept is not kept, and the file is free."""

    def interrupt(seconds):
        raise KeyboardInterrupt

    mine = Store(path, "1")
    other = held(path)
    monkeypatch.setattr(module, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mine.add([("a", ROW)])
    other.execute("rollback")

    def rows():
        yield ("a", "1", "{}", "")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine._insert(rows())  # pyright: ignore[reportArgumentType]
    assert mine.count(["a"]) == 0
    held(path).execute("rollback")
    assert sqlite3.connect(path).execute("select count(*) from results").fetchone() == (0,)


def test_a_full_disk(path) -> None:
    """It is reported, what was kept before is still there, and more can be kept when there is room."""
    kept(path)
    mine = Store(path, "1")
    mine._base.execute("pragma max_page_count = 4")
    with pytest.raises(OSError, match="database or disk is full"):
        mine.add([(f"key {n}", ROW) for n in range(1000)])
    mine.close()
    again = Store(path, "1")
    assert again.known(["a", "key 0"]) == {"a": ROW}
    again.add([("key 0", ROW)])
    assert again.known(["key 0"]) == {"key 0": ROW}


def test_what_may_end_otherwise_is_not_kept(path) -> None:
    """An error of a run that was cut short is not in the file, whatever is kept of the same batch."""
    kept(path, [("cut", {**ERROR, "passing": True}), ("refused", ERROR), ("timed", ROW)])
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("select key from results order by key").fetchall() == [("refused",), ("timed",)]


FORMS = [  # what JSON can hold, and whether it is a row
    (ROW, True), (INSTEAD, True), (ERROR, True), ({**ROW, "jobs": {}, "device_ticks": 0}, True),
    ([1], False), (7, False), (None, False), ({}, False), ("x", False), ({"jobs": {}}, False),
    ({"device_ticks": 7}, False), ({"error": ""}, False), ({"error": None}, False),
    ({"error": ["x"]}, False), ({**ROW, "error": "why"}, False),
    ({**ERROR, "passing": True}, False), ({**ROW, "more": 1}, False), ({**ROW, "engine": "moon"}, False),
    ({**ROW, "engine": ["exact"]}, False), ({**ROW, "instead": 1}, False), ({**ROW, "instead": ""}, False),
    ({**ROW, "jobs": [7]}, False), ({**ROW, "jobs": {"a": 8}}, False), ({**ROW, "jobs": {"a": 8, "b": -1}}, False),
    ({**ROW, "jobs": {"a": "7"}}, False), ({**ROW, "jobs": {"a": 7.0}}, False), ({**ROW, "jobs": None}, False),
    *(({**ROW, name: wrong}, False) for name in COUNTS for wrong in (-1, 1.0, "1", None, True, [1], {}, 2**63)),
    *(({key: value for key, value in ROW.items() if key != name}, False) for name in ROW),
]  # fmt: skip


@pytest.mark.parametrize(("form", "good"), FORMS, ids=[json.dumps(form)[-60:] for form, _ in FORMS])
def test_the_form_of_a_row(form, good, path) -> None:
    """Every column has its type and range, none is missing or more; the store believes no other, digest or not."""
    assert is_row(form) is good
    kept(path, [])
    text = json.dumps(form)
    with sqlite3.connect(path) as base:
        base.execute("insert into results values ('k', '1', ?, ?)", [text, digest("k", "1", text)])
    store = Store(path, "1")
    assert store.known(["k"]) == ({"k": form} if good else {})
    assert store.damaged == (not good)


TEXTS = {  # what no `json.dumps` of a row makes
    "cut off": "{oops",
    "deep": "[" * 200_000,
    "a surrogate": '{"error": "\\ud800"}',
    "a surrogate for a name": json.dumps({**ROW, "jobs": {"\ud800": 7}}),
    "not a number": json.dumps(ROW).replace("7", "NaN"),
    "a long number": json.dumps(ROW).replace("7", "7" * 5000),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_that_is_no_row_though_its_digest_is_right(text, path) -> None:
    """Not even a forged row with its own digest ends in anything but a new computation."""
    kept(path, [])
    with sqlite3.connect(path) as base:
        base.execute("insert into results values ('k', '1', ?, ?)", [text, digest("k", "1", text)])
    store = Store(path, "1")
    assert (store.known(["k"]), store.damaged) == ({}, 1)


def altered(text: str) -> list[str | bytes | int | float | None]:
    """What a column may be changed to."""
    return [
        "", "x", text + " ", text[:-1], text.swapcase(), text.encode(), b"\xff\xfe", -1, 7, 1.5,
        text.replace("7", "-7"), text.replace("7", "8"), "[" * 5000, "\ud800".encode("utf-8", "surrogatepass"), "\0",
    ]  # fmt: skip


OTHER = json.dumps({**ROW, "transfers": 2})
CHANGES = [("row", value) for value in [*altered(json.dumps(ROW)), OTHER, json.dumps(ERROR), json.dumps(INSTEAD)]]
CHANGES += [("version", value) for value in [*altered("1"), "2", "0.1.0"] if value != "1"]
CHANGES += [("digest", value) for value in [*altered(digest("a", "1", json.dumps(ROW))), None]]
CHANGES += [("digest", digest("a", "1", OTHER)), ("digest", digest("b", "1", json.dumps(ROW)))]
CHANGES += [("digest", digest("a", "2", json.dumps(ROW)))]


@pytest.mark.parametrize(("column", "value"), CHANGES, ids=[f"{c} {str(v)[:24]!r}" for c, v in CHANGES])
def test_an_altered_row_is_as_if_it_were_not_there(column, value, path) -> None:
    """Whatever a column is changed to, the row is counted and computed again; others, and the new one, are believed."""
    kept(path, [("a", ROW), ("b", ERROR)])
    with sqlite3.connect(path) as base:
        before = base.execute(f"select {column} from results where key = 'a'").fetchone()
        # Bytes that are no UTF-8 as text, which SQLite takes; others as a blob of the right content.
        cast = "cast(? as text)" if isinstance(value, bytes) and value != before[0].encode() else "?"
        base.execute(f"update results set {column} = {cast} where key = 'a'", [value])
    store = Store(path, "1")
    assert (store.known(["a", "b"]), store.damaged, store.count(["a", "b"])) == ({"b": ERROR}, 1, 1)
    store.add([("a", ROW)])
    assert (store.known(["a", "b"]), store.damaged, store.count(["a", "b"])) == ({"a": ROW, "b": ERROR}, 1, 2)


def test_a_row_under_another_key_is_not_believed(path) -> None:
    """Neither a copy, nor two that were exchanged."""
    kept(path, [("a", ROW), ("b", ERROR)])
    with sqlite3.connect(path) as base:
        base.execute("insert into results select 'c', version, row, digest from results where key = 'a'")
        for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
            base.execute("update results set key = ? where key = ?", [new, old])
    store = Store(path, "1")
    assert (store.known(["a", "b", "c"]), store.damaged) == ({}, 3)


def test_rows_of_another_version_are_not_used(path) -> None:
    """Whole and with the digest of their own version; they are counted, and replaced when they are computed again."""
    kept(path, [("a", ROW)])
    later = Store(path, "2")
    assert (later.known(["a"]), later.damaged) == ({}, 1)
    later.add([("a", ERROR)])
    assert later.known(["a"]) == {"a": ERROR}
    assert Store(path, "1").known(["a"]) == {}


def test_a_database_of_the_first_version(path) -> None:
    """Its rows have no digest: they are not believed, nor lost, and new ones are kept beside them."""
    with sqlite3.connect(path) as base:
        base.execute("create table results (key text primary key, version text not null, row text not null)"
                     " without rowid")  # fmt: skip
        base.executemany("insert into results values (?, '1', ?)", [("a", json.dumps(ROW)), ("b", json.dumps(ROW))])
    store = Store(path, "1")
    assert (store.known(["a"]), store.damaged) == ({}, 1)
    store.add([("a", ROW)])
    assert store.known(["a", "b"]) == {"a": ROW}
    assert sqlite3.connect(path).execute("select count(*) from results").fetchone() == (2,)


def wal(path) -> None:
    """A file of the user's with the name of a journal."""
    path.with_name(f"{path.name}-wal").write_text("my notes")


def linked_wal(path) -> None:
    """A link with the name of a journal."""
    path.with_name("theirs").write_text("theirs")
    path.with_name(f"{path.name}-journal").symlink_to("theirs")


def beside(path) -> None:
    """A database with a table of somebody else's beside results."""
    kept(path)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("create table mine (x)")


def somebody_s(path) -> None:
    """A database that has nothing to do with this."""
    with sqlite3.connect(path) as base:
        base.execute("create table mine (x)")


def linked(path) -> None:
    """A link to a sound database."""
    kept(path.with_name("theirs"))
    path.symlink_to("theirs")


def protected(path) -> None:
    """A sound database that nobody may write."""
    kept(path)
    path.chmod(0o444)


def marked(path) -> None:
    """A database without a table yet that another program has marked as its own."""
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("pragma application_id = 77")


NOT_OURS = {
    "marked": (marked, "its application_id is 77"),
    "link": (linked, "is a symbolic link"),
    "link to nothing": (lambda path: path.symlink_to("nowhere"), "is a symbolic link"),
    "FIFO": (os.mkfifo, "is a FIFO"),
    "folder": (Path.mkdir, "is a folder"),
    "read-only": (protected, "the file is read-only"),
    "another table": (beside, "it has the table 'mine'"),
    "another database": (somebody_s, "it has the table 'mine'"),
    "foreign": (foreign, "its table of results has the columns name, score"),
    "notes for a journal": (wal, "r.sqlite-wal: is not a journal of a database"),
    "link for a journal": (linked_wal, "r.sqlite-journal: File exists and is a symbolic link"),
    "text": (lambda path: path.write_text("my notes " * 500), "file is not a database"),
}


@pytest.mark.parametrize(("make", "words"), NOT_OURS.values(), ids=NOT_OURS)
def test_a_file_of_somebody_else_s_is_untouched(make, words, path) -> None:
    """It is refused in a sentence; not a byte of the folder has changed."""
    make(path)
    before = {p.name: p.read_bytes() if p.is_file() else None for p in path.parent.iterdir()}
    with pytest.raises(OSError, match="can not be used as a database of results") as reported:
        Store(path, "1")
    assert words in reported.value.strerror
    assert {p.name: p.read_bytes() if p.is_file() else None for p in path.parent.iterdir()} == before


def test_names_that_sqlite_takes_for_something_else(tmp_path, monkeypatch) -> None:
    """:memory: and file: are files here: what is kept in them is there again."""
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory"):
        kept(Path(name))
        assert Store(Path(name), "1").known(["a"]) == {"a": ROW}
        assert (tmp_path / name).stat().st_size
