"""Earlier run: whether a folder holds a run and nothing else, checked entry by entry.

`run.json` lists every other file that the run wrote, with the SHA-256 of its content, and ends with its own. A folder
may be replaced where everything in it is on that list and still has that content. A file that is missing is no
obstacle. One that was added or changed is, like a link and what is read-only: it is named, and the folder refused.
Version 0.1.0 kept no list: nothing proves what such a folder holds, so it is refused as a whole.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tessbed.scenarios.output.files import kind, read_only

RECORD = "run.json"
CHUNK_BYTES = 1 << 20


def record(about: Mapping[str, Any], folder: Path) -> bytes:
    """The content of run.json for the files that the folder holds by now, with what is to be said `about` the run."""
    files = {name: _digest(folder / name) for name, found in _entries(folder) if not stat.S_ISDIR(found.st_mode)}
    document = {**about, "files": files}
    return _text({**document, "sha256": hashlib.sha256(_text(document)).hexdigest()})


def judge(folder: Path, shown: Path | None = None) -> None:
    """Raise FileExistsError that names what is no file of a run, as in the folder `shown`; an empty folder has none.

    Nothing is changed, and no link is followed.
    """
    entries = dict(_entries(folder))
    try:
        files = _listed(folder, entries.get(RECORD))
        folders = {str(parent) for name in (*files, *entries) for parent in PurePosixPath(name).parents}
        for name, found in entries.items():
            _check(folder / name, name, found, files, folders)
    except FileExistsError as stranger:
        wanted = "wanted a new folder, or one that holds only a run"
        raise FileExistsError(errno.EEXIST, f"{stranger.strerror}: {wanted}", str(shown or folder)) from None


def _listed(folder: Path, found: os.stat_result | None) -> dict[str, str]:
    """The digest of every file of the run by its name, run.json included; empty where there is none."""
    if found is None or not stat.S_ISREG(found.st_mode):
        return {}
    raw = _read(folder / RECORD)
    try:
        document = json.loads(raw)
        said = document.pop("sha256", None)
        sealed = said == hashlib.sha256(_text(document)).hexdigest() and _text({**document, "sha256": said}) == raw
        files = {**document["files"]} if sealed else {}
    except (ValueError, RecursionError, AttributeError, LookupError, TypeError):
        raise _stranger(f"holds {RECORD}, which is not a record of a run") from None
    if sealed:
        return {**files, RECORD: hashlib.sha256(raw).hexdigest()}
    if said is None and "files" not in document and "tessbed" in document:
        raise _stranger("holds a run of tessbed 0.1.0, which kept no list of its files, so nothing proves them its own")
    raise _stranger(f"holds {RECORD}, which was changed since the run")


def _check(path: Path, name: str, found: os.stat_result, files: Mapping[str, str], folders: set[str]) -> None:
    """Raise FileExistsError for an entry that is not the run's own."""
    if stat.S_ISDIR(found.st_mode):  # what it holds is judged by itself
        problem = "" if name in folders else "which is not a folder of a run"
    elif not stat.S_ISREG(found.st_mode):
        problem = f"which is {kind(found)}"
    elif name not in files:
        problem = "which is not a file of a run"
    else:
        problem = "" if _digest(path) == files[name] else "which was changed since the run"
    if not problem and read_only(found):
        problem = "which is read-only"
    if problem:
        raise _stranger(f"holds {name}, {problem}")


def _entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """(name in the folder, status) of everything below it, sorted, links not followed."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(folder / prefix) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                found = entry.stat(follow_symlinks=False)
                yield f"{prefix}{entry.name}", found
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(f"{prefix}{entry.name}/")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with _opened(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _read(path: Path) -> bytes:
    with _opened(path) as file:
        return file.read()


def _opened(path: Path) -> BinaryIO:
    """The file itself: a link that has taken its place since is not followed, and a FIFO is not waited for."""
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags))


def _text(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2) + "\n").encode()


def _stranger(text: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, text)
