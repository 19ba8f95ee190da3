"""Earlier runs: a folder may be replaced only where every entry proves to be a run's; everything else is named."""

import json
import os
from pathlib import Path

import pytest

from tessbed.scenarios.library import load
from tessbed.scenarios.outcome import ScenarioRun
from tessbed.scenarios.output.earlier_run import judge, record
from tessbed.scenarios.run_folder import RunFolder
from tessbed.scenarios.runner import run_scenario

OLD = Path("packets/00-pitched.bin")


@pytest.fixture(scope="module")
def done() -> ScenarioRun:
    """A run with packets and transfers."""
    return run_scenario(load("documents-pitched"), trace=True)


@pytest.fixture
def folder(tmp_path: Path, done: ScenarioRun) -> Path:
    """The folder of an earlier run."""
    RunFolder.open(tmp_path / "run").write(done, 1)
    return tmp_path / "run"


def snapshot(folder: Path) -> dict[str, object]:
    """Everything below a folder, links as links, with its content or kind, inode and time of change."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        plain = path.is_file() and not path.is_symlink()
        content = path.read_bytes() if plain else os.readlink(path) if path.is_symlink() else None
        found[str(path.relative_to(folder))] = (content, status.st_mode, status.st_ino, status.st_mtime_ns)
    return found


def rewritten(path: Path) -> None:
    """One byte is another; the length stays."""
    raw = path.read_bytes()
    path.write_bytes(raw[:-2] + bytes([raw[-2] ^ 1]) + raw[-1:])


def replaced_by_link(path: Path) -> None:
    """The same content, but in a file elsewhere."""
    theirs = path.parents[2 if path.parent.name in ("packets", "transfers") else 1] / "theirs"
    path.rename(theirs)
    path.symlink_to(theirs)


def folder_by_link(path: Path) -> None:
    """The same files, but in a folder elsewhere."""
    path.rename(path.parents[1] / "their folder")
    path.symlink_to(path.parents[1] / "their folder")


def edited_record(path: Path) -> None:
    """A remark in run.json."""
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "remark": "keep"}, indent=2) + "\n")


def listed(path: Path) -> None:
    """A file of the user's, and its digest put on the list of a record whose own digest is not renewed."""
    (path.parent / "mine.txt").write_bytes(b"mine")
    document = json.loads(path.read_text())
    document["files"]["mine.txt"] = "f6e4c8ad1b7ed9a67e8bb4d16a0b8cbf1b8d1dd1f8d5b7a2f1a9fd3c0b8a9d11"
    path.write_text(json.dumps(document, indent=2) + "\n")


def of_the_first_version(path: Path) -> None:
    """What 0.1.0 wrote: no list."""
    document = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in document.items() if k not in ("files", "sha256")}, indent=2) + "\n")


