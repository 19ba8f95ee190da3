"""Order tables: launches as the integers that `_exact` takes, without their prices. Beside `native`, with numpy.

The tables of many launches are one after the other, so that one call times any of them: what counts in one table counts
places of another, and is moved by what lies before its launch there.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tessbed.sim.exact import native
from tessbed.sim.exact.prices import Integers, Prices
from tessbed.sim.exact.program import BandRun
from tessbed.sim.spec.device_spec import DeviceSpec

TICKS_FIELD = 2
"""Where a Band has its ticks."""


class OrderTables(NamedTuple):
    """What stays of launches at other prices, rows of integers: groups, bands without ticks, what `run_tables` makes.

    `firsts` are the numbers of each launch's first span, and then that of all spans.
    """

    groups: Integers
    bands: Integers
    order: NDArray[np.int32]
    runs: Integers
    spans: Integers
    firsts: Integers


def order_tables(
    sizes: Sequence[Sequence[int]],
    ordered: Sequence[bool],
    descriptors: Sequence[int],
    workers: tuple[tuple[BandRun, ...], ...],
) -> OrderTables:
    """The tables of bands whose wait groups have so many transfers; transfers are counted in that order."""
    groups, rows, transfers = [], [], 0
    for size, waits, segments in zip(sizes, ordered, descriptors, strict=True):
        first = len(groups)
        for number in (*size, 1):
            groups.append((transfers, number))
            transfers += number
        rows.append((first, len(size), 0, waits, first + len(size), segments))
    order, runs, spans = native.run_tables(workers)
    return OrderTables(
        _rows(groups, 2),
        _rows(rows, native.BAND_FIELDS),
        np.array(order, np.int32),
        _rows(runs, 3),
        _rows(spans, 2),
        np.array([0, len(workers)], np.int64),
    )


def joined_tables(tables: Sequence[OrderTables]) -> OrderTables:
    """The tables of many launches, one after the other."""
    groups = _moved([one.groups for one in tables], [int(one.groups[:, 1].sum()) for one in tables], (1, 0))
    own = [len(one.groups) for one in tables]
    bands = _moved([one.bands for one in tables], own, (1, 0, 0, 0, 1, 0))
    order = _moved([one.order for one in tables], [len(one.bands) for one in tables], 1)
    runs = _moved([one.runs for one in tables], [len(one.order) for one in tables], (1, 0, 0))
    spans = _moved([one.spans for one in tables], [len(one.runs) for one in tables], (1, 1))
    firsts = np.array([0, *accumulate(len(one.spans) for one in tables)], np.int64)
    return OrderTables(groups, bands, order.astype(np.int32), runs, spans, firsts)


def settings_at(spec: DeviceSpec, prices: Prices) -> "array[int]":
    """The settings of a device, its ticks at these prices."""
    return array("q", native.engine_settings(spec, prices.settings))


def makespans_at(settings: "array[int]", tables: OrderTables, prices: Prices, wanted: Integers) -> Integers:
    """The last finishes of those launches; their ticks fit into 62 bits, which `launch_tables` sees to."""
    bands = tables.bands.copy()
    bands[:, TICKS_FIELD] = prices.ticks
    own = tables._replace(bands=bands)
    return np.frombuffer(native.makespans_in_c(settings, prices.costs, *own, wanted), np.int64)


def _rows(numbers: "Sequence[object] | array[int]", fields: int) -> Integers:
    return np.array(numbers, np.int64).reshape(-1, fields)


def _moved(parts: Sequence[NDArray[np.integer]], sizes: Sequence[int], fields: int | tuple[int, ...]) -> Integers:
    """Tables one after the other, each moved in those fields by the sizes before it."""
    starts = accumulate((0, *sizes[:-1]))
    moves = np.array(fields, np.int64)
    return np.concatenate([part + start * moves for part, start in zip(parts, starts, strict=True)])
