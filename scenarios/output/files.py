"""Output files: every file that a command writes goes through here, so that nothing is lost or changed by mistake.

A file is written beside its target under a hidden name, brought to the disk, and renamed. A full disk, an interrupt or
a bug on the way leaves what was there as it was, and nothing of ours. No link is followed: a link at the target is
refused, like everything else that is no regular file, and a file whose permissions say that it must stay.

`check_file` refuses before the work begins; `replacing` checks again, since the work may take hours. Folders are in
`folder`.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

PREFIX = ".tessbed-"
"""What the names of unfinished files and folders begin with."""

KINDS = {
    stat.S_IFLNK: "a symbolic link, which is never followed",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFREG: "a regular file",
}
WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def status(path: Path) -> os.stat_result | None:
    """What is at the path itself, links not followed; None where nothing is. Raises OSError."""
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def kind(found: os.stat_result) -> str:
    """The kind of a file, in words."""
    return KINDS.get(stat.S_IFMT(found.st_mode), "a special file")


def read_only(found: os.stat_result) -> bool:
    """True where nobody may write, which also holds for a superuser, whom the system would let."""
    return not found.st_mode & WRITE_BITS


def check_file(path: Path) -> None:
    """Raise OSError, in a sentence, where `path` can neither become a regular file nor replace one."""
    _check_parent(path)
    found = status(path)
    if found is None:
        return
    if not stat.S_ISREG(found.st_mode):
        wanted = "wanted a regular file, or a name that is free"
        raise FileExistsError(errno.EEXIST, f"File exists and is {kind(found)}: {wanted}", str(path))
    if read_only(found) or not os.access(path, os.W_OK):
        advice = "make it writable, or name another file"
        raise PermissionError(errno.EACCES, f"the file is read-only: {advice}", str(path))


def unusable(path: Path) -> str | None:
    """What `check_file` raises, in words; None where the path can be written."""
    try:
        check_file(path)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _check_parent(path: Path) -> None:
    parent = path.absolute().parent
    if not parent.is_dir():
        missing = f"no such folder: {path.parent}"
        raise NotADirectoryError(
            errno.ENOTDIR, f"{path.parent} is not a folder" if os.path.lexists(parent) else missing, str(path)
        )
    if not os.access(parent, os.W_OK | os.X_OK) or read_only(parent.stat()):
        raise PermissionError(errno.EACCES, f"the folder {path.parent} can not be written to", str(path))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path`, with its suffix, for the caller to fill; it takes the place of `path` when all went well.

    The permissions of a file that is replaced stay. Raises OSError that names `path`.
    """
    part = path.with_name(f"{PREFIX}{secrets.token_hex(8)}{path.suffix}")
    try:
        check_file(path)
        _create(part, status(path))
        yield part
        sync(part)
        check_file(path)
        os.replace(part, path)
        sync(path.absolute().parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write files, none of which is replaced before all are written. Raises OSError that names the one that fails."""
    with ExitStack() as stack:
        for path, content in contents.items():
            stack.enter_context(replacing(path)).write_bytes(content)


def _create(part: Path, replaced: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(part, flags, 0o666)
    if replaced:
        os.chmod(part, stat.S_IMODE(replaced.st_mode))
    os.close(handle)


def sync(path: Path) -> None:
    """Bring a file's content, or a folder's entries, to the disk, where the file system can."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
            raise
    finally:
        os.close(handle)
