"""Looking a conversion up: a table without it refuses it by name."""

import pytest

from tessbed.kernels.conversions import CONVERSIONS, look_up
from tessbed.kernels.errors import ContractError
from tessbed.kernels.operations import OPERATIONS


def test_every_row_names_known_conversions() -> None:
    """And no conversion is without an operation."""
    assert {pair.conversion for row in OPERATIONS.values() for pair in row.scalars} == set(CONVERSIONS)


@pytest.mark.parametrize(("table", "held"), [({"copy": 1, "join": 2}, "copy, join"), ({}, "none")])
def test_what_a_table_does_not_hold(table: dict[str, int], held: str) -> None:
    """The error names what was asked, who was asked, and what there is."""
    with pytest.raises(ContractError) as caught:
        look_up(table, "widen", "the rows of a test")
    assert caught.value.code == "conversion_unsupported"
    assert f"got 'widen', but the rows of a test has {held};" in str(caught.value)


def test_what_a_table_holds() -> None:
    """Its entry."""
    assert look_up({"copy": 7}, "copy", "a test") == 7
