"""What `import tessbed` exports: documented, each with an example that is executed, and loaded on first use."""

import doctest
import inspect
import subprocess
import sys

import pytest

import tessbed

EXPORTED = [name for name in tessbed.__all__ if not name.startswith("__")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented(name: str) -> list[tuple[str, object]]:
    """The exported object, and the public methods and properties that its class defines."""
    thing = getattr(tessbed, name)
    inner = vars(thing).items() if inspect.isclass(thing) else ()
    fields = {field.name for field in getattr(thing, "__attrs_attrs__", ())}
    public = [(f"{name}.{key}", value) for key, value in inner if not key.startswith("_") and key not in fields]
    return [(name, thing), *((key, value) for key, value in public if callable(value) or hasattr(value, "__doc__"))]


@pytest.mark.parametrize("name", EXPORTED)
def test_examples(name: str) -> None:
    """Each export has a docstring with an example, and every example of it and of its methods prints what it says."""
    runner, finder = doctest.DocTestRunner(optionflags=FLAGS, verbose=False), doctest.DocTestFinder(recurse=True)
    found = finder.find(getattr(tessbed, name), name, globs={})
    assert found[0].examples
    for example in found:
        runner.run(example)
    assert runner.failures == 0


@pytest.mark.parametrize("name", EXPORTED)
def test_everything_public_is_documented(name: str) -> None:
    """No method or property of an exported class is without words."""
    assert [key for key, thing in documented(name) if not inspect.getdoc(thing)] == []


@pytest.mark.parametrize("name", ["tess", "Ev74"])
def test_help_says_what_axes_and_tile_are(name: str) -> None:
    """`help(tessbed.tess)` explains `axes` and `tile`; so does what Ev74's operations lead to."""
    text = inspect.getdoc(tessbed.tess) or ""
    assert "`axes` has one letter for each axis" in text
    assert "`tile`\nhas the elements of a full tile along each of D, H, W, C that `axes` names" in text
    assert "tessbed.tess" in (inspect.getdoc(tessbed.Ev74.tess) or "")


def test_import_stays_cheap() -> None:
    """`import tessbed` loads no library, and each name that it exports is there on first use."""
    code = (
        "import sys; before = set(sys.modules); import tessbed; "
        "assert {name.partition('.')[0] for name in set(sys.modules) - before} == {'tessbed'}; "
        f"[getattr(tessbed, name) for name in {EXPORTED}]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dir_lists_what_is_exported() -> None:
    """`dir(tessbed)` has every export."""
    assert set(tessbed.__all__) == set(dir(tessbed))
