"""TOML source: every value keeps its place, every syntax error has one."""

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.toml_source import parse_toml

TEXT = """\
name = "x"  # remark
[device]
dma = { outstanding = 8, "a.b" = 1 }
[[jobs]]
shape = [
  1,
  [2, 3],  # remark
]
linear . strides_bytes = [16]
[jobs.input]
pattern = 'golden'
[[jobs]]
'name' = "π, then more"
[[jobs.faults]]
worker = 1
"""

PLACES = [
    (("name",), (1, 1), (1, 8)),
    (("device",), (2, 2), (2, 2)),
    (("device", "dma"), (3, 1), (3, 7)),
    (("device", "dma", "outstanding"), (3, 9), (3, 23)),
    (("device", "dma", "a.b"), (3, 26), (3, 34)),
    (("jobs",), (4, 3), (4, 3)),
    (("jobs", 0), (4, 3), (4, 3)),
    (("jobs", 0, "shape"), (5, 1), (5, 9)),
    (("jobs", 0, "shape", 0), (6, 3), (6, 3)),
    (("jobs", 0, "shape", 1, 1), (7, 7), (7, 7)),
    (("jobs", 0, "linear", "strides_bytes"), (9, 1), (9, 26)),
    (("jobs", 0, "linear", "strides_bytes", 0), (9, 27), (9, 27)),
    (("jobs", 0, "input", "pattern"), (11, 1), (11, 11)),
    (("jobs", 1, "name"), (13, 1), (13, 10)),
    (("jobs", 1, "faults", 0, "worker"), (15, 1), (15, 10)),
    (("jobs", 1, "nowhere", 3), (12, 3), (12, 3)),
]


@pytest.mark.quick
@pytest.mark.parametrize(("path", "key", "value"), PLACES, ids=lambda entry: ".".join(map(str, entry)))
def test_places(path: tuple[str | int, ...], key: tuple[int, int], value: tuple[int, int]) -> None:
    """A key and its value are found on their line and column; what is absent, at the table around it."""
    source = parse_toml(TEXT, "f.toml")
    assert (source.place(path).line, source.place(path).column) == value
    if path in source.keys:
        assert (source.keys[path].line, source.keys[path].column) == key


def test_columns_count_characters() -> None:
    """A column counts characters, not bytes, before it."""
    source = parse_toml('a = { "ππ" = 1, b = 2 }', "f.toml")
    assert source.places["a", "b"].column == 21


def test_values_are_those_of_tomllib() -> None:
    """The values are the parser's, untouched."""
    assert parse_toml(TEXT, "f.toml").values["jobs"][1] == {"name": "π, then more", "faults": [{"worker": 1}]}


LITERALS = [
    "0xC3", "0o17", "0b11", "500_000", "+1", "-0", "1e3", "inf", "-nan", "1979-05-27", "1979-05-27T07:32:00Z",
    "07:32:00",
    '"""a\nb"""', "'''a'''", '"\\u00e9"', "[ ]", "{ }", "[1, 2, ]", "[[1], [\n2 # x\n]]", "{ a.b = 1, 'c' = [{}] }",
]  # fmt: skip


def leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of everything inside a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(leaf for step, inner in pairs for leaf in leaves(inner, (*path, step)))]


@pytest.mark.parametrize("literal", LITERALS)
def test_every_value_has_a_place(literal: str) -> None:
    """Both parsers agree on every kind of value: nothing that tomllib reads is without a place, before or behind it."""
    source = parse_toml(f"a = {literal}\n[t . 'u']\nb = {literal}\n[[v]]\nc.d = 1\n[[v]]\n[v.w]\nx = 1\n", "f")
    assert set(leaves(source.values)) == {(), ("t",), *source.places}


SYNTAX = [
    ("name = ", "f:1:8: TOML syntax: Invalid value"),
    ("a = 1\nname = head", "f:2:8: TOML syntax: Invalid value; no TOML value: text needs quotes"),
    ("a = 1\na = 2", "f:2:6: TOML syntax: Cannot overwrite a value; this key is already set"),
    ("[a]\n[a]", "f:2:3: TOML syntax: Cannot declare ('a',) twice; this table was begun before"),
    ("a = [1, 2", "f:1:10: TOML syntax: Unclosed array; the list is not closed with ]"),
    ('a = "x', "f:1:7: TOML syntax: Unterminated string; the text is not closed with its quote"),
    ("a = { b = 1", "f:1:12: TOML syntax: Unclosed inline table; the table is not closed with }"),
    ("a = {\n b = 1 }", "f:1:6: TOML syntax: Invalid initial character for a key part; wanted a key here"),
    ("just words", "f:1:6: TOML syntax: Expected '=' after a key in a key/value pair; wanted `key = value`"),
    ("a = 1 b = 2", "f:1:7: TOML syntax: Expected newline or end of document after a statement; one statement a line"),
    ("a = " + "[" * 4000, "f:1:1: TOML that can not be read: nested too deeply"),
    ("a = " + "9" * 5000, "f:1:1: TOML that can not be read: "),
]


@pytest.mark.parametrize(("text", "message"), SYNTAX, ids=[text[:20] for text, _ in SYNTAX])
def test_syntax_errors(text: str, message: str) -> None:
    """A syntax error is one problem with a place and words for people."""
    with pytest.raises(ScenarioError) as caught:
        parse_toml(text, "f")
    assert len(caught.value.problems) == 1
    assert str(caught.value).startswith(message)


def test_columns_of_a_long_line() -> None:
    """Every item of a long line keeps its place, among characters of one to four bytes."""
    items = ["ab", "é", "漢字", "🙂", "", "z̈"] * 50
    line = "a = [" + ", ".join(f'"{item}"' for item in items) + "]"
    source = parse_toml(f'b = "🙂"\n{line}\n', "f.toml")
    at = len("a = [") + 1
    for index, item in enumerate(items):
        assert source.places["a", index].column == at
        at += len(f'"{item}", ')
