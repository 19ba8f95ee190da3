"""The field table is closed: no gap, no overlap, no number that means two things."""

from itertools import combinations

import pytest

from tessbed.kernels import ChannelStorage, Op
from tessbed.kernels.ev74.fields import DTYPES, ENUMERATIONS, FIELDS, OPS, PACKET_BYTES, TILE_FORMATS, Field
from tessbed.kernels.operations import TileFormat
from tests.oracle import WIDTHS


def test_every_byte_belongs_to_exactly_one_field() -> None:
    """The fields cover bytes 0 to the packet's end, each once."""
    owned = [offset for field in FIELDS for offset in range(field.offset, field.end)]
    assert owned == list(range(PACKET_BYTES))


def test_fields_are_naturally_aligned() -> None:
    """A field's offset is a multiple of its width, so that firmware may load it with one instruction."""
    assert [field.name for field in FIELDS if field.offset % field.width] == []


@pytest.mark.parametrize("table", [OPS, DTYPES, TILE_FORMATS], ids=["op", "dtype", "tile format"])
def test_no_flipped_bit_turns_one_code_into_another(table: dict[int, str]) -> None:
    """Any two codes of an enumeration that selects behaviour differ in at least two bits."""
    assert all((one ^ two).bit_count() >= 2 for one, two in combinations(table, 2))


def test_the_tables_name_exactly_what_the_kernels_know() -> None:
    """Operations, moved scalar types and tile formats of the packet are those of the contract."""
    assert sorted(OPS.values()) == sorted(op.value for op in Op)
    assert sorted(DTYPES.values()) == sorted(WIDTHS)
    assert sorted(TILE_FORMATS.values()) == sorted(form.value for form in TileFormat)
    assert {storage.value for storage in ChannelStorage} < set(TILE_FORMATS.values())


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_limits_fit_their_field(field: Field) -> None:
    """A field's limits are in order and fit its width, and every value of an enumeration has a name."""
    assert 0 <= field.low <= field.limit < 2 ** (8 * field.width)
    assert bool(field.values) == bool(field.enum)
    assert not field.enum or field.enum in ENUMERATIONS
