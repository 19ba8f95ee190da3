"""Output folder: a folder that is written beside its target and swapped in when it is complete.

What is written meanwhile is in a hidden folder beside the target, or in it where its parent can not be written to
or lies on another disk. The swap moves every entry of the target out and every new one in, by renames; where one
fails, those before it are taken back. What was moved out is judged once more before anything moves in, so that no file
is deleted that came while the work took its time. The target stays the same folder: a shell may be in it.
"""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from tessbed.scenarios.output.files import PREFIX, kind, read_only, status, sync

Judge = Callable[[Path], None]
"""Raises OSError where a folder holds anything that must stay."""


@attrs.define
class OutputFolder:
    """A target under construction. `new` is where to write; `close` removes what was not swapped in."""

    target: Path
    new: Path
    made: tuple[Path, ...]
    """The folders that were made for the target, itself first."""

    @classmethod
    def open(cls, path: Path, judge: Judge) -> "OutputFolder":
        """Raises OSError where the path can be no folder, or where `judge` does: then nothing has changed."""
        found = status(path)
        if found is not None:
            _check(path, found)
            judge(path)
        made = _make(path)
        target = path.resolve()
        try:
            return cls(target, _room_for(target), made)
        except BaseException:
            _unmake(made)
            raise

    @property
    def old(self) -> Path:
        """Where the target's entries are until the new ones are in place."""
        return self.new.with_name(f"{self.new.name}-old")

    def swap_in(self, judge: Judge) -> None:
        """Put what was written in the place of what the target holds. Raises OSError; then the target is as it was."""
        for path in sorted(self.new.rglob("*")):
            sync(path)
        self.old.mkdir()
        _swap(self.target, self.new, self.old, judge)
        sync(self.target)

    def close(self) -> None:
        """Remove what is not in place. A target that was made for it goes, too, while it is empty."""
        if self.old.is_dir() and not (_empty(self.old) or _empty(self.new)):
            return  # a swap that could be neither finished nor undone: nothing is deleted
        try:
            self._remove()
        finally:  # an interrupt meanwhile, or an error that will not last: once more
            self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self.old, ignore_errors=True)
        shutil.rmtree(self.new, ignore_errors=True)
        _unmake(self.made)


def _empty(folder: Path) -> bool:
    return not any(folder.iterdir())


@contextmanager
def folder_of_files(path: Path) -> Iterator[Path]:
    """The folder, made where it is missing, for files that are written into it. Raises OSError where it can be none.

    Where they are not written, what was made for them goes.
    """
    found = status(path)
    if found is not None:
        _check(path, found)
    made = _make(path)
    try:
        yield path
    finally:
        _unmake(made)


def _check(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise FileExistsError(errno.EEXIST, f"File exists and is {kind(found)}: wanted a new folder", str(path))
    if read_only(found) or not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "the folder can not be written to", str(path))


def _make(path: Path) -> tuple[Path, ...]:
    """Make the folder and its missing parents; returns what was made, the folder first. Raises OSError."""
    missing = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            folder.mkdir()
            made.insert(0, folder.absolute())
    except BaseException as error:
        _unmake(tuple(made))
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    return tuple(made)


def _unmake(made: tuple[Path, ...]) -> None:
    for folder in made:
        try:
            folder.rmdir()
        except OSError:  # it holds something
            return


def _room_for(target: Path) -> Path:
    """A new hidden folder on the target's disk: beside it, or else in it."""
    beside = target.parent
    near = os.access(beside, os.W_OK | os.X_OK) and not read_only(beside.stat())
    near = near and beside.stat().st_dev == target.stat().st_dev and beside != target
    folder = (beside if near else target) / f"{PREFIX}{secrets.token_hex(8)}"
    folder.mkdir()
    return folder


def _swap(target: Path, new: Path, old: Path, judge: Judge) -> None:
    """Move the target's entries to `old`, and those of `new` into the target; all of that, or nothing."""
    moves: list[tuple[Path, Path]] = []

    def move(source: Path, place: Path) -> None:
        moves.append((source, place))
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, "File exists: somebody else writes into this folder", str(place))
        os.rename(source, place)

    try:
        for entry in sorted(target.iterdir()):
            if entry not in (new, old):
                move(entry, old / entry.name)
        judge(old)
        for entry in sorted(new.iterdir()):
            move(entry, target / entry.name)
    except BaseException:
        _undo(moves, old)
        raise


def _undo(moves: Sequence[tuple[Path, Path]], old: Path) -> None:
    """The last move may not have happened."""
    for source, place in reversed(moves):
        if os.path.lexists(place) and not os.path.lexists(source):
            try:
                os.rename(place, source)
            except OSError as error:
                text = f"{error.strerror}: can not be moved back to {source}; what the folder held is in {old}"
                raise OSError(error.errno, text, str(place)) from None
