"""The tree: its layout, its packages, its quick start, and what no file of it may hold."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import tessbed
from tessbed.kernels import Op, a65, ev74, ops
from tests.native_sources import CALLERS, number_of, numbers_kept

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("firmware_models", "kernels", "runtime", "scenarios", "sim")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BINARY = {".bin", ".npy", ".png"}
IMPORTED_AS = {"attr": "attrs", "tree_sitter": "tree-sitter", "tree_sitter_toml": "tree-sitter-toml", "vcd": "pyvcd"}

# What a file must not name: a place on somebody's machine, a package registry, something left for later.
UNWANTED = {
    "a path of one machine": r"(?<![\w.])/(?:home|root|work|Users|tmp|opt)/\w",
    "a registry": r"registry\.npmjs|files\.pythonhosted|pypi\.org/simple",
    "something left for later": r"\b(?:TO[D]O|FIX[M]E|XX[X])\b",
}


def own_files() -> list[Path]:
    """The repository's own files, also those not yet committed; all Python files and pages where there is no git."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return [path for package in (*PACKAGES, "tests", "docs") for path in (ROOT / package).rglob("*.[pm][yd]")]
    files = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in files if path.is_file() and not path.is_symlink()]


def run(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """This Python with `arguments`; what it prints, on both streams."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=os.environ | environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [("--version",), ("--help",)], ids=" ".join)
def test_the_quick_answers_load_no_heavy_library(arguments):
    """`tessbed --version` and `--help` import neither numpy nor simpy."""
    code = (
        "import runpy, sys; sys.argv = ['tessbed', *sys.argv[1:]]\n"
        "try: runpy.run_module('tessbed', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code\n"
        "print([name for name in ('numpy', 'simpy', 'attrs') if name in sys.modules])"
    )
    assert run("-c", code, *arguments).stdout.splitlines()[-1] == "[]"


def test_one_version_everywhere():
    """The package, its metadata, the command line and the changelog name one version."""
    latest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert latest
    assert latest[1] == tessbed.__version__ == PROJECT["project"]["version"]
    assert run("-m", "tessbed", "--version").stdout == f"tessbed {tessbed.__version__}\n"


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_real_folders_seen_through_links(package):
    """Each package is a folder at the top, and `tessbed.PACKAGE` is that same folder."""
    assert (ROOT / package).is_dir()
    assert not (ROOT / package).is_symlink()
    assert os.readlink(ROOT / "tessbed" / package) == f"../{package}"


@pytest.mark.parametrize("op", [op.value for op in Op])
def test_an_operation_has_the_same_name_in_every_package(op):
    """Each operation is an attribute of each package that knows operations, made from its row."""
    assert {getattr(package, op).operation.name for package in (ops, a65, ev74)} == {op}


def test_every_module_says_its_one_job():
    """The first line of each module of the product is a docstring, except in empty `__init__` modules."""
    modules = [path for package in (*PACKAGES, "tessbed") for path in (ROOT / package).rglob("*.py")]
    silent = [path.relative_to(ROOT) for path in modules if path.stat().st_size and path.read_text()[:3] != '"""']
    assert silent == []


@pytest.mark.parametrize("kind", UNWANTED)
def test_no_file_holds_what_it_must_not(kind):
    """No file of the repository names a machine's paths, a registry, or something left for later."""
    pattern = re.compile(UNWANTED[kind])
    texts = {path: path.read_text() for path in own_files() if path.suffix not in BINARY}
    assert [
        f"{path.relative_to(ROOT)}: {hit[0]}" for path, text in texts.items() for hit in pattern.finditer(text)
    ] == []


def test_every_dependency_says_why():
    """Each dependency in pyproject.toml has its reason beside it."""
    text = (ROOT / "pyproject.toml").read_text()
    extras = PROJECT["project"]["optional-dependencies"].values()
    needed = [*PROJECT["project"]["dependencies"], *(name for names in extras for name in names)]
    assert [name for name in needed if not re.search(rf'"{re.escape(name)}"[\],]* *# \w', text)] == []


def test_the_product_needs_what_it_imports():
    """Each package that the product imports is declared, and each declared dependency is imported."""
    modules = [path for package in (*PACKAGES, "tessbed") for path in (ROOT / package).rglob("*.py")]
    imported = {name.split(".")[0] for path in modules for name in imports_of(path)}
    foreign = {IMPORTED_AS.get(name, name) for name in imported - sys.stdlib_module_names - {"tessbed"}}
    extras = PROJECT["project"]["optional-dependencies"]
    dependencies = names_of(PROJECT["project"]["dependencies"])
    optional = names_of(names for extra in extras if extra not in ("test", "check") for names in extras[extra])
    assert dependencies <= foreign <= dependencies | optional


def imports_of(path: Path) -> Iterator[str]:
    """The modules that a file imports, lazily or not."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def names_of(requirements: Iterable[str]) -> set[str]:
    """The packages without their versions."""
    return {re.split(r"[<>=\[; ]", requirement)[0] for requirement in requirements}


def test_help_lists_every_target():
    """`make help` explains each target that can be made by name."""
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    explained = re.findall(r"^([a-z-]+):.*## \w", makefile, re.MULTILINE)
    assert sorted(explained) == sorted(phony[1].split())


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """An sdist of the repository's files, and a wheel that was built from that sdist without a C compiler."""
    folder = tmp_path_factory.mktemp("packages")
    clone, built = folder / "a clone", folder / "built"
    for path in own_files():
        target = clone / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    for package in PACKAGES:
        (clone / "tessbed" / package).symlink_to(f"../{package}")
    build = "import sys; from setuptools import build_meta; getattr(build_meta, 'build_' + sys.argv[1])(sys.argv[2])"
    done = run("-c", build, "sdist", str(built), cwd=clone)
    assert done.returncode == 0, done.stdout
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        filtered = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since 3.11.4
        archive.extractall(folder / "unpacked", **filtered)  # pyright: ignore[reportArgumentType]
    [source] = (folder / "unpacked").iterdir()
    done = run("-c", build, "wheel", str(built), cwd=source, CC="false")
    assert done.returncode == 0, done.stdout
    [wheel] = built.glob("*.whl")
    return sdist, wheel


def test_the_wheel_holds_the_rooms_and_nothing_else(packages):
    """A wheel holds every module and data file of the product below `tessbed/`, the manual page, and no C source."""
    _, wheel = packages
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {
        f"{'' if path.is_relative_to(ROOT / 'tessbed') else 'tessbed/'}{path.relative_to(ROOT).as_posix()}"
        for path in own_files()
        if path.relative_to(ROOT).parts[0] in (*PACKAGES, "tessbed") and path.suffix not in (".c", ".h")
    }
    manual = f"tessbed-{tessbed.__version__}.data/data/share/man/man1/tessbed.1"
    assert held == {*wanted, manual}


def test_the_sdist_holds_the_c_sources(packages):
    """An sdist holds what a build with a compiler needs."""
    sdist, _ = packages
    with tarfile.open(sdist) as archive:
        held = {Path(name).name for name in archive.getnames()}
    assert {path.name for path in (ROOT / "kernels" / "a65").glob("*.[ch]")} <= held


def test_the_wheel_runs(packages, tmp_path):
    """What a wheel holds is enough to run a scenario on both backends."""
    _, wheel = packages
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    done = run("-m", "tessbed", "run", "documents-2x17", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.stdout.splitlines()[-1].startswith("ok: ")
    assert run("-c", "import tessbed; print(tessbed.__file__)", cwd=tmp_path).stdout.startswith(str(tmp_path))


FAMILIES = {
    "command",  # of the commands
    "document",  # of the reports
    "lines",
    "prepare",  # of the kernels
    "execute",
    "encode_relocatable",
    "check_inference",
    "Request",
    "Params",
    "Scenario",  # the admitted values, and what tessbed exports around them
}


def product() -> dict[str, Path]:
    """Every module of the product by its path from the root."""
    return {
        path.relative_to(ROOT).as_posix(): path
        for package in (*PACKAGES, "tessbed")
        for path in (ROOT / package).rglob("*.py")
        if package != "tessbed" or path.relative_to(ROOT).parts[1] not in PACKAGES
    }


def test_no_folder_is_crowded():
    """A folder holds at most 16 modules, but for the commands, which are one module each."""
    folders = [str(Path(name).parent) for name in product() if not name.endswith("__init__.py")]
    crowded = {folder: folders.count(folder) for folder in folders if folders.count(folder) > 16}
    assert set(crowded) <= {"tessbed/commands"}


def test_one_meaning_one_name():
    """No two modules define the same public class or function, but for families that have one role each."""
    where: dict[str, set[str]] = {}
    for name, path in product().items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                where.setdefault(node.name, set()).add(name)
    assert {name: sorted(found) for name, found in where.items() if len(found) > 1 and name not in FAMILIES} == {}


def names_imported(path: Path) -> Iterator[str]:
    """All names of modules that it may mean, wherever in its text: `from a import b` may import a, or a.b."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_import_circle():
    """No module leads back to itself by its imports, those for types and those in functions included."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    names = {
        ".".join(("tessbed", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in files
    }
    arrows = {
        name: sorted({found for found in names_imported(path) if found in names} - {name})
        for name, path in names.items()
    }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for other in arrows[name]:
                visit(other, (*path, name))
            done.add(name)

    for name in sorted(arrows):
        visit(name, ())


@pytest.mark.parametrize("name", CALLERS)
def test_extensions_know_their_sources(name):
    """The C source and its caller keep the number of the sources; python -m tests.native_sources writes it."""
    kept = numbers_kept(name)
    assert len(kept) == 2
    assert set(kept.values()) == {number_of(name)}
