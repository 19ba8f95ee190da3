"""Lower bounds: counted by runs, they are what they are band by band."""

import random

import attrs

from tessbed.firmware_models.planning.launch_summary import plan_launch
from tessbed.scenarios.study.lower_bounds import bounds_of
from tessbed.sim.exact.program import BandRun, unrolled
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.firmware_models.planning.test_launch_summary import HWC, packet_geometry, several
from tests.oracle import Geometry as Asked


def test_bounds_by_runs_are_those_of_each_band() -> None:
    """Random launches on devices of one slot to eight, with runs, and with the same bands in a run that comes once."""
    repeated = 0
    asked = Asked("tess", (100, 200, 16), "int8", HWC, (1, 1, 1, 16))
    specs = [override(DeviceSpec(), {"slots": slots}) for slots in range(1, 9)]
    grids = [(packet_geometry(asked, random.Random(spec.slots)), spec, 3) for spec in specs]
    for geometry, spec, workers in [*several(40, seed=11), *grids]:
        drawn = plan_launch(geometry, spec, workers)
        once = tuple((BandRun(tuple(unrolled(runs))),) if runs else () for runs in drawn.workers)
        assert bounds_of(drawn, spec) == bounds_of(attrs.evolve(drawn, workers=once), spec)
        repeated += any(run.times > 1 for runs in drawn.workers for run in runs)
    assert repeated > 5
