"""Output files: whole or not at all, never through a link, and nothing left beside them."""

import os
import socket
from pathlib import Path

import pytest

from tessbed.scenarios.output import files
from tessbed.scenarios.output.files import check_file, replacing, unusable, write_files


def entries(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(entry.name for entry in folder.iterdir())


def linked(path: Path) -> None:
    """A link to a file of somebody else's."""
    (path.parent / "theirs").write_bytes(b"theirs")
    path.symlink_to("theirs")


def bound(path: Path) -> None:
    """A socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def protected(path: Path) -> None:
    """A file that nobody may write."""
    path.write_bytes(b"mine")
    path.chmod(0o444)


# what is at the target, and what is said of it
UNUSABLE = {
    "link": (linked, "is a symbolic link, which is never followed: wanted a regular file"),
    "dangling link": (lambda path: path.symlink_to("nowhere"), "is a symbolic link"),
    "link to a device": (lambda path: path.symlink_to("/dev/stdout"), "is a symbolic link"),
    "folder": (Path.mkdir, "is a folder: wanted a regular file"),
    "FIFO": (os.mkfifo, "is a FIFO: wanted a regular file"),
    "socket": (bound, "is a socket: wanted a regular file"),
    "read-only": (protected, "the file is read-only: make it writable"),
}


@pytest.mark.parametrize(("make", "words"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_is_no_file_to_replace_is_refused(tmp_path: Path, make, words: str) -> None:
    """It is named with its kind, and is there as before; nothing is written beside it, before or after the work."""
    target = tmp_path / "out.csv"
    make(target)
    before = entries(tmp_path), target.lstat()
    with pytest.raises(OSError, match=words) as reported:
        check_file(target)
    assert reported.value.filename == str(target)
    assert words in (unusable(target) or "")
    with pytest.raises(OSError, match=words), replacing(target):
        raise AssertionError("nothing is to be written")
    assert (entries(tmp_path), target.lstat()) == before
    if (tmp_path / "theirs").exists():
        assert (tmp_path / "theirs").read_bytes() == b"theirs"


@pytest.mark.parametrize(
    ("parent", "words"),
    [("missing", "no such folder"), ("file", "is not a folder"), ("locked", "can not be written")],
)
def test_a_folder_that_can_hold_no_file(tmp_path: Path, parent: str, words: str) -> None:
    """A parent that is missing, a file or read-only is reported before the work."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "locked").mkdir(mode=0o555)
    assert words in (unusable(tmp_path / parent / "x.csv") or "")
    assert unusable(tmp_path / "x.csv") is None


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ZeroDivisionError()])
def test_a_write_that_ends_half_way_changes_nothing(tmp_path: Path, error: BaseException) -> None:
    """The old file is whole, a new name is not taken, and the half is gone; an OSError names the file."""
    for name, old in (("old.csv", b"old"), ("new.csv", None)):
        target = tmp_path / name
        if old:
            target.write_bytes(old)
        with pytest.raises(type(error)) as reported:
            _half(target, error)
        assert getattr(reported.value, "filename", str(target)) == str(target)
        assert (target.read_bytes() if target.exists() else None) == old
    assert entries(tmp_path) == ["old.csv"]


def _half(target: Path, error: BaseException) -> None:
    with replacing(target) as part:
        part.write_bytes(b"half")
        raise error


def _overtaken(target: Path) -> None:
    with replacing(target) as part:
        part.write_bytes(b"new")
        linked(target)


def test_a_file_is_replaced_by_a_whole_one(tmp_path: Path) -> None:
    """Until the end the old content is read; then the new one, with the permissions of the old; other names keep it."""
    target, other = tmp_path / "x.csv", tmp_path / "other"
    target.write_bytes(b"old")
    target.chmod(0o640)
    os.link(target, other)
    with replacing(target) as part:
        assert (part.parent, part.suffix) == (tmp_path, ".csv")
        part.write_bytes(b"new")
        assert target.read_bytes() == b"old"
    assert (target.read_bytes(), other.read_bytes(), target.stat().st_mode & 0o777) == (b"new", b"old", 0o640)
    assert entries(tmp_path) == ["other", "x.csv"]


def test_a_link_that_comes_during_the_work_is_not_followed(tmp_path: Path) -> None:
    """The target is looked at once more before it is replaced."""
    target = tmp_path / "x.csv"
    with pytest.raises(FileExistsError, match="a symbolic link"):
        _overtaken(target)
    assert (entries(tmp_path), (tmp_path / "theirs").read_bytes()) == (["theirs", "x.csv"], b"theirs")


def test_several_files_are_replaced_when_all_are_written(tmp_path: Path) -> None:
    """Where one can not be, none is."""
    good, bad = tmp_path / "a", tmp_path / "b"
    good.write_bytes(b"old")
    bad.mkdir()
    with pytest.raises(FileExistsError, match="is a folder"):
        write_files({good: b"new", bad: b"new"})
    assert good.read_bytes() == b"old"
    bad.rmdir()
    write_files({good: b"new", bad: b"new"})
    assert (good.read_bytes(), bad.read_bytes(), entries(tmp_path)) == (b"new", b"new", ["a", "b"])


def test_content_is_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced, then renamed, then the folder synced: a power cut leaves the old file or the new one."""
    order: list[str] = []
    rename = os.replace
    monkeypatch.setattr(files, "sync", lambda path: order.append("folder" if path.is_dir() else "file"))
    monkeypatch.setattr(os, "replace", lambda *paths: (order.append("rename"), rename(*paths)))
    write_files({tmp_path / "x": b"x"})
    assert order == ["file", "rename", "folder"]