# entry, what becomes of it, and what is said
STRANGERS = {
    "file": ("notes.txt", Path.touch, "holds notes.txt, which is not a file of a run"),
    "file in packets": ("packets/mine.bin", Path.touch, "holds packets/mine.bin, which is not a file of a run"),
    "file in transfers": ("transfers/99-mine.csv", Path.touch, "holds transfers/99-mine.csv, which is not a file"),
    "file in inputs": (
        "inputs",
        lambda p: (p.mkdir(), (p / "a.npy").touch()),
        "holds inputs/a.npy, which is not a file",
    ),
    "hidden file": (".note", Path.touch, "holds .note, which is not a file of a run"),
    "empty folder": ("packets/mine", Path.mkdir, "holds packets/mine, which is not a folder of a run"),
    "filled folder": ("mine", lambda p: (p.mkdir(), (p / "x").touch()), "holds mine/x, which is not a file of a run"),
    "changed report": ("report.md", rewritten, "holds report.md, which was changed since the run"),
    "changed events": ("events.jsonl", rewritten, "holds events.jsonl, which was changed since the run"),
    "changed packet": (str(OLD), rewritten, "holds packets/00-pitched.bin, which was changed since the run"),
    "grown packet": (str(OLD), lambda p: p.write_bytes(p.read_bytes() + b"x"), "holds packets/00-pitched.bin, which"),
    "link for a file": ("report.md", replaced_by_link, "holds report.md, which is a symbolic link"),
    "link for a packet": (str(OLD), replaced_by_link, "holds packets/00-pitched.bin, which is a symbolic link"),
    "link for a folder": ("packets", folder_by_link, "holds packets, which is a symbolic link"),
    "added link": ("transfers/x", lambda p: p.symlink_to("/etc"), "holds transfers/x, which is a symbolic link"),
    "FIFO": ("packets/pipe", os.mkfifo, "holds packets/pipe, which is a FIFO"),
    "FIFO for a file": ("stats.json", lambda p: (p.unlink(), os.mkfifo(p)), "holds stats.json, which is a FIFO"),
    "folder for a file": (
        "stats.json",
        lambda p: (p.unlink(), p.mkdir()),
        "holds stats.json, which is not a folder of a run",
    ),
    "read-only file": ("report.md", lambda p: p.chmod(0o444), "holds report.md, which is read-only"),
    "read-only folder": ("packets", lambda p: p.chmod(0o555), "holds packets, which is read-only"),
    "edited record": ("run.json", edited_record, "holds run.json, which was changed since the run"),
    "listed in the record": ("run.json", listed, "holds run.json, which was changed since the run"),
    "record of another form": (
        "run.json",
        lambda p: p.write_text(json.dumps(json.loads(p.read_text()), indent=4) + "\n"),
        "holds run.json, which was changed since the run",
    ),
    "no record": ("run.json", Path.unlink, "holds events.jsonl, which is not a file of a run"),
    "record is a link": ("run.json", replaced_by_link, "holds events.jsonl, which is not a file of a run"),
    "record is no JSON": ("run.json", lambda p: p.write_text("{"), "holds run.json, which is not a record of a run"),
    "record is a list": ("run.json", lambda p: p.write_text("[]"), "holds run.json, which is not a record of a run"),
    "deep record": ("run.json", lambda p: p.write_text("[" * 9999), "holds run.json, which is not a record of a run"),
    "somebody's run.json": ("run.json", lambda p: p.write_text("{}"), "holds run.json, which was changed"),
    "0.1.0": ("run.json", of_the_first_version, "holds a run of tessbed 0.1.0, which kept no list of its files"),
}


@pytest.mark.parametrize(("name", "change", "words"), STRANGERS.values(), ids=STRANGERS)
def test_what_is_not_the_run_s_own_is_named_and_nothing_touched(folder, name, change, words) -> None:
    """The folder is refused before anything runs; every entry, and everything that a link leads to, is as before."""
    change(folder / name)
    before = snapshot(folder.parent)
    with pytest.raises(FileExistsError) as reported:
        RunFolder.open(folder)
    assert words in reported.value.strerror
    assert reported.value.filename == str(folder)
    assert snapshot(folder.parent) == before


def test_a_user_s_own_files_with_the_names_of_a_run_are_no_run(tmp_path: Path) -> None:
    """report.md, events.jsonl or packets/ alone prove nothing."""
    for name in ("report.md", "events.jsonl", "scenario.toml"):
        mine = tmp_path / name.replace(".", "-")
        mine.mkdir()
        (mine / name).write_text("mine")
        with pytest.raises(FileExistsError, match=f"holds {name}, which is not a file of a run"):
            RunFolder.open(mine)
        assert (mine / name).read_text() == "mine"


def test_a_run_s_own_folder_is_accepted_with_what_is_left_of_it(folder: Path) -> None:
    """Untouched, moved, or with files removed."""
    judge(folder)
    moved = folder.rename(folder.with_name("moved"))
    judge(moved)
    (moved / OLD).unlink()
    judge(moved)


def test_the_record_lists_every_file_in_order(folder: Path) -> None:
    """All but run.json itself, with the digests that `sha256sum` prints; the same again for the same files."""
    document = json.loads((folder / "run.json").read_text())
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != "run.json"]
    assert sorted(document["files"]) == sorted(names)
    (folder / "run.json").unlink()
    about = {key: value for key, value in document.items() if key not in ("files", "sha256")}
    assert json.loads(record(about, folder)) == document
