"""Order tables: a launch as the integers that `_exact` takes, without its prices. Beside `native`, with numpy."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tessbed.sim.exact import native
from tessbed.sim.exact.prices import Integers, Prices
from tessbed.sim.exact.program import BandRun
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec
from tessbed.sim.stats import STALLS

TICKS_FIELD = 2
"""Where a Band has its ticks."""


class OrderTables(NamedTuple):
    """What stays of a launch at other prices: groups, bands without their ticks, then what `run_tables` makes."""

    groups: "array[int]"
    bands: Integers
    order: "array[int]"
    runs: "array[int]"
    spans: "array[int]"


def order_tables(
    sizes: Sequence[Sequence[int]],
    ordered: Sequence[bool],
    descriptors: Sequence[int],
    workers: tuple[tuple[BandRun, ...], ...],
) -> OrderTables:
    """The tables of bands whose wait groups have so many transfers; transfers are counted in that order."""
    groups, rows, transfers = array("q"), [], 0
    for size, waits, segments in zip(sizes, ordered, descriptors, strict=True):
        first = len(groups) // 2
        for number in (*size, 1):
            groups.extend((transfers, number))
            transfers += number
        rows.append((first, len(size), 0, waits, first + len(size), segments))
    bands = np.array(rows, np.int64).reshape(-1, native.BAND_FIELDS)
    return OrderTables(groups, bands, *native.run_tables(workers))


def settings_at(spec: DeviceSpec, prices: Prices) -> "array[int]":
    """The settings of a device, its ticks at these prices."""
    return array("q", native.engine_settings(spec, prices.settings))


def makespan_in_c(settings: "array[int]", tables: OrderTables, costs: Integers, ticks: Integers) -> int:
    """The last finish of a launch; its ticks fit into 62 bits, which `launch_tables` sees to."""
    bands = tables.bands.copy()
    bands[:, TICKS_FIELD] = ticks
    figures, _ = native.figures_in_c(settings, costs, tables.groups, bands, tables.order, tables.runs, tables.spans)
    worker_fields = 2 + len(STALLS) + 6 * len(DIRECTIONS)
    finishes = np.frombuffer(figures, np.int64)[1 : len(tables.spans) // 2 * worker_fields : worker_fields]
    return int(finishes.max())
