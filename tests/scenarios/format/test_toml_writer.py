"""TOML text: what is written reads back as the same values."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessbed.scenarios import library
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.format.toml_writer import toml_text
from tessbed.scenarios.model import to_values

NAMES = st.text("abcdefghij_0123456789-", min_size=1, max_size=8)
PLAIN = st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.text("a \"'\\\n\t\r\x00\x1f\x7f\x80\u2028π😀", max_size=8)
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
TABLES = st.recursive(
    st.dictionaries(NAMES, VALUES, max_size=3),
    lambda inner: st.dictionaries(NAMES, inner | VALUES, max_size=3),
    max_leaves=6,
)


@given(TABLES, st.lists(st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES, max_size=2)), max_size=3))
def test_round_trip(table: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
    """Any values of the kinds that scenarios hold survive."""
    values = {**table, "jobs": jobs}
    assert tomllib.loads(toml_text(values)) == values


@pytest.mark.parametrize("name", sorted(library.catalogue()))
def test_resolved_scenarios(name: str) -> None:
    """A resolved scenario, written and read again, is the same scenario."""
    scenario = library.load(name)
    again = compose(parse_toml(toml_text(to_values(scenario)), "f"), library.catalogue()[name].parent)
    assert again == scenario
