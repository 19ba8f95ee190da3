"""The table of mutants does not rot, and the sandbox distinguishes a mutant that is caught from one that is not."""

from pathlib import Path

import attrs
import pytest

from tests.kernels.a65.sanitized import compiler
from tests.mutants.sandbox import Sandbox
from tests.mutants.table import ROOT, Mutant, read_table

MUTANTS = read_table()
PACKAGES = ("firmware_models", "kernels", "runtime", "scenarios", "sim", "tessbed")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_still_applies(mutant: Mutant) -> None:
    """Its old text occurs exactly once in its file and differs from the new one; the tests that must catch it exist."""
    assert mutant.found(ROOT) == 1
    assert mutant.new != mutant.old
    assert mutant.breaks
    assert mutant.tests
    assert [test for test in mutant.tests if not (ROOT / test).is_file()] == []


def test_every_package_has_its_mutants() -> None:
    """At least a hundred, with names of their own, in every package and in every C source that decides something."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 100
    assert {mutant.file.split("/")[0] for mutant in MUTANTS} == {*PACKAGES}
    assert {Path(mutant.file).name for mutant in MUTANTS if mutant.in_c} == {
        "_exact.c", "_load.c", "_rows.c", "_execute.h", "_move.h", "_program.h", "_convert.h", "_stage.h",
        "_movers.h", "_narrow.h", "_padded.h", "_pixels.h", "_relay.h",
    }  # fmt: skip


SMALL = Mutant("small", "small.py", "return 1", "return 2", "it is not one", ["test_small.py"])
OUTCOMES = {
    "killed": ("assert one() == 1", SMALL, "test_small.py::test_one"),
    "survived": ("assert one()", SMALL, ""),
    "does not apply": ("assert one()", attrs.evolve(SMALL, old="return 3"), "the old text occurs 0 times in small.py"),
    "not run": ("assert one()", attrs.evolve(SMALL, tests=["test_other.py"]), None),
}


@pytest.mark.parametrize("word", OUTCOMES)
def test_the_outcome_of_a_mutant(tmp_path: Path, word: str) -> None:
    """A sandbox reports the outcome of a mutant and what caught it, and leaves no mutant behind."""
    claim, mutant, detail = OUTCOMES[word]
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "small.py").write_text("def one():\n    return 1\n", encoding="utf-8")
    (tree / "test_small.py").write_text(f"from small import one\n\ndef test_one():\n    {claim}\n", encoding="utf-8")
    box = Sandbox.of(tree, tmp_path / "box", 60)
    outcome = box.try_mutant(mutant)
    assert outcome.word == word
    assert detail in (None, outcome.detail)
    assert outcome.good == (word == "killed")
    assert (box.root / "small.py").read_text(encoding="utf-8") == (tree / "small.py").read_text(encoding="utf-8")


def test_a_hang_is_caught(tmp_path: Path) -> None:
    """Tests that end too late count as caught, and none is left running."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "test_slow.py").write_text("import time\n\ndef test_slow():\n    time.sleep(60)\n", encoding="utf-8")
    outcome = Sandbox.of(tree, tmp_path / "box", 3).run_tests(("test_slow.py",))
    assert (outcome.word, outcome.detail) == ("killed", "no end within 3 s")


ONE_C = """#define Py_LIMITED_API 0x030B0000
#include <Python.h>
static PyObject *one(PyObject *module, PyObject *none) { (void)module, (void)none; return PyLong_FromLong(1); }
static PyMethodDef METHODS[] = {{"one", one, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static PyModuleDef MODULE = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "_one", .m_methods = METHODS};
PyMODINIT_FUNC PyInit__one(void) { return PyModule_Create(&MODULE); }
"""
ONE_PROJECT = """[project]
name = "one"
version = "1"
[tool.setuptools]
py-modules = []
[[tool.setuptools.ext-modules]]
name = "_one"
sources = ["_one.c"]
py-limited-api = true
"""


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_each_mutant_of_c_is_built(tmp_path: Path) -> None:
    """A mutant of C is judged by a build of its own, not by that of the one before."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "_one.c").write_text(ONE_C, encoding="utf-8")
    (tree / "pyproject.toml").write_text(ONE_PROJECT, encoding="utf-8")
    (tree / "test_one.py").write_text("import _one\n\ndef test_one():\n    assert _one.one() == 1\n", encoding="utf-8")
    box = Sandbox.of(tree, tmp_path / "box", 120)
    two, same = (
        Mutant(new, "_one.c", "Long(1)", new, "it is not one", ["test_one.py"]) for new in ("Long(2)", "Long(+1)")
    )
    assert [box.try_mutant(mutant).word for mutant in (two, same, two)] == ["killed", "survived", "killed"]
