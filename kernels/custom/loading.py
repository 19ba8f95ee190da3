"""Loading: from a reference to a kernel: `file.py:name`, `package.module:name`, or a name of the group tessbed.kernels.

Loading runs the module: nothing that only reads a scenario does it. A file is compiled from its bytes, under a name of
its own, so that `copy.py` is not taken for the module of that name; what it imports from its folder is compiled and
recorded likewise. The same file is loaded once, and again when it or a module from its folder has changed.
"""

import hashlib
import importlib
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.abc import MetaPathFinder
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import attrs

from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.source_tree import keep_tree
from tessbed.kernels.errors import ContractError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "tessbed.kernels"
FOREIGN = ("<frozen", str(Path(importlib.__file__).parent), str(Path(__file__).parents[2]))
"""Where files are that no user wrote: their lines say nothing of what is wrong."""


@attrs.frozen
class Reference:
    """A kernel by where it is: a `file`, or a `module`, and its `name` there."""

    text: str
    name: str
    file: Path | None = None
    module: str = ""


@attrs.frozen
class LoadedFile:
    """A module that was made of a file: what was compiled, by path, and when those files were last written."""

    module: ModuleType
    content: dict[Path, bytes]
    stamps: dict[Path, tuple[int, int]]


_files: dict[Path, LoadedFile] = {}


def parse_reference(text: str, folder: Path) -> Reference | None:
    """What a text refers to, None where it has not the form of a reference; a file is relative to `folder`.

    Nothing is loaded, and no file is looked at.
    """
    where, colon, name = text.rpartition(":")
    if not colon or not where or not name.isidentifier():
        return None
    if where.endswith(".py"):
        return Reference(text, name, file=folder / where)
    steps = where.split(".")
    return Reference(text, name, module=where) if all(step.isidentifier() for step in steps) else None


def registered_names() -> list[str]:
    """The names of kernels that installed packages register; none of them is loaded."""
    return sorted({point.name for point in _entry_points()})


def load_kernel(text: str, folder: Path = Path()) -> Kernel:
    """The kernel that `text` refers to; a file is relative to `folder`. This runs the module.

    Raises ContractError: for what is no reference, what is not there, what fails as it is loaded, what is no kernel.
    """
    found = parse_reference(text, folder) or _registered(text)
    if found.file is not None:
        loaded = _load_file(found.file, text)
        kernel = _named(loaded.module, found, str(found.file))
        root = found.file.resolve().parent
        keep_tree(kernel, {path.relative_to(root).as_posix(): content for path, content in loaded.content.items()})
        return kernel
    return _named(_load_module(found.module, text), found, found.module)


def _entry_points() -> "EntryPoints":
    """What installed packages register. That module brings a parser of e-mail: it is imported when it is asked."""
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _registered(text: str) -> Reference:
    for point in _entry_points():
        if point.name == text:
            return Reference(text, point.attr, module=point.module)
    known = registered_names()
    near = get_close_matches(text, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    wanted = "wanted file.py:name, package.module:name"
    names = f", or one of {', '.join(known)}" if known else f"; no installed package registers one ({GROUP})"
    raise ContractError("kernel_reference", f"kernel {text}", f"got no reference to a kernel, {wanted}{names}{hint}")


def _named(module: ModuleType, reference: Reference, where: str) -> Kernel:
    kernels = [name for name, value in vars(module).items() if isinstance(value, Kernel)]
    value = vars(module).get(reference.name)
    if isinstance(value, Kernel):
        return value
    near = get_close_matches(reference.name, kernels, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    what = "has no such name" if value is None else "is no kernel: decorate it with @tessbed.kernel(outputs=[...])"
    got = f"{where} {what}" if value is None else f"{reference.name} in {where} {what}"
    there = f"; its kernels are {', '.join(kernels)}" if kernels else "; there is no kernel in it"
    raise ContractError("kernel_unknown", f"kernel {reference.text}", f"{got}{there}{hint}")


def _load_module(name: str, text: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            advice = "is it installed, or did you mean a file, as in ./kernel.py:name?"
            raise ContractError(
                "kernel_missing", f"kernel {text}", f"there is no module {error.name}; {advice}"
            ) from None
        raise _failed(error, text) from error
    except (Exception, SystemExit) as error:
        raise _failed(error, text) from error


def _load_file(path: Path, text: str) -> LoadedFile:
    path = path.resolve()
    known = _files.get(path)
    if known is not None and all(_stamp(file) == stamp for file, stamp in known.stamps.items()):
        return known
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ContractError("kernel_missing", f"kernel {text}", f"the file {path} {what}")
    _files[path] = _loaded(path, text)
    return _files[path]


def _loaded(path: Path, text: str) -> LoadedFile:
    content: dict[Path, bytes] = {}

    class Recorder(SourceFileLoader):
        """Compiles the bytes of the file, never what was compiled before, and keeps them."""

        def get_code(self, fullname: str) -> Any:
            source = Path(self.get_filename(fullname)).resolve()
            content[source] = self.get_data(str(source))
            return self.source_to_code(content[source], str(source))

    number = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    spec = spec_from_file_location(f"tessbed_kernel_{number}_{path.stem}", path, loader=Recorder("", str(path)))
    assert spec is not None
    spec.loader = Recorder(spec.name, str(path))
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        with _from_folder(path.parent, Recorder):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise _failed(error, text) from error
    return LoadedFile(module, content, {file: _stamp(file) for file in content})


@contextmanager
def _from_folder(folder: Path, loader: type[SourceFileLoader]) -> Iterator[None]:
    """Modules of the folder are loaded by `loader`, then forgotten: another folder may have the same names."""

    class Finder(MetaPathFinder):
        """Finds what is in the folder, and in packages there."""

        def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
            for place in [str(folder)] if path is None else path:
                if Path(place).is_relative_to(folder) and fullname.partition(".")[0] in own:
                    found = FileFinder(place, (loader, [".py"])).find_spec(fullname)
                    if found is not None and found.loader is not None:
                        return found
            return None

    own = _own_modules(folder)
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in own}
    for name in before:
        del sys.modules[name]
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in own]:
            del sys.modules[name]
        sys.modules.update(before)


def _own_modules(folder: Path) -> list[str]:
    """The names that a module of the folder may import from there; the standard library's and tessbed stay theirs."""
    names = [path.stem for path in sorted(folder.glob("*.py"))]
    names += [path.parent.name for path in sorted(folder.glob("*/__init__.py"))]
    return [name for name in names if name not in sys.stdlib_module_names and name != "tessbed"]


def _failed(error: BaseException, text: str) -> ContractError:
    """A module that fails as it is loaded, with the line of the failure."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(FOREIGN)]
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{error.filename}:{error.lineno}"
    else:
        where = next((f"{frame.filename}:{frame.lineno}" for frame in reversed(frames)), "its module")
    said = f"{error.where}: {error.text}" if isinstance(error, ContractError) else f"{type(error).__name__}: {error}"
    return ContractError("kernel_load", f"kernel {text}", f"its module fails as it is loaded, at {where}: {said}")


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, -1
    return stat.st_mtime_ns, stat.st_size
