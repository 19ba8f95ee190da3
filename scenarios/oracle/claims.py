"""Claims: what must hold of an output, as blocks of offsets with the bytes that belong there.

The claims of a case cover every byte of its output exactly once. Where it packs: each logical scalar, the padded
channels of each pixel, the alignment bytes of each tile. Where it unpacks: each logical scalar, and each gap that the
strides leave, which keeps the prefill. A block is a mesh of at most 2**15 places, so temporaries stay within a few MiB
whatever the tensor. Source: Detess document, "Numerical behavior"; Tess document, "Parameters and padding".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from tessbed.scenarios.oracle.byte_layout import (
    CHANNEL_BLOCK,
    TILE_ALIGNMENT_BYTES,
    ElementOffset,
    OracleCase,
    Tiling,
    Whole,
)
from tessbed.scenarios.oracle.operations import Value, value_of

BLOCK_ELEMENTS = 1 << 15

Mesh = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Claim:
    """`expected` must be at `offsets`, there where `real`.

    `anchor` is the index along each logical axis of the scalar that the byte belongs to or follows, `byte` counts
    from there; all arrays broadcast to the shape of `offsets`.
    """

    kind: str
    offsets: np.ndarray
    expected: np.ndarray | int
    anchor: tuple[Whole, ...]
    byte: Whole
    real: np.ndarray | None = None


def claims_of(case: OracleCase, source: np.ndarray, prefill: int) -> Iterator[Claim]:
    """Every claim of `case` on an output that held `prefill` before; `source` is the input's span as uint8."""
    if 0 in case.shape:
        return
    if case.packs:
        yield from _packed_scalars(case, source)
        yield from _padding(case)
        yield from _alignment(case)
    else:
        yield from _unpacked_scalars(case, source)
        yield from _gaps(case, prefill)


