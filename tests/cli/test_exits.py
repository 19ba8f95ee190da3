"""Exit codes: every error that can reach a person has one, by the name of a class that exists."""

import pkgutil
from importlib import import_module

import pytest

import tessbed
from tessbed.commands.diagnostics import diagnostics
from tessbed.commands.exits import CODES, code_of, form_of

CLASSES = [
    ("tessbed.scenarios.format.diagnostics", "ScenarioError", 2),
    ("tessbed.kernels.errors", "ContractError", 2),
    ("tessbed.kernels.errors", "NotRepresentable", 2),
    ("tessbed.kernels.errors", "BindingError", 2),
    ("tessbed.kernels.ev74.codec", "PacketFault", 2),
    ("tessbed.sim.errors", "SpecError", 2),
    ("tessbed.runtime.errors", "SubmitError", 2),
    ("tessbed.runtime.errors", "QueueFull", 2),
    ("tessbed.runtime.errors", "GranuleConflict", 2),
    ("tessbed.runtime.errors", "CapabilityError", 2),
    ("tessbed.runtime.errors", "HeapExhausted", 2),
    ("tessbed.runtime.graph.graph", "GraphError", 2),
    ("builtins", "MemoryError", 2),
    ("builtins", "OSError", 2),
    ("builtins", "PermissionError", 2),
    ("tessbed.runtime.errors", "JobFault", 3),
    ("tessbed.runtime.errors", "JobLost", 3),
    ("tessbed.sim.errors", "DeviceFault", 3),
    ("tessbed.sim.errors", "HangError", 3),
    ("tessbed.sim.errors", "HazardError", 4),
    ("tessbed.runtime.errors", "LifetimeError", 4),
    ("tessbed.runtime.errors", "StateError", 4),
]


@pytest.mark.parametrize(("module", "name", "code"), CLASSES, ids=[name for _, name, _ in CLASSES])
def test_codes(module: str, name: str, code: int) -> None:
    """The class has its code, through its bases where it is not named itself."""
    kind = getattr(import_module(module), name)
    assert code_of(kind.__new__(kind)) == code


INSIDE = {
    "Pruned", "OrderDiverged", "CheckFailed",
    "ForeignYield", "EndlessKernel",  # of a kernel, whose job they end
    "FormatFault", "NestingError",
    "KernelCheckError", "UnexpectedOutcome",  # of Python and of pytest
    "IdleFaultError",  # of a load, which reports it
}  # fmt: skip
"""Caught where they are raised, or raised elsewhere than at the command line: they never end a command."""


def errors_of_the_packages() -> dict[str, type[Exception]]:
    """Every exception class that tessbed defines, by name."""
    found = {}
    for info in pkgutil.walk_packages(tessbed.__path__, "tessbed."):
        if info.name != "tessbed.__main__":
            values = vars(import_module(info.name)).values()
            here = [kind for kind in values if isinstance(kind, type) and kind.__module__ == info.name]
            found.update({kind.__name__: kind for kind in here if issubclass(kind, Exception)})
    return found


def test_every_error_has_a_code() -> None:
    """The packages raise no error of their own that ends in a traceback, and no code is that of a class that is
    gone."""
    found = errors_of_the_packages()
    assert {name for name, kind in found.items() if code_of(kind.__new__(kind)) is None} == INSIDE
    assert set(CODES) <= {*found, "MemoryError", "OSError", "ClickException"}


def test_a_bug_is_no_exit_code() -> None:
    """An error of ours keeps its traceback."""
    assert code_of(AssertionError()) is None
    assert code_of(KeyError("x")) is None


WORDS = [
    (FileNotFoundError(2, "No such file or directory", "x.toml"), "x.toml: No such file or directory"),
    (MemoryError(), "tessbed run: MemoryError"),
    (ValueError("say\nmore"), "tessbed run: say\nmore"),
    (ValueError("TESSBED_EXACT: got x"), "TESSBED_EXACT: got x"),
    (OSError(28, "No space left on device"), "tessbed run: No space left on device"),
    (FileNotFoundError(2, "gone", b"caf\xe9\x1b.toml"), "caf\\xe9\\x1b.toml: gone"),
]


@pytest.mark.parametrize(("error", "line"), WORDS, ids=[line for _, line in WORDS])
def test_words(error: Exception, line: str) -> None:
    """An error's words are never empty, and begin with a place: that of the command at least."""
    assert "\n".join(map(str, diagnostics(error, "tessbed run"))) == line


FORMS = [
    (["run", "--json"], "json"),
    ([], ""),
    (["run", "--", "--json"], ""),
    (["validate", "--format", "sarif"], "sarif"),
    (["validate", "--format=sarif", "--json"], "sarif"),
    (["validate", "--format=json"], "json"),
    (["run", "--set", "a=--json"], ""),
]


@pytest.mark.parametrize(("arguments", "form"), FORMS, ids=[" ".join(arguments) for arguments, _ in FORMS])
def test_the_form_of_a_command_line_that_can_not_be_read(arguments: list[str], form: str) -> None:
    """A document is asked for by its option, wherever that is in front of `--`."""
    assert form_of(arguments) == form
