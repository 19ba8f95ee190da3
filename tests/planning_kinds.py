"""Random kinds of launches whose planning is measured: a geometry for any number of tiles, a device, and workers.

A kind has one shape of tile, operation, order in memory, gaps and cut ends; of its axes one or two grow, and all others
stay. So a larger launch of a kind is more of the same. Any rank, any axes mapped to any others, any operation.
"""

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any

import attrs

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.kernels.errors import ContractError
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.firmware_models.planning.test_launch_summary import packet_geometry
from tests.geometries import FAMILY, KINDS, ROUNDINGS, Kind
from tests.oracle import WIDTHS, Geometry

PIXELS, CHANNELS = (1, 1, 2, 3, 4, 5, 6, 7, 8, 32), (1, 3, 5, 7, 16, 17, 24, 32, 33, 64, 200)
"""Extents of tiles."""
WORKERS = (1, 2, 3, 4, 4, 7, 8, 16)


@attrs.frozen
class RandomKind:
    """Launches that differ in nothing but how far one or two axes go."""

    geometry: Callable[[int, int], Geometry]
    spec: DeviceSpec
    workers: int

    @classmethod
    def of(cls, seed: int, largest: tuple[int, int]) -> "RandomKind":
        """The first kind drawn from a seed that is admitted at the largest size, too."""
        rng = Random(seed)
        while True:
            kind = cls(_shapes(rng), _device(rng), rng.choice(WORKERS))
            try:
                kind.bound(*largest)
            except ContractError:
                continue
            return kind

    def bound(self, rows: int, columns: int) -> PacketGeometry:
        """The launch of about so many tiles along the two axes."""
        return packet_geometry(self.geometry(rows, columns), Random(1))


@attrs.frozen
class _Axes:
    """Of each axis: elements of a tile, tiles while it does not grow, and by how many elements its last tile is cut."""

    tiles: list[int]
    counts: list[int]
    cuts: list[int]

    def shape(self, grow: tuple[int, int], sizes: tuple[int, int]) -> tuple[int, ...]:
        """Extents where the axes `grow` have as many tiles as make a launch of the product of `sizes`."""
        counts, (first, second) = [*self.counts], grow
        others = prod(count for axis, count in enumerate(counts) if axis not in grow)
        counts[second] = sizes[1]
        counts[first] = max(1, prod(sizes) // (others * (sizes[1] if first != second else 1)))
        return tuple([count * tile - cut for count, tile, cut in zip(counts, self.tiles, self.cuts, strict=True)])


def _shapes(rng: Random) -> Callable[[int, int], Geometry]:
    """A geometry by the sizes of two axes."""
    rank, kind = rng.choice((1, 2, 3, 3, 3, 4, 5, 6)), rng.choice([*KINDS, *FAMILY])
    blocked = kind[0] in ("detesscast", "detessdequant") and rank >= 3 and rng.random() < 0.4
    mapped = (-1, rank - 3, rank - 2, rank - 1) if blocked else _mapped(rng, rank)
    tile = tuple([1 if axis < 0 else rng.choice(PIXELS) for axis in mapped[:3]]) + (rng.choice(CHANNELS),)
    of_axis = {axis: extent for axis, extent in zip(mapped, tile, strict=True) if axis >= 0}
    tiles = [of_axis.get(axis, 1) for axis in range(rank)]
    axes = _Axes(tiles, [rng.randint(1, 5) for _ in tiles], [rng.choice((0, 0, rng.randrange(of))) for of in tiles])
    grow = rng.randrange(rank), rng.randrange(rank)
    order, gaps = _memory(rng, rank)
    options = _options(rng, kind)
    layout = {"cblocked": tile[1:]} if blocked else {"axes": mapped, "tile": tile, "pad16": rng.random() < 0.3}
    width = WIDTHS[kind[2] or kind[1]]

    def geometry(rows: int, columns: int) -> Geometry:
        shape = axes.shape(grow, (rows, columns))
        return Geometry(kind[0], shape, kind[1], strides_bytes=_strides(shape, order, gaps, width), **layout, **options)

    return geometry


def _mapped(rng: Random, rank: int) -> tuple[int, int, int, int]:
    """Which axes are D, H, W and C: the channels often the last, the others in any order."""
    channel = rank - 1 if rng.random() < 0.7 else rng.randrange(rank)
    free = [axis for axis in range(rank) if axis != channel]
    if rng.random() < 0.4:
        rng.shuffle(free)
    d, h, w = ([-1] * 3 + (free if rng.random() < 0.7 else rng.sample(free, rng.randint(0, len(free)))))[-3:]
    return d, h, w, channel


def _memory(rng: Random, rank: int) -> tuple[list[int], list[int]]:
    """The axes by how far their elements are apart, the nearest first, and the gap behind each in scalars."""
    order = [*range(rank)][::-1]
    if rng.random() < 0.3:
        order = [*order[1:], order[0]]
    elif rng.random() < 0.15:
        rng.shuffle(order)
    gapped = rng.random() < 0.6
    return order, [rng.choice((0, 0, 1, 16, rng.randrange(64))) if gapped else 0 for _ in order]


def _strides(shape: tuple[int, ...], order: list[int], gaps: list[int], width: int) -> tuple[int, ...]:
    strides, span = [0] * len(shape), width
    for axis, gap in zip(order, gaps, strict=True):
        strides[axis] = span + gap * width
        span += (shape[axis] - 1) * strides[axis]
    return tuple(strides)


def _options(rng: Random, kind: Kind) -> dict[str, Any]:
    op, _, to = kind
    quantized = op in ("quanttess", "detessdequant")
    scales = {"scale_bits": 0x3F000000, "zero_point": 0, "rounding": rng.choice(ROUNDINGS)} if quantized else {}
    return {"to": to, **scales}


def _device(rng: Random) -> DeviceSpec:
    """Half of them the default device; else one on which all differs that planning depends on."""
    if rng.random() < 0.5:
        return DeviceSpec()
    dma = {
        "wait_group": rng.choice((1, 4, 16, 64)),
        "field_bits": rng.choice((12, 16, 16, 24)),
        "burst_bytes": rng.choice((64, 256, 1024)),
    }
    changes = {
        "write_granule_bytes": rng.choice((16, 32, 64, 128, 512)),
        "byte_strobes": rng.random() < 0.2,
        "slots": rng.choice((1, 2, 2, 3, 4, 8)),
        "scratch_bytes": 65536 + rng.choice((5120, 8192, 16384, 65536)),
        "memory": {"access_bytes": rng.choice((32, 64, 128))},
        "dma": dma,
    }
    return override(DeviceSpec(), changes)
