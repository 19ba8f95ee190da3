"""The published JSON Schema: current, and in agreement with the reader."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tessbed.scenarios.format.json_schema import schema, schema_text
from tessbed.scenarios.library import catalogue
from tests.scenarios.texts import SMALL

PUBLISHED = Path(__file__).parents[3] / "docs" / "scenario.schema.json"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
KNOWN = {
    "$schema", "title", "description", "default", "type", "properties", "required", "additionalProperties", "items",
    "enum", "minimum", "maximum", "minItems", "maxItems", "minLength", "pattern", "anyOf", "if", "then", "else",
}  # fmt: skip


def complaints(value: Any, rule: Any, path: str = "") -> list[str]:
    """Where `value` breaks `rule`: the part of JSON Schema that ours uses."""
    if rule is False:
        return [path]
    assert set(rule) <= KNOWN
    if "anyOf" in rule:
        return [] if any(not complaints(value, other, path) for other in rule["anyOf"]) else [path]
    kind = rule.get("type")
    if kind and not (
        isinstance(value, TYPES[kind]) and not (kind in ("integer", "number") and isinstance(value, bool))
    ):
        return [path]
    broken = "enum" in rule and value not in rule["enum"]
    if isinstance(value, str):
        broken |= len(value) < rule.get("minLength", 0) or not re.search(rule.get("pattern", ""), value)
    if isinstance(value, int):
        broken |= not rule.get("minimum", value) <= value <= rule.get("maximum", value)
    found = [path] if broken else []
    if isinstance(value, list):
        found += [path] * (not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)))
        found += [bad for i, item in enumerate(value) for bad in complaints(item, rule["items"], f"{path}[{i}]")]
    if isinstance(value, dict):
        found += [f"{path}.{name}" for name in rule.get("required", ()) if name not in value]
        for name, inner in value.items():
            rest = rule.get("additionalProperties", {})
            known = rule.get("properties", {}).get(name, rest)
            found += complaints(inner, known, f"{path}.{name}") if known != {} else []
    if "if" in rule:
        found += complaints(value, rule["else" if complaints(value, rule["if"], path) else "then"], path)
    return found


def test_published() -> None:
    """docs/scenario.schema.json is what `tessbed validate --schema` prints."""
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_accepts_the_catalogue(name: str) -> None:
    """An editor with the schema finds nothing in a scenario that ships."""
    assert complaints(tomllib.loads(catalogue()[name].read_text(encoding="utf-8")), schema()) == []


REFUSED = [
    ('name = "small"', "", [".name"]),
    ('op = "tess"', 'op = "pack"', [".jobs[0].op"]),
    ("shape = [3, 5, 4]\ntiled", "shape = [3, true]\ntiled", [".jobs[0].shape[1]"]),
    ("tile = [1, 2, 2, 16]", "tile = [1]", [".jobs[0].tiled.tile"]),
    ('name = "small"', 'name = "small"\ndevice = { slots = 9, dma = { x = 1 } }', [".device.slots", ".device.dma.x"]),
    ('to = "fp32"', 'to = "fp32"\nspeed = 1', [".jobs[1].speed"]),
    ('name = "small"', 'name = "small"\ndevice.preset = ""', [".device.preset"]),
    ('op = "tess"', 'op = "tess"\nserver = "mla"', [".jobs[0].server"]),
    (
        "[[jobs]]",
        '[[jobs]]\nname = "n"\nop = "external"\nserver = "mla"\nshape = [1]\n[[jobs]]',
        [".jobs[0].ticks", ".jobs[0].shape"],
    ),
]


@pytest.mark.parametrize(("old", "new", "paths"), REFUSED, ids=[str(paths) for _, _, paths in REFUSED])
def test_refuses(old: str, new: str, paths: list[str]) -> None:
    """What the reader refuses for its kind, an editor marks too."""
    assert complaints(tomllib.loads(SMALL), schema()) == []
    assert complaints(tomllib.loads(SMALL.replace(old, new, 1)), schema()) == paths


KERNEL = {"name": "mine", "jobs": [{"name": "copy", "kernel": "copy.py:copy", "args": {"rows": 64}}]}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"buffers": {"src": {"pattern": "ramp", "offset": 3}}, "workers": 2}, []),
        ({"args": {"rows": "many"}}, [".jobs[0].args.rows"]),
        ({"op": "tess"}, [".jobs[0].op"]),
        ({"kernel": 3}, [".jobs[0].kernel"]),
        ({"speed": 3}, [".jobs[0].speed"]),
    ],
    ids=str,
)
def test_knows_jobs_of_kernels(changes: dict[str, Any], wrong: list[str]) -> None:
    """A job with the key kernel has the keys of such jobs, and no others."""
    job = {**KERNEL["jobs"][0], **changes}
    assert complaints({**KERNEL, "jobs": [job]}, schema()) == wrong
