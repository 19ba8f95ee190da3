"""Firmware with one bug each, of the kind that real firmware has had; none of them is in the product.

A mutant patches one or two names of the firmware. `geometry` and `changes` are a job in which the bug can show,
`kind` is what the checker calls it first, `corrupts` says whether some legal order can corrupt a byte, `always` that
every order does.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from types import ModuleType
from typing import Any

import attrs
import pytest

from tessbed.firmware_models import band as band_module
from tessbed.firmware_models import descriptors, worker_loop
from tessbed.firmware_models.ops import pack, unpack
from tessbed.firmware_models.vector_ops import Packer
from tests.oracle import Geometry

HWC = (-1, 0, 1, 2)
Patches = tuple[tuple[ModuleType | type, str, Any], ...]


@attrs.frozen
class Mutant:
    """One bug."""

    name: str
    patches: Patches
    geometry: Geometry
    changes: Mapping[str, Any]
    kind: str
    corrupts: bool = True
    always: bool = False

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The firmware has this bug."""
        with pytest.MonkeyPatch.context() as patch:
            for owner, name, bug in self.patches:
                patch.setattr(owner, name, bug)
            yield


def even_bytes(total: int, base: int, granule: int, workers: int, starts_near: Any) -> list[int]:
    """Physical output cut evenly, granules or not."""
    return [worker * total // workers for worker in range(workers + 1)]


def even_elements(levels: Any, width: int, base: int, granule: int, workers: int) -> list[int]:
    """Linear output cut evenly, granules or not."""
    total = prod(level.extent for level in levels)
    return [worker * total // workers for worker in range(workers + 1)]


def even_rows(levels: Any, width: int, base: int, granule: int, workers: int) -> list[int]:
    """Linear output cut at whole rows of the outermost axis."""
    inner, rows = prod(level.extent for level in levels[1:]), levels[0].extent if levels else 1
    return [worker * rows // workers * inner for worker in range(workers + 1)]


def even_tiles(total: int, base: int, granule: int, workers: int, starts_near: Any) -> list[int]:
    """Physical output cut at whole tiles, granules or not."""
    cuts = [next(iter(starts_near(worker * total // workers))) for worker in range(workers)]
    return [0, *cuts[1:], total]


def loop(
    *,
    gather: str = "gather",
    slot_wait: bool = True,
    chained: bool = True,
    end_wait: bool = True,
    early: bool = False,
) -> Callable[[Any, Any], Any]:
    """The worker loop, with one of its rules left out."""

    def run_bands(worker: Any, program: Any) -> Any:
        spec = worker.spec
        for number, (band, ordered) in enumerate(worker_loop.in_order(program, spec)):
            slot = number % spec.slots
            for group in worker_loop.wait_groups(band, spec):
                yield from getattr(worker, gather)(group, oversized=band.oversized)
            if slot_wait:
                yield from worker.wait_slot(slot)
            yield from worker.compute(band.ticks, Packer(worker.scratch, band.steps))
            if ordered:
                yield from worker.wait_drains("order")
            for chain in [band.chain] if chained else [[descriptor] for descriptor in band.chain]:
                yield from worker.drain(slot, chain)
        if end_wait:
            yield from worker.wait_drains()

    return run_bands


def never_ordered(program: Any, spec: Any) -> Any:
    """No drain waits for an earlier one."""
    return ((band, False) for band in program)


def narrowed(run_bytes: int, count: int, pitch: int, scratch_pitch: int, limit: int) -> Any:
    """Rows whose pitch is cut to the field."""
    yield descriptors.Descriptor(0, 0, count, run_bytes, pitch & limit, scratch_pitch)


def any_axis(axes: Any, extents: Any, strides: Any, dense: Any, limit: int) -> int | None:
    """The longest axis becomes the rows, whether its pitch fits or not."""
    return max(axes, key=lambda axis: extents[axis], default=None)


TILES = Geometry("tess", (24, 16, 5), "bf16", HWC, (1, 3, 16, 5))  # spans of 480 bytes
ROWS = Geometry("detess", (24, 20, 5), "int8", HWC, (1, 3, 20, 5))  # rows of 100 bytes
PITCHED = Geometry("detess", (24, 40, 20), "int8", HWC, (1, 2, 40, 20), strides_bytes=(901, 22, 1))
LONG = Geometry("detess", (64, 33, 17), "int8", HWC, (1, 1, 33, 17))  # bands of 561 bytes: seams inside granules
COPIES = Geometry("tess", (64, 64, 16), "int8", HWC, (1, 1, 64, 16))  # bands of 1,024 bytes, packed as they come
OVERSIZED = Geometry("tess", (9, 17), "bf16", (-1, -1, 0, 1), (1, 1, 9, 17), strides_bytes=(70000, 2))
ALONE = {"workers": 1}

MUTANTS = [
    Mutant("unaligned ownership, tess", ((pack, "cut_bytes", even_bytes),), TILES, {"workers": 7}, "granule_race"),
    Mutant("unaligned ownership, detess", ((unpack, "cut_elements", even_elements),), ROWS, {}, "granule_race"),
    Mutant("even row split", ((unpack, "cut_elements", even_rows),), ROWS, {}, "granule_race"),
    Mutant("even row split, strided", ((unpack, "cut_elements", even_rows),), PITCHED, {}, "granule_race"),
    Mutant("even tile split", ((pack, "cut_bytes", even_tiles),), TILES, {"workers": 5}, "granule_race"),
    Mutant(
        "unchained drain segments", ((worker_loop, "run_bands", loop(chained=False)),), PITCHED, ALONE, "slot_in_flight"
    ),
    Mutant("unordered consecutive drains", ((worker_loop, "in_order", never_ordered),), LONG, ALONE, "granule_race"),
    Mutant(
        "missing gather wait",
        ((worker_loop, "run_bands", loop(gather="prefetch")),),
        TILES,
        ALONE,
        "gather_not_retired",
    ),
    Mutant(
        "slot reused before its drain",
        ((worker_loop, "run_bands", loop(slot_wait=False)),),
        COPIES,
        ALONE,
        "slot_in_flight",
    ),
    Mutant(
        "scratch reused early",
        ((band_module.Budget, "slot", lambda self, band: band % self.slots * self.slot_bytes),),
        COPIES,
        {**ALONE, "slots": 1},
        "scratch_reused",
    ),
    Mutant(
        "completion before the last beat",
        ((worker_loop, "run_bands", loop(end_wait=False)),),
        TILES,
        ALONE,
        "completion",
    ),
    Mutant(
        "wrong slot parity",
        (
            (
                band_module.Budget,
                "slot",
                lambda self, band: self.gather_bytes + band // self.slots % self.slots * self.slot_bytes,
            ),
        ),
        COPIES,
        ALONE,
        "slot_in_flight",
    ),
    Mutant(
        "one row too many in a wait group",
        ((worker_loop, "OVERSIZED_GROUP", 5),),
        OVERSIZED,
        ALONE,
        "wait_group",
        corrupts=False,
    ),
    Mutant(
        "narrowed pitch",
        ((descriptors, "_rows", narrowed), (descriptors, "_rows_axis", any_axis)),
        OVERSIZED,
        ALONE,
        "bytes",
        always=True,
    ),
]
