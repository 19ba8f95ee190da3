"""TOML edit: one value of a text replaced or added, every other byte as it was.

A value that is there is replaced in its place. A new one goes to the end of its table: into the braces of an inline
table, or on a line of its own behind the last key; where there is no such table, it comes as an inline table.
"""

import tomllib
from collections.abc import Iterator
from typing import Any

from tessbed.scenarios.format.diagnostics import KeyPath
from tessbed.scenarios.format.toml_source import walk
from tessbed.scenarios.format.toml_writer import value_text


def with_value(text: str, path: KeyPath, value: Any) -> str:
    """The text, which is valid TOML, with the value at the path. Raises ValueError where there is no place for it."""
    raw = text.encode()
    found: dict[KeyPath, Any] = {}
    for at, _, node in walk(text, lambda node: node):
        found.setdefault(at, node)
    if path in found:
        node = found[path]
        return _spliced(raw, node.start_byte, node.end_byte, value_text(value))
    *way, name = path
    parent = tuple(way)
    if parent not in found:
        if len(path) < 2 or isinstance(name, int):
            raise ValueError(f"no place for {name!r}")
        return with_value(text, parent, {str(name): value})
    return _added(raw, found[parent], parent, str(name), value_text(value))


def _added(raw: bytes, node: Any, table: KeyPath, name: str, value: str) -> str:
    """The text with `name = value` in the table of that node: braces, a header, or a dotted key that begins it."""
    if node.type == "inline_table":
        inner = [child for child in node.named_children if child.type == "pair"]
        if not inner:
            return _spliced(raw, node.start_byte, node.end_byte, f"{{ {name} = {value} }}")
        return _spliced(raw, inner[-1].end_byte, inner[-1].end_byte, f", {name} = {value}")
    if node.parent.type == "pair":
        end = list(_names(node))[_depth(node, table) - 1].end_byte
        key = raw[node.start_byte : end].decode()
        return _line_behind(raw, node.parent, f"{key}.{name} = {value}")
    pairs = [child for child in node.parent.named_children if child.type == "pair"]
    return _line_behind(raw, pairs[-1] if pairs else node, f"{name} = {value}")


def _names(node: Any) -> Iterator[Any]:
    """The nodes of the names of a dotted key, in order."""
    for child in node.named_children:
        if child.type == "dotted_key":
            yield from _names(child)
        else:
            yield child


def _depth(node: Any, table: KeyPath) -> int:
    """How many names of a dotted key lead to the table that it begins."""
    names = [str(next(iter(tomllib.loads(f"{child.text.decode()} = 0")))) for child in _names(node)]
    return next(depth for depth in range(len(names) - 1, 0, -1) if [*table[-depth:]] == names[:depth])


def _line_behind(raw: bytes, node: Any, line: str) -> str:
    """The text with a line behind the one on which the node ends, indented like the one on which it begins."""
    end = raw.find(b"\n", node.end_byte)
    end = len(raw) if end < 0 else end
    start = raw.rfind(b"\n", 0, node.start_byte) + 1
    indent = raw[start : node.start_byte] if raw[start : node.start_byte].isspace() else b""
    newline = "\r\n" if raw[end - 1 : end] == b"\r" else "\n"
    at = end - (newline == "\r\n")
    return _spliced(raw, at, at, f"{newline}{indent.decode()}{line}")


def _spliced(raw: bytes, start: int, end: int, new: str) -> str:
    return (raw[:start] + new.encode() + raw[end:]).decode()
