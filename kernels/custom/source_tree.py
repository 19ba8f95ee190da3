"""Source tree: the files that a kernel is made of, with the bytes that were compiled, and the hash that names them.

A kernel that was loaded from a file brings what its loader recorded. One that was imported in the usual way is made of
its own file, as it was at the declaration, and of the modules beside it that it imports, and they in their turn.
What is installed, the standard library and tessbed itself are no part of it. A kernel without a file, as in a notebook,
is made of its function.
"""

import ast
import hashlib
import inspect
import marshal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import attrs

from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.declared_files import declared_content, read_file


@attrs.frozen
class SourceTree:
    """Files by their path below the tree's root, and what was compiled of each."""

    files: tuple[tuple[str, bytes], ...]

    @property
    def digest(self) -> str:
        """The SHA-256 that names the source, in 64 hexadecimal digits."""
        parts = (part for name, content in self.files for part in (name.encode("utf-8", "surrogateescape"), content))
        return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).hexdigest()


_trees: WeakKeyDictionary[Kernel, SourceTree] = WeakKeyDictionary()
_hashes: WeakKeyDictionary[Kernel, str] = WeakKeyDictionary()


def keep_tree(kernel: Kernel, files: Mapping[str, bytes]) -> None:
    """A loader knows what the kernel is made of."""
    _trees[kernel] = SourceTree(tuple(sorted(files.items())))


def tree_of(kernel: Kernel) -> SourceTree:
    """What the kernel is made of."""
    if kernel not in _trees:
        _trees[kernel] = SourceTree(tuple(sorted(_imported(kernel).items())))
    return _trees[kernel]


def kernel_hash(kernel: Kernel) -> str:
    """The hash of the kernel's source, in 64 hexadecimal digits."""
    if kernel not in _hashes:
        _hashes[kernel] = tree_of(kernel).digest
    return _hashes[kernel]


def _imported(kernel: Kernel) -> dict[str, bytes]:
    file = Path(kernel.file)
    content = declared_content(kernel.file)
    if content is None:
        return {f"{kernel.name}.py": _function_source(kernel.function)}
    module = sys.modules.get(kernel.function.__module__)
    root = _root(module, file)
    found = {file: content}
    waiting = [(module.__name__ if module else "", content)]
    while waiting:
        for name in _imports(*waiting.pop()):
            path = _path(sys.modules.get(name))
            if path is not None and path not in found and _belongs(path, root):
                text = declared_content(str(path)) or read_file(path) or b""
                found[path] = text
                waiting.append((name, text))
    return {
        path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name: found[path] for path in found
    }


def _function_source(function: Any) -> bytes:
    try:
        return inspect.getsource(function).encode()
    except (OSError, TypeError):
        return marshal.dumps(function.__code__)


def _root(module: ModuleType | None, file: Path) -> Path:
    """The folder of the outermost package, or that of the file."""
    depth = module.__name__.count(".") if module is not None else 0
    if module is not None and hasattr(module, "__path__"):
        depth += 1
    return file.parents[min(depth, len(file.parents) - 1)]


def _imports(module: str, content: bytes) -> Iterator[str]:
    """The modules that a source asks for, as far as its text says."""
    yield from _with_packages(module)
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: -node.level]
                base = ".".join([*above, base] if base else above)
            yield from _with_packages(base)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _with_packages(name: str) -> Iterator[str]:
    """A module, and the packages around it, which are imported first."""
    steps = name.split(".")
    yield from (".".join(steps[:depth]) for depth in range(1, len(steps) + 1))


def _path(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if file and file.endswith(".py") else None


def _belongs(path: Path, root: Path) -> bool:
    """Whether a module is of the kernel's own tree."""
    if not path.is_relative_to(root) or "tessbed" in path.relative_to(root).parts[:1]:
        return False
    return "site-packages" not in path.relative_to(root).parts and root.name != "site-packages"
