"""Notices: what is legal, and yet probably a slip, is noted once."""

import pytest

from tessbed.scenarios import library
from tessbed.scenarios.format.notices import notices

AXES = ["jobs.0.shape=[4, 4, 16]", "jobs.0.tiled.axes=[-1, 0, 1, 2]"]


@pytest.mark.parametrize("name", library.catalogue())
def test_none_in_the_catalogue(name: str) -> None:
    """What ships has no slip."""
    assert notices(library.load(name)) == []


@pytest.mark.parametrize(
    ("tile", "place"),
    [("[1, 4, 5, 16]", "tile[2]: 5 is more than the 4 elements of the axis w"), ("[1, 9, 9, 17]", "tile[1]: 9")],
)
def test_a_tile_larger_than_its_axis(tile: str, place: str) -> None:
    """One line names the first, and counts the others."""
    (line,) = notices(library.load("luma", [*AXES, f"jobs.0.tiled.tile={tile}"]))
    assert line.startswith(f"jobs[0].tiled.{place}")
    assert ("(and 2 more)" in line) == (tile == "[1, 9, 9, 17]")


def test_it_fits() -> None:
    """A tile as large as its axis is none."""
    assert notices(library.load("luma", [*AXES, "jobs.0.tiled.tile=[1, 4, 4, 16]"])) == []
