"""Run totals: of the same launch they are what its nests say, both found anew."""

import random
from collections.abc import Sequence

import pytest

from tessbed.firmware_models.launch_outline import Outline
from tessbed.firmware_models.planning.launch_summary import NESTS, plan_nests
from tessbed.firmware_models.planning.nest_totals import NestTotals
from tessbed.firmware_models.planning.parts import PartTable
from tests.bench_planning import KINDS
from tests.firmware_models.planning.test_launch_summary import device, packet_geometry, several
from tests.planning_kinds import RandomKind

ALL = 1 << 40
"""More bands than any launch here has."""


def both(launches: Sequence) -> None:
    """Compare both totals of each launch."""
    for geometry, spec, workers in launches:
        nests = NESTS[geometry.packs](geometry, spec, workers)
        nodes = [nests(worker) for worker in range(workers)]
        walked: Outline = plan_nests(PartTable(spec), nodes, most_kept=ALL)
        assert not walked.long
        assert (walked.reads, walked.writes, walked.counts) == NestTotals.of(PartTable(spec), nodes).account()


@pytest.mark.parametrize("name", KINDS)
def test_kinds_whose_planning_is_measured_have_equal_totals(name) -> None:
    """At some thousand tiles, on a random device."""
    rng = random.Random(name)
    both([(packet_geometry(KINDS[name](50, 60), rng), device(rng), 3)])


def test_random_launches_have_equal_totals() -> None:
    """Launches of one tile and of hundreds, and kinds of bands that read from many tiles."""
    kinds = [RandomKind.of(seed, (3200, 3125)) for seed in range(50, 60)]
    both([*several(60, 77), *((kind.bound(20, 30), kind.spec, kind.workers) for kind in kinds)])
