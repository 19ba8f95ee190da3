"""TOML source: the values of a scenario text, and the line and column of every key and value in it.

`tomllib` is the judge of the syntax and of the values, but it forgets where they were. tree-sitter keeps the places.
Both read the same text; a text that tomllib refuses is never walked.
"""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import KeyPath, Location, Problem, ScenarioError

# What tomllib says, and what helps somebody who does not write parsers.
PLAIN_WORDS = {
    "Invalid value": "no TOML value: text needs quotes, lists need [ ], tables need { }",
    "Expected '=' after a key": "wanted `key = value`",
    "Cannot overwrite a value": "this key is already set; a key may appear only once in its table",
    "Cannot declare": "this table was begun before; write it once, or use [[jobs]] for the next job",
    "Cannot mutate immutable namespace": "this table was written in { } and can not be added to",
    "Duplicate inline table key": "this key was set before in the same { }",
    "Unclosed array": "the list is not closed with ]",
    "Unclosed inline table": "the table is not closed with }; it must fit on one line",
    "Unterminated string": "the text is not closed with its quote",
    "Expected newline or end of document": "one statement a line; is a quote, comma or # missing?",
    "Invalid statement": "wanted `key = value`, [table] or [[jobs]]",
    "Expected ']' at the end of a table declaration": "the table's name is not closed with ]",
    "Invalid initial character for a key part": "wanted a key here; a table in { } must fit on one line",
    "Illegal character": "a character that is not allowed here; is a closing quote missing?",
    "Unescaped '\\' in a string": "write \\\\ for a backslash, or use single quotes",
}
# Far more than any key of a scenario, far less than what whoever walks the values by recursion can stand.
DEEPEST = 32
TOO_DEEP = "nested too deeply"
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@attrs.frozen
class Source:
    """A parsed scenario text: nested `values`, and the place of every key and of every value by its path."""

    name: str
    values: dict[str, Any]
    keys: dict[KeyPath, Location]
    places: dict[KeyPath, Location]

    def place(self, path: KeyPath) -> Location:
        """Where the value at `path` is, or the nearest table around it that has a location."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Location(self.name, 1, 1))

    def key_place(self, path: KeyPath) -> Location:
        """Where the key itself is."""
        return self.keys.get(path) or self.place(path)


def parse_toml(text: str, name: str) -> Source:
    """The values and places of `text`; `name` is what messages call it. Raises ScenarioError for a syntax error."""
    keys: dict[KeyPath, Location] = {}
    places: dict[KeyPath, Location] = {}
    if deep := deep_key(text):
        raise _too_deep(name, deep)
    try:
        values = tomllib.loads(text)
        for path, key, value in _walk(text):
            if len(path) > DEEPEST:
                raise _too_deep(name, value)
            if key is not None:
                keys.setdefault(path, Location(name, *key))
            places.setdefault(path, Location(name, *value))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_problem(text, name, str(error))]) from None
    except ScenarioError:
        raise
    except (ValueError, RecursionError) as error:
        reason = TOO_DEEP if isinstance(error, RecursionError) else str(error)
        raise ScenarioError([Problem(Location(name, 1, 1), f"TOML that can not be read: {reason}", "syntax")]) from None
    large = list(beyond_64_bits(values))
    if large:
        text = "got an integer of more than 64 bits, which TOML does not have"
        raise ScenarioError([Problem(places.get(path, Location(name, 1, 1)), text, "syntax") for path in large])
    return Source(name, values, keys, places)


def _too_deep(name: str, spot: "Spot") -> ScenarioError:
    return ScenarioError([Problem(Location(name, *spot), f"TOML that can not be read: {TOO_DEEP}", "syntax")])


def deep_key(text: str) -> "Spot | None":
    """Line and column of a dotted key of more than DEEPEST names: `tomllib` spends the square of their number on it."""
    if not any(line.count(".") >= DEEPEST for line in text.split("\n")):
        return None
    from tree_sitter import Language, Parser
    from tree_sitter_toml import language

    depth, cursor = 0, Parser(Language(language())).parse(text.encode("utf-8", "replace")).walk()
    while True:
        node: Any = cursor.node
        depth = depth + 1 if node.type == "dotted_key" else 0
        if depth >= DEEPEST:
            row, column = node.start_point
            return row + 1, column + 1
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return None


def depth_of(value: Any, limit: int) -> int:
    """How many tables and lists are nested in a value; more than `limit` are not counted."""
    level, depth = [value], 0
    while depth <= limit:
        level = [item for one in level if isinstance(one, dict | list) for item in _items(one)]
        if not level:
            break
        depth += 1
    return depth


def _items(value: dict[str, Any] | list[Any]) -> Iterator[Any]:
    return iter(value.values() if isinstance(value, dict) else value)


def beyond_64_bits(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of integers that no reader of TOML needs to take, signed or not; Python would take any."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from beyond_64_bits(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from beyond_64_bits(item, (*path, index))
    elif isinstance(value, int) and value.bit_length() > 64:
        yield path


def _syntax_problem(text: str, name: str, message: str) -> Problem:
    found = _POSITION.search(message)
    reason = message[: found.start()] if found else message
    if found and found.group(1):
        place = Location(name, int(found.group(1)), int(found.group(2)))
    else:
        lines = text.rstrip("\n").split("\n")
        place = Location(name, len(lines), len(lines[-1]) + 1)
    hint = next((words for start, words in PLAIN_WORDS.items() if reason.startswith(start)), "")
    return Problem(place, f"TOML syntax: {reason}" + (f"; {hint}" if hint else ""), "syntax")


Spot = tuple[int, int]
FoundKey = tuple[KeyPath, Spot | None, Spot]


def _walk(text: str) -> Iterator[FoundKey]:
    """(path, place of the key, place of the value) of everything in the text."""
    inner = [_inner_bytes(line) for line in text.split("\n")]

    def spot(node: Any) -> Spot:
        row, column = node.start_point
        return row + 1, column - bisect_left(inner[row], column) + 1

    return walk(text, spot)


def walk(text: str, spot: Callable[[Any], Any]) -> Iterator[tuple[KeyPath, Any, Any]]:
    """(path, `spot` of the key's node, `spot` of the value's node) of everything in the text, which is valid TOML.

    The key is None for an item of a list; a table has its header, or the dotted key that begins it, as key and value.
    """
    from tree_sitter import Language, Parser
    from tree_sitter_toml import language

    counts: dict[KeyPath, int] = {}
    for node in Parser(Language(language())).parse(text.encode()).root_node.named_children:
        table: KeyPath = ()
        if node.type in ("table", "table_array_element"):
            header = next(child for child in node.named_children if child.type != "comment")
            table = _resolved(_key(header), counts, grows=node.type == "table_array_element")
            yield table[:-1] if isinstance(table[-1], int) else table, spot(header), spot(header)
            yield table, spot(header), spot(header)
        for pair in [node] if node.type == "pair" else node.named_children:
            if pair.type == "pair":
                yield from _pair(table, pair, spot)


def _inner_bytes(line: str) -> list[int]:
    """Where the bytes of the line are that begin no character: the parser counts bytes, people count characters."""
    return [] if line.isascii() else [at for at, byte in enumerate(line.encode()) if byte & 0xC0 == 0x80]


def _resolved(path: KeyPath, counts: dict[KeyPath, int], *, grows: bool) -> KeyPath:
    """The header's path with the index of the newest element behind every name that is an array of tables."""
    full: KeyPath = ()
    for depth, step in enumerate(path, 1):
        full = (*full, step)
        if grows and depth == len(path):
            counts[full] = counts.get(full, -1) + 1
        if full in counts:
            full = (*full, counts[full])
    return full


def _pair(table: KeyPath, pair: Any, spot: Any) -> Iterator[FoundKey]:
    inner = [child for child in pair.named_children if child.type != "comment"]
    if len(inner) != 2:
        return
    key, value = inner
    steps = _key(key)
    for depth in range(1, len(steps)):
        yield (*table, *steps[:depth]), spot(key), spot(key)
    yield from _value((*table, *steps), spot(key), value, spot)


def _value(path: KeyPath, key: Spot | None, node: Any, spot: Any) -> Iterator[FoundKey]:
    yield path, key, spot(node)
    inner = [child for child in node.named_children if child.type != "comment"]
    if node.type == "inline_table":
        for pair in inner:
            yield from _pair(path, pair, spot)
    elif node.type == "array":
        for index, item in enumerate(inner):
            yield from _value((*path, index), None, item, spot)


def _key(node: Any) -> KeyPath:
    """The names of a bare, quoted or dotted key; tomllib undoes the quotes and escapes."""
    if node.type == "dotted_key":
        return tuple(step for child in node.named_children for step in _key(child))
    if node.type == "quoted_key":
        return tuple(tomllib.loads(f"{node.text.decode()} = 0"))
    return (node.text.decode(),)
