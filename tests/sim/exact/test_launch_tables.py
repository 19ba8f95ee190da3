"""Launch tables: the makespans of `simulate`, in both forms, and in parts of a tick."""

from random import Random

import attrs
import numpy as np
import pytest

from tessbed.sim.errors import EngineError
from tessbed.sim.exact.engine import simulate
from tessbed.sim.exact.launch_tables import LaunchOrder, LaunchTables
from tessbed.sim.exact.prices import Prices
from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, TimedBand
from tessbed.sim.spec.device_spec import DeviceSpec, override

DEVICE = override(DeviceSpec(), {"cores": 3, "dma": {"read_channels": 2, "outstanding": 3}})


def program(random: Random) -> LaunchProgram:
    """A launch of a few bands and workers, drawn."""

    def cost() -> Cost:
        port = random.randint(1, 20)
        return Cost(random.randint(0, 30), port, port + random.randint(0, 20))

    def band() -> TimedBand:
        groups = tuple(tuple(cost() for _ in range(random.randint(1, 3))) for _ in range(random.randint(0, 2)))
        return TimedBand(groups, random.randint(0, 60), random.random() < 0.2, (cost(),), random.randint(1, 3))

    bands = tuple(band() for _ in range(4))
    runs = [(BandRun(tuple(random.choices(range(4), k=5)), random.randint(1, 20)),) for _ in range(5)]
    return LaunchProgram(bands, tuple(runs))


def order(launch: LaunchProgram) -> LaunchOrder:
    """The same without its prices."""
    bands = launch.bands
    sizes = tuple(tuple(len(group) for group in band.groups) for band in bands)
    return LaunchOrder(sizes, tuple(b.ordered for b in bands), tuple(b.descriptors for b in bands), launch.workers)


def prices(launches: list[LaunchProgram], device: DeviceSpec, scale: int) -> Prices:
    """The prices of launches on a device, each tick as `scale`."""
    bands = [band for launch in launches for band in launch.bands]
    costs = [cost for band in bands for group in (*band.groups, band.chain) for cost in group]
    return Prices(
        scale * np.array(costs, np.int64),
        scale * np.array([band.ticks for band in bands], np.int64),
        scale * device.launch_stagger_ticks,
        scale * device.relaunch_ticks,
        scale * device.dma.issue_ticks,
        scale * device.memory.read_latency_ticks,
        scale * device.memory.write_latency_ticks,
        device.dma.outstanding,
    )


@pytest.mark.parametrize("form", ["native", "python"])
@pytest.mark.parametrize("scale", [1, 64])
def test_makespans_are_those_of_the_engine(form: str, scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of launches timed together each ends as it does alone, and `scale` times as late at `scale` times the prices."""
    monkeypatch.setenv("TESSBED_EXACT", form)
    launches = [program(Random(seed)) for seed in range(12)]
    tables = LaunchTables.of([order(launch) for launch in launches])
    found = tables.makespans(DEVICE, prices(launches, DEVICE, scale), tables.everything)
    assert found.tolist() == [scale * simulate(DEVICE, launch).device_ticks for launch in launches]


def test_changed_names_the_launches_with_other_prices() -> None:
    """A transfer's cost and a band's ticks change their own launch, a setting all of them, and nothing none."""
    launches = [program(Random(seed)) for seed in range(4)]
    tables = LaunchTables.of([order(launch) for launch in launches])
    first = prices(launches, DEVICE, 1)
    assert tables.changed(first, prices(launches, DEVICE, 1)).tolist() == []
    costs, ticks = first.costs.copy(), first.ticks.copy()
    costs[tables.launches[0].transfers] += 1  # the first transfer of the second launch
    ticks[-1] += 1
    assert tables.changed(attrs.evolve(first, costs=costs, ticks=ticks), first).tolist() == [1, 3]
    assert tables.changed(attrs.evolve(first, outstanding=4), first).tolist() == [0, 1, 2, 3]


def test_ticks_beyond_62_bits_are_refused() -> None:
    """Prices at which a sum of ticks could leave the C form's integers raise EngineError."""
    launches = [program(Random(0))]
    tables = LaunchTables.of([order(launches[0])])
    far = attrs.evolve(prices(launches, DEVICE, 1), read_latency_ticks=1 << 58)
    with pytest.raises(EngineError, match="2\\*\\*61"):
        tables.makespans(DEVICE, far, tables.everything)
