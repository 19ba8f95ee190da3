"""The pace of Python's collector of cycles: slower within, and afterwards what it was."""

import gc

import pytest

from tessbed.sim.events.collector_pace import COLLECT_AFTER, rare_collections

PACES = [(700, 10, 10), (0, 10, 10), (COLLECT_AFTER + 1, 5, 5)]


@pytest.fixture(autouse=True)
def own_pace():
    """Whatever a test sets is set back."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize("pace", PACES, ids=["usual", "none", "slower"])
def test_the_pace_is_set_back(pace) -> None:
    """Any pace is there again afterwards, also where what runs within raises."""
    gc.set_threshold(*pace)
    with pytest.raises(KeyError), rare_collections():
        raise KeyError
    assert gc.get_threshold() == pace


@pytest.mark.parametrize(("pace", "within"), [*zip(PACES, (COLLECT_AFTER, 0, COLLECT_AFTER + 1), strict=True)])
def test_within_it_is_no_quicker_than_wanted(pace, within) -> None:
    """The usual pace becomes slower; none and a slower one stay."""
    gc.set_threshold(*pace)
    with rare_collections():
        assert gc.get_threshold() == (within, *pace[1:])
