"""Seeded random geometries, small and admitted by construction, that reach every corner of the contract.

Rank, operation and dtype are dealt in turn rather than drawn, so that every combination appears in any run of 36.
Everything else is drawn from `random.Random(seed)`: the same count and seed give the same list on every machine.
Strides follow the sorted-span rule (each at least the span of all smaller ones), with axes permuted and gaps added.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from random import Random
from typing import Any

from tests.oracle import WIDTHS, Geometry, linear_bytes

RANKS = (1, 2, 3, 4, 5, 6)
KINDS = tuple(product(("tess", "detess"), ("int8", "bf16"), (None,))) + (
    ("detesscast", "bf16", "fp32"),
    ("detesscast", "bf16", "bf16"),
)
FAMILY = (
    ("casttess", "bf16", "fp32"),
    ("casttess", "bf16", None),
    ("quanttess", "int8", "fp32"),
    ("detessdequant", "int8", "fp32"),
)
"""The operations that convert values: dealt apart, so that the lists of the others stay as they are."""
Kind = tuple[str, str, str | None]
SCALES = (0x437EFFFF, 0x41015A1D, 0x3F800000, 0x3C23D70A, 0x7F7FFFFF, 0x00000001, 0x3F000000)
"""Scales of real models, of 1 and of a half, and the limits of binary32."""
ROUNDINGS = ("nearest_even", "toward_zero", "up", "down")
CHANNELS = (1, 2, 3, 5, 8, 15, 16, 17, 18, 31, 32, 33, 48)
MAX_SCALARS = 1500
MAX_BYTES = 12000


def random_geometries(count: int, seed: int, kinds: Sequence[Kind] = KINDS) -> list[Geometry]:
    """`count` geometries; each side of each takes at most 12,000 bytes."""
    return [_fitting(Random(f"{seed}/{index}"), index, kinds) for index in range(count)]


def name_of(geometry: Geometry) -> str:
    """A short id for a test: operation, dtypes, shape, layout."""
    layout = (
        f"cblocked{list(geometry.cblocked)}"
        if geometry.cblocked
        else f"axes{list(geometry.axes or ())}tile{list(geometry.tile or ())}{'pad16' if geometry.pad16 else ''}"
    )
    strided = "" if geometry.strides_bytes is None else f"strides{list(geometry.strides_bytes)}"
    to = f"-{geometry.to}" if geometry.to else ""
    return f"{geometry.op}-{geometry.dtype}{to}-{list(geometry.shape)}-{layout}{strided}".replace(" ", "")


def _fitting(random: Random, index: int, kinds: Sequence[Kind]) -> Geometry:
    rank = RANKS[index % len(RANKS)]
    kind = kinds[index // len(RANKS) % len(kinds)]
    while True:
        geometry = _draw(random, rank, *kind)
        if linear_bytes(geometry) <= MAX_BYTES and tiled_size(geometry) <= MAX_BYTES:
            return geometry


def tiled_size(geometry: Geometry) -> int:
    """Bytes of the tiled side, tile by tile. The oracle counts them byte by byte: most of what drawing would take."""
    axes = geometry.axes or (-1, *range(len(geometry.shape) - 3, len(geometry.shape)))
    tile = geometry.tile or (1, *(geometry.cblocked or ()))
    d, h, w, c = (_cuts(1 if axis == -1 else geometry.shape[axis], part) for axis, part in zip(axes, tile, strict=True))
    group = 16 if geometry.pad16 or geometry.cblocked else 1
    rows = [-(-channels // group) * group * WIDTHS[geometry.dtype] for channels in c]
    tiles = sum(-(-pixels * row // 16) * 16 for pixels in map(prod, product(d, h, w)) for row in rows)
    return tiles * prod(extent for axis, extent in enumerate(geometry.shape) if axis not in axes)


def _cuts(extent: int, part: int) -> list[int]:
    """The parts that an extent is cut into."""
    return [min(part, extent - first) for first in range(0, extent, part)]


def _draw(random: Random, rank: int, op: str, dtype: str, to: str | None) -> Geometry:
    cblocked = op in ("detesscast", "detessdequant") and rank >= 3 and random.random() < 0.5
    axes = (-1, rank - 3, rank - 2, rank - 1) if cblocked else _axes(random, rank)
    shape = _shape(random, rank, axes[3])
    tile = _tile(random, shape, axes)
    pad16 = not cblocked and random.random() < 0.5
    return Geometry(
        op=op,
        shape=shape,
        dtype=dtype,
        axes=None if cblocked else axes,
        tile=None if cblocked else tile,
        pad16=pad16,
        cblocked=tile[1:] if cblocked else None,
        strides_bytes=_strides(random, shape, WIDTHS[to or dtype]) if random.random() < 0.6 else None,
        to=to,
        fill=random.randint(-128, 127) if op in ("tess", "quanttess") and dtype == "int8" else 0,
        **(_quantization(random) if op in ("quanttess", "detessdequant") else {}),
    )


def _quantization(random: Random) -> dict[str, Any]:
    zero_point = random.choice((-128, 0, 127, random.randint(-128, 127)))
    return {"scale_bits": random.choice(SCALES), "zero_point": zero_point, "rounding": random.choice(ROUNDINGS)}


def _axes(random: Random, rank: int) -> tuple[int, int, int, int]:
    free = list(range(rank))
    random.shuffle(free)
    channel = free.pop() if random.random() < 0.5 else rank - 1
    if channel in free:
        free.remove(channel)
    d, h, w = (free.pop() if free and random.random() < 0.75 else -1 for _ in range(3))
    return d, h, w, channel


def _shape(random: Random, rank: int, channel: int) -> tuple[int, ...]:
    shape, scalars = [0] * rank, 1
    for axis in sorted(range(rank), key=lambda axis: axis != channel):
        choices = CHANNELS if axis == channel else (1, 2, 2, 3, 4, 5, 7, 11)
        shape[axis] = random.choice([n for n in choices if scalars * n <= MAX_SCALARS])
        scalars *= shape[axis]
    if random.random() < 0.04:
        shape[random.randrange(rank)] = 0
    return tuple(shape)


def _tile(random: Random, shape: tuple[int, ...], axes: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    d, h, w = (1 if axis == -1 else _tile_extent(random, shape[axis], (1, 2, 3)) for axis in axes[:3])
    return d, h, w, _tile_extent(random, shape[axes[3]], (1, 3, 8, 16, 17, 32))


def _tile_extent(random: Random, extent: int, usual: tuple[int, ...]) -> int:
    """One of the usual extents, the whole axis, more than the axis, or anything between."""
    return random.choice([*usual, max(extent, 1), extent + 3, random.randint(1, max(extent, 1))])


def _strides(random: Random, shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Permuted axes, each stride at least the span inside it, with a gap of a few scalars on some of them."""
    order = list(range(len(shape)))
    if random.random() < 0.6:
        random.shuffle(order)
    else:
        order.reverse()
    strides, span = [0] * len(shape), width
    for axis in order:
        if shape[axis] == 1:
            strides[axis] = width * random.choice([0, 1, 5])
            continue
        strides[axis] = span + width * random.choice([0, 0, 1, 3, 13])
        span += max(shape[axis] - 1, 0) * strides[axis]
    return tuple(strides)
