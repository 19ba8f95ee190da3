"""Declared files: what the file of a kernel held when the kernel was declared in it."""

from pathlib import Path

_declared: dict[str, bytes] = {}


def note_file(file: str) -> None:
    """A kernel is declared in this file now: what it holds is what was compiled."""
    content = read_file(Path(file))
    if content is not None:
        _declared[file] = content


def declared_content(file: str) -> bytes | None:
    """What the file held then; None where no kernel was declared in it."""
    return _declared.get(file)


def read_file(path: Path) -> bytes | None:
    """The bytes of a file, None where it can not be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None
