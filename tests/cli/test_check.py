"""`tessbed check`: exit codes, the table, the document, and what it says of what can not be."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tessbed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HEAD = """\
import numpy as np
import tessbed

FORM = {"inputs": {"src": "uint8[n]"}, "outputs": {"dst": "uint8[n]"}}


def same(source, target):
    target[...] = source


"""
KERNELS = {
    "unjudged": (0, "unjudged: ", "yield w.band(src[box], dst[box], same)"),
    "off_by_one": (1, "WRONG: wrong bytes", "yield w.band(src[box], dst[box], lambda s, t: np.add(s, 1, out=t))"),
    "divides": (3, "FAULT: exception", "yield w.band(src[box], dst[box], lambda s, t: 1 // 0)"),
    "foreign": (3, "FAULT: foreign_event", "yield 42"),
    "beyond": (4, "HAZARD: misuse", "yield w.band(src[box[0].start : box[0].stop + 1], dst[box], same)"),
}


def source(name: str, line: str) -> str:
    """A file with one kernel whose loop has that line."""
    judged = "" if name == "unjudged" else f"\n\n@{name}.reference\ndef expected(src, *, n):\n    return src\n"
    head = f"@tessbed.kernel(**FORM)\ndef {name}(w, src, dst, *, n=3000):\n    for box in w.own(dst):\n"
    return f"{HEAD}{head}        {line}\n{judged}"


@pytest.mark.parametrize("name", KERNELS)
def test_the_exit_code_is_that_of_the_verdict(tessbed: Tessbed, tmp_path: Path, name: str) -> None:
    """Each verdict has its code and its last line, and names the line of the file; the document says the same."""
    code, ending, line = KERNELS[name]
    file = tmp_path / "mine.py"
    file.write_text(source(name, line))
    said = tessbed("check", f"{file}:{name}", "--arg", "n=3000")
    assert said.code == code
    assert said.out.splitlines()[-1].startswith(ending)
    assert (f"mine.py:14: {line}" in said.out) == (code > 0)
    document = json.loads(tessbed("check", f"{file}:{name}", "--arg", "n=3000", "--json").out)
    assert [place["line"] for trouble in document["troubles"] for place in trouble["lines"]][:1] == [14][: code > 0]


def test_the_race_that_ships(tessbed: Tessbed) -> None:
    """The example says its line, on both sides, and ends with 4."""
    said = tessbed("check", f"{EXAMPLES / 'race.py'}:race")
    assert said.code == 4
    assert said.out.count("  race.py:11: yield from w.pack(") >= 2
    assert "granule_race" in said.out.splitlines()[-1]


@pytest.mark.parametrize("name", ["copy", "planes", "reduce", "transpose"])
def test_the_other_examples_are_right(tessbed: Tessbed, name: str) -> None:
    """Each example that is not wrong on purpose is right, small."""
    small = {"copy": "rows=9", "planes": "rows=9", "reduce": "n=9000", "transpose": "rows=9"}[name]
    said = tessbed("check", f"{EXAMPLES / name}.py:{name}", "--arg", small)
    assert (said.code, said.out.splitlines()[-1][:26]) == (0, "ok: every byte right, noth")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py:copy"], "nowhere.py does not exist"),
        ([f"{EXAMPLES / 'copy.py'}:copi"], "did you mean copy?"),
        ([f"{EXAMPLES / 'copy.py'}:copy", "--arg", "rows"], '--arg: got "rows", wanted NAME=VALUE, such as rows=64'),
        ([f"{EXAMPLES / 'copy.py'}:copy", "--arg", "rows=many"], "argument rows: got 'many', wanted an integer"),
        ([f"{EXAMPLES / 'copy.py'}:copy", "--arg", "raws=3"], "did you mean rows?"),
        ([f"{EXAMPLES / 'copy.py'}:copy", "--set", "workers=3"], "wanted device.FIELD=VALUE"),
        ([f"{EXAMPLES / 'copy.py'}:copy", "--set", "device.worker=3"], "did you mean 'workers'?"),
        ([f"{EXAMPLES / 'copy.py'}:copy", "--device", "ev74-4cor"], "did you mean 'ev74-4core'?"),
    ],
)
def test_what_can_not_be(tessbed: Tessbed, arguments: list[str], message: str) -> None:
    """Exit code 2, one line on stderr that names what was written."""
    said = tessbed("check", *arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert said.err.count("\n") == 1