def _meshes(*extents: int) -> Iterator[Mesh]:
    """Open meshes of at most BLOCK_ELEMENTS elements that together hold every index of `extents` once."""
    cuts, elements = [], 1
    for extent in reversed(extents):
        step = max(1, min(extent, BLOCK_ELEMENTS // elements))
        elements *= step
        cuts.append([slice(first, min(first + step, extent)) for first in range(0, extent, step)])
    for box in product(*reversed(cuts)):
        yield tuple(np.ogrid[box])


def _scalar_meshes(
    case: OracleCase, tiling: Tiling
) -> Iterator[tuple[Mesh, tuple[ElementOffset, ElementOffset, ElementOffset, ElementOffset]]]:
    axes = (tiling.d, tiling.h, tiling.w, tiling.c)
    for mesh in _meshes(*_outer_extents(case), *(axis.extent for axis in axes)):
        d, h, w, c = (axis.of_element(index) for axis, index in zip(axes, mesh[-4:], strict=True))
        yield mesh, (d, h, w, c)


def _packed_scalars(case: OracleCase, source: np.ndarray) -> Iterator[Claim]:
    tiling = Tiling.of(case)
    for mesh, places in _scalar_meshes(case, tiling):
        anchor = _coordinates(case, mesh[:-4], mesh[-4:])
        address = _address(case, anchor)
        offsets = _tiled(tiling, _slice_number(case, mesh), places)
        read = [source.take(address + byte) for byte in range(case.linear_width)]
        for byte, expected in enumerate(_value(case, read)):
            yield Claim("scalar", offsets + byte * tiling.plane(places[3]), expected, anchor, byte)


def _unpacked_scalars(case: OracleCase, source: np.ndarray) -> Iterator[Claim]:
    tiling = Tiling.of(case)
    for mesh, places in _scalar_meshes(case, tiling):
        anchor = _coordinates(case, mesh[:-4], mesh[-4:])
        address = _address(case, anchor)
        stored = _tiled(tiling, _slice_number(case, mesh), places)
        read = [source.take(stored + byte * tiling.plane(places[3])) for byte in range(case.width)]
        for byte, expected in enumerate(_value(case, read)):
            yield Claim("scalar", address + byte, expected, anchor, byte)


def _value(case: OracleCase, read: list[np.ndarray]) -> Value:
    """The bytes of the output's scalars, low byte first."""
    return value_of(case.op, case.dtype, case.to or case.dtype)(read, dict(case.parameters))


def _padding(case: OracleCase) -> Iterator[Claim]:
    """Behind the logical channels of each pixel of a PadTo16 tile: the fill, or zero for BF16."""
    tiling = Tiling.of(case)
    if not tiling.padded:
        return
    axes, fill = (tiling.d, tiling.h, tiling.w), case.fill & 0xFF if case.dtype == "int8" else 0
    extents = (*(axis.extent for axis in axes), tiling.c.tiles, CHANNEL_BLOCK)
    for mesh in _meshes(*_outer_extents(case), *extents):
        *_, tile, lane = mesh
        d, h, w = (axis.of_element(index) for axis, index in zip(axes, mesh[-5:-2], strict=True))
        extent = tiling.c.of_tile(tile).extent
        c = tiling.c.of_tile(tile, extent + lane)
        low = _tiled(tiling, _slice_number(case, mesh), (d, h, w, c))
        anchor = _coordinates(case, mesh[:-5], (*mesh[-5:-2], tile * tiling.c.tile + extent - 1))
        real = np.broadcast_to(c.inside < tiling.stored(extent), low.shape)
        for byte in range(case.width):
            yield Claim("padding", low + byte * tiling.plane(c), fill, anchor, byte, real)


def _alignment(case: OracleCase) -> Iterator[Claim]:
    """At the end of each tile: zeros, whatever the fill."""
    tiling = Tiling.of(case)
    axes = (tiling.d, tiling.h, tiling.w, tiling.c)
    for mesh in _meshes(*_outer_extents(case), *(axis.tiles for axis in axes), TILE_ALIGNMENT_BYTES - 1):
        d, h, w, c = (axis.of_tile(index) for axis, index in zip(axes, mesh[-5:-1], strict=True))
        extents = (c.extent, d.extent, h.extent, w.extent)
        payload, byte = tiling.payload(*extents), mesh[-1]
        offsets = tiling.tile_start(_slice_number(case, mesh), d, h, w, c) + payload + byte
        first = tuple(index * axis.tile for index, axis in zip(mesh[-5:-1], axes, strict=True))
        real = np.broadcast_to(payload + byte < tiling.span(*extents), np.shape(offsets))
        yield Claim("alignment", np.asarray(offsets), 0, _coordinates(case, mesh[:-5], first), byte, real)


def _gaps(case: OracleCase, prefill: int) -> Iterator[Claim]:
    """Between the span of the axes with smaller strides and the next step of an axis: the prefill."""
    order = sorted((axis for axis, extent in enumerate(case.shape) if extent > 1), key=lambda axis: case.strides[axis])
    span = case.linear_width
    for level, axis in enumerate(order):
        stride, extent = case.strides[axis], case.shape[axis]
        yield from _gaps_along(case, prefill, order[level:], span)
        span += (extent - 1) * stride


def _gaps_along(case: OracleCase, prefill: int, moving: list[int], span: int) -> Iterator[Claim]:
    """The gaps between the steps of moving[0], for each index of the others; inner axes are at their last index."""
    axis = moving[0]
    extents = (*(case.shape[other] for other in moving[1:]), case.shape[axis] - 1, case.strides[axis] - span)
    for mesh in _meshes(*extents):
        index = dict(zip((*moving[1:], axis), mesh[:-1], strict=True))
        start = sum((i * case.strides[other] for other, i in index.items()), span)
        anchor = tuple(index.get(other, case.shape[other] - 1) for other in range(len(case.shape)))
        yield Claim("gap", start + mesh[-1], prefill, anchor, mesh[-1])


def _outer_extents(case: OracleCase) -> tuple[int, ...]:
    return tuple(case.shape[axis] for axis in case.outer)


def _slice_number(case: OracleCase, mesh: Mesh) -> Whole:
    """The number of the outer slice, row-major, from the first indices of `mesh`."""
    number: Whole = 0
    for extent, index in zip(_outer_extents(case), mesh, strict=False):
        number = number * extent + index
    return number


def _tiled(
    tiling: Tiling, outer: Whole, places: tuple[ElementOffset, ElementOffset, ElementOffset, ElementOffset]
) -> np.ndarray:
    return np.asarray(tiling.tile_start(outer, *places) + tiling.low_byte(*places))


def _coordinates(case: OracleCase, outer: Mesh, mapped: tuple[Whole, ...]) -> tuple[Whole, ...]:
    """The index along each logical axis, from the outer indices and those of d, h, w, c."""
    by_axis = dict(zip((*case.outer, *case.mapping[0]), (*outer, *mapped), strict=True))
    return tuple(by_axis[axis] for axis in range(len(case.shape)))


def _address(case: OracleCase, coordinates: tuple[Whole, ...]) -> np.ndarray:
    """The linear byte address of each scalar."""
    address: Whole = 0
    for index, stride in zip(coordinates, case.strides, strict=True):
        address = address + index * stride
    return np.asarray(address)
