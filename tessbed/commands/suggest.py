"""Suggestions: what a shell completes: scenarios and failure cases by name, files, dotted keys and their values.

Keys come from the table of scenario keys and from the fields of the device, as the JSON Schema has them; the entries of
lists from the scenario that the command line names, where it can be read. A suggestion never fails: whatever is wrong
with that file is no affair of whoever presses Tab.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

MOST_ENTRIES = 20
"""So many entries of a list are offered by number; `*` is all of them."""


def _item(value: str, **more: Any) -> Any:
    from click.shell_completion import CompletionItem

    return CompletionItem(value, **more)


def files(context: click.Context, incomplete: str) -> list[Any]:
    """Files, which the shell completes itself."""
    return [_item(incomplete, type="file")]


def scenarios(context: click.Context, incomplete: str) -> list[Any]:
    """The scenarios that ship, and files."""
    from tessbed.scenarios.shipped import catalogue

    return [*_named(catalogue(), incomplete), *files(context, incomplete)]


def suggested_failure_cases(context: click.Context, incomplete: str) -> list[Any]:
    """The failure cases that ship, and files."""
    from tessbed.scenarios.shipped import failure_cases as known

    return [*_named(known(), incomplete), *files(context, incomplete)]


def packets(context: click.Context, incomplete: str) -> list[Any]:
    """Packet files."""
    return files(context, incomplete)


def _named(known: dict[str, Path], incomplete: str) -> list[Any]:
    return [_item(name) for name in known if name.startswith(incomplete)]


def key_values(context: click.Context, incomplete: str) -> list[Any]:
    """Dotted keys, up to the `=`; behind it the values that the key chooses from, or its default."""
    from tessbed.scenarios.format.json_schema import schema

    key, equals, text = incomplete.partition("=")
    lists = _entries(context)
    if equals:
        found = next((node for path, node in _keys(schema(), (), lists) if ".".join(path) == key), {})
        return [_item(f"{key}={value}") for value in _values(found) if value.startswith(text)]
    matching = [(".".join(path), node) for path, node in _keys(schema(), (), lists)]
    return [_item(f"{k}=", help=node.get("description")) for k, node in matching if k.startswith(key)]


def varied(context: click.Context, incomplete: str) -> list[Any]:
    """The same for lists of values: the last one is completed."""
    key, equals, text = incomplete.partition("=")
    before, comma, last = text.rpartition(",")
    items = key_values(context, f"{key}{equals}{last}")
    given = f"{before}{comma}"
    return items if not given else [_item(f"{key}={given}{item.value.partition('=')[2]}") for item in items]


def _keys(node: dict[str, Any], path: tuple[str, ...], lists: dict[str, int]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every key that holds a value, with its schema; a list of tables has an entry `*`, and one for each number."""
    for name, inner in node.get("properties", {}).items():
        here = (*path, name)
        if "properties" in inner:
            yield from _keys(inner, here, lists)
        elif "properties" in inner.get("items", {}):
            count = min(MOST_ENTRIES, lists.get(name, 0)) if not path else 0
            for entry in ("*", *map(str, range(count))):
                yield from _keys(inner["items"], (*here, entry), lists)
        else:
            yield here, inner


def _values(node: dict[str, Any]) -> list[str]:
    if node.get("type") == "boolean":
        return ["true", "false"]
    default = node.get("default")
    named = [value for one in (node, *node.get("anyOf", ())) for value in one.get("enum", ())]
    return [*map(str, named)] if named else [] if default in (None, [], "") else [str(default)]


def _entries(context: click.Context) -> dict[str, int]:
    """How many entries the lists of the named scenario have."""
    import tomllib

    from tessbed.scenarios.shipped import catalogue

    for name in context.obj or ():  # the words of the line: Click parses none of them before an option has its value
        path = catalogue().get(name, Path(name))
        try:
            if path.is_file():
                values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
                return {key: len(value) for key, value in values.items() if isinstance(value, list)}
        except (OSError, ValueError, RecursionError):
            continue
    return {}
