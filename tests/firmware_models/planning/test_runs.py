"""Runs of nests: written out when they are asked for, and the bands that they bring."""

import random

import pytest

from tessbed.firmware_models.launch_outline import Outline
from tessbed.firmware_models.planning.blocks import BlockMaker
from tessbed.firmware_models.planning.launch_summary import NESTS, plan_nests
from tessbed.firmware_models.planning.parts import PartTable
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.bench_planning import KINDS
from tests.firmware_models.planning.test_launch_summary import packet_geometry, planned

LONG, KEPT = -1, 1 << 20
"""The most bands of a launch whose runs are kept."""


@pytest.fixture
def asked(monkeypatch) -> list[int]:
    """One for each time that the runs of a worker are written out."""
    found, blocks = [], BlockMaker.blocks
    monkeypatch.setattr(BlockMaker, "blocks", lambda maker, nodes: found.append(1) or blocks(maker, nodes))
    return found


def launch(most_kept: int) -> Outline:
    """Four workers, with some tens of different bands."""
    geometry, spec = packet_geometry(KINDS["tess, cut tiles, odd rows"](30, 30), random.Random(1)), DeviceSpec()
    nests = NESTS[geometry.packs](geometry, spec, 4)
    return plan_nests(PartTable(spec), [nests(worker) for worker in range(4)], most_kept=most_kept)


@pytest.mark.parametrize("most_kept", [LONG, KEPT])
def test_bands_are_a_sequence(most_kept: int) -> None:
    """Those of all workers, one by one, from behind, as a slice and in a row, whether runs were asked for or not.

    No two are equal, and equal ones share what they touch.
    """
    bands = (*launch(most_kept).bands,)
    assert {*bands} == {band for worker in planned(launch(most_kept)).workers for band in worker}
    assert len({*bands}) == len(bands) > 10
    assert tuple(map(launch(most_kept).bands.__getitem__, range(len(bands)))) == bands
    anew = launch(most_kept).bands
    assert (anew[-1], anew[2:9], len(anew)) == (bands[-1], [*bands[2:9]], len(bands))
    assert all(one.groups is other.groups for one in bands for other in bands if one.groups == other.groups)
    with pytest.raises(IndexError):
        anew[len(bands)]


def test_the_runs_of_a_long_launch_are_written_out_each_time(asked) -> None:
    """And are the same each time; those of others once, when planned. Bands that are known do not ask for a run."""
    long, kept = launch(LONG), launch(KEPT)
    first = planned(long)
    assert len(asked) == 8
    assert len(long.bands) == len({*long.bands})
    assert len(asked) == 8
    assert planned(long) == planned(kept) == first
    assert len(asked) == 12
    assert planned(kept) == first
    assert len(asked) == 12


def test_a_band_of_a_run_is_there_before_all_are_known(asked) -> None:
    """The runs of one worker bring its bands; those of the others are not written out for them."""
    outline = launch(LONG)
    bands = [outline.bands[band] for run in outline.workers[1] for band in run.bands]
    assert len(asked) == 1
    assert bands == [outline.bands[band] for run in outline.workers[1] for band in run.bands]
    assert len(asked) == 2
