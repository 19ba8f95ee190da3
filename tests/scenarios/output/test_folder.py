"""Output folders: the old one is whole until the new one is, whatever fails and whenever; no link, no litter."""

import errno
import os
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tessbed.scenarios import run_folder
from tessbed.scenarios.library import load
from tessbed.scenarios.outcome import ScenarioRun
from tessbed.scenarios.output.folder import OutputFolder
from tessbed.scenarios.run_folder import RunFolder
from tessbed.scenarios.runner import run_scenario
from tests.scenarios.output.test_earlier_run import snapshot

EARLIER, LATER = ("documents-2x17", "documents-pitched")


@pytest.fixture(scope="module")
def runs() -> dict[str, ScenarioRun]:
    """Two runs whose packets have other names."""
    return {name: run_scenario(load(name), trace=True) for name in (EARLIER, LATER)}


def names(folder: Path) -> list[str]:
    """Everything below a folder, by name."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def failing(call, at: int, error: BaseException, raised: list[int]):
    """The function, but its call number `at` raises, and leaves a note."""
    calls = iter(range(1_000_000))

    def instead(*arguments, **more):
        if next(calls) == at:
            raised.append(at)
            raise error
        return call(*arguments, **more)

    return instead


ERRORS = {"disk full": OSError(errno.ENOSPC, "No space left on device"), "interrupt": KeyboardInterrupt()}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize(("function", "least"), [("rename", 10), ("fsync", 10), ("open", 10), ("mkdir", 3)])
def test_a_failure_at_any_moment_leaves_the_old_run(tmp_path, monkeypatch, runs, function, least, error) -> None:
    """Every rename, sync, open and mkdir may fail: the earlier run is whole, or the new one; nothing else is there."""
    RunFolder.open(tmp_path / "run").write(runs[EARLIER], 1)
    RunFolder.open(tmp_path / "later").write(runs[LATER], 1)
    before, after, raised = snapshot(tmp_path / "run"), names(tmp_path / "later"), []
    at = -1
    for at in range(400):
        with monkeypatch.context() as patched, suppress(type(error)):
            patched.setattr(os, function, failing(getattr(os, function), at, error, raised))
            RunFolder.open(tmp_path / "run").write(runs[LATER], 1)
        assert sorted(os.listdir(tmp_path)) == ["later", "run"], at
        if names(tmp_path / "run") == after:
            RunFolder.open(tmp_path / "run").write(runs[EARLIER], 1)
            before = snapshot(tmp_path / "run")
        assert snapshot(tmp_path / "run") == before, at
        if raised[-1:] != [at]:
            break
    assert raised == list(range(at))
    assert at >= least


def test_an_error_that_names_no_file_names_the_folder(tmp_path, monkeypatch, runs) -> None:
    """A disk that is full says so of no file: the message says which folder was to be written."""

    def full(*_: object) -> int:
        raise ERRORS["disk full"]

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as raised:
        RunFolder.open(tmp_path / "run").write(runs[LATER], 1)
    assert raised.value.filename == str(tmp_path / "run")
    assert names(tmp_path) == []


def test_a_new_folder_that_fails_is_not_there(tmp_path, monkeypatch, runs) -> None:
    """Nor are the parents that were made for it; a folder that was there stays, empty."""
    monkeypatch.setattr(run_folder, "contents", lambda *arguments: 1 / 0)
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "a" / "b" / "run", tmp_path / "empty"):
        with pytest.raises(ZeroDivisionError):
            RunFolder.open(target).write(runs[LATER], 1)
    assert names(tmp_path) == ["empty"]


def test_a_run_that_does_not_end_leaves_nothing(tmp_path, runs) -> None:
    """The folder was opened, nothing written: it is gone, or the earlier run in it as before."""
    RunFolder.open(tmp_path / "run").write(runs[EARLIER], 1)
    before = snapshot(tmp_path / "run")
    for name in ("new", "run"):
        with pytest.raises(KeyboardInterrupt), RunFolder.open(tmp_path / name):
            raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["run"]
    assert snapshot(tmp_path / "run") == before


def test_what_comes_during_the_run_is_not_lost(tmp_path, runs) -> None:
    """A file that somebody puts into the earlier run meanwhile: it is named, and everything is as it was."""
    RunFolder.open(tmp_path / "run").write(runs[EARLIER], 1)
    folder = RunFolder.open(tmp_path / "run")
    (tmp_path / "run" / "packets" / "mine").write_text("mine")
    before = snapshot(tmp_path / "run")
    with pytest.raises(FileExistsError, match=r"holds packets/mine, which is not a file of a run") as reported:
        folder.write(runs[LATER], 1)
    assert reported.value.filename == str(tmp_path / "run")
    assert snapshot(tmp_path / "run") == before
    assert os.listdir(tmp_path) == ["run"]


TARGETS = {
    "link to a run": (lambda p: p.symlink_to("run"), "is a symbolic link, which is never followed"),
    "link to nothing": (lambda p: p.symlink_to("nowhere"), "is a symbolic link"),
    "link to a device": (lambda p: p.symlink_to("/dev/stdout"), "is a symbolic link"),
    "file": (Path.touch, "File exists and is a regular file: wanted a new folder"),
    "FIFO": (os.mkfifo, "is a FIFO"),
    "read-only folder": (lambda p: p.mkdir(0o555), "the folder can not be written to"),
}


@pytest.mark.parametrize(("make", "words"), TARGETS.values(), ids=TARGETS)
def test_targets_that_can_be_no_folder(tmp_path, runs, make, words) -> None:
    """They are refused, and what a link leads to is untouched."""
    RunFolder.open(tmp_path / "run").write(runs[EARLIER], 1)
    make(tmp_path / "target")
    before = snapshot(tmp_path)
    with pytest.raises(OSError, match=words):
        RunFolder.open(tmp_path / "target")
    assert snapshot(tmp_path) == before


def test_the_current_folder_and_one_without_room_beside_it(tmp_path, monkeypatch, runs) -> None:
    """One can be in the folder that is replaced, and its parent may be read-only: it stays the same folder."""
    target = tmp_path / "parent" / "run"
    target.mkdir(parents=True)
    inode = target.stat().st_ino
    monkeypatch.chdir(target)
    (tmp_path / "parent").chmod(0o555)
    with closing(OutputFolder.open(Path("."), lambda path: None)) as folder:
        assert folder.new.parent == target
    for name in (EARLIER, LATER):
        RunFolder.open(Path(".")).write(runs[name], 1)
        assert target.stat().st_ino == inode
        assert os.listdir(tmp_path / "parent") == ["run"]
    RunFolder.open(tmp_path / "later").write(runs[LATER], 1)
    assert names(target) == names(tmp_path / "later")
    (tmp_path / "parent").chmod(0o755)


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="wants a disk that ends at a known folder")
def test_a_target_on_another_disk_than_its_parent() -> None:
    """What is written is in it: renames do not cross disks."""
    with closing(OutputFolder.open(Path("/dev/shm"), lambda path: None)) as folder:
        assert folder.new.parent == Path("/dev/shm")
        assert folder.new.is_dir()
    assert not folder.new.exists()


def test_a_swap_that_can_not_be_undone_deletes_nothing(tmp_path, monkeypatch) -> None:
    """Where the renames back fail as well, the error says where the old files are, and they are there."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").write_text("old")
    folder = OutputFolder.open(tmp_path / "run", lambda path: None)
    (folder.new / "new").write_text("new")
    patience = iter([os.rename])

    def broken(*paths):
        if (step := next(patience, None)) is None:
            raise OSError(errno.EIO, "Input/output error")
        step(*paths)

    monkeypatch.setattr(os, "rename", broken)
    with pytest.raises(OSError, match=r"can not be moved back to .*; what the folder held is in (.*)"):
        folder.swap_in(lambda path: None)
    folder.close()
    assert (folder.old / "old").read_text() == "old"
