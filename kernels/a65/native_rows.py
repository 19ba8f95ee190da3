"""The native engine: a plan as the program of integers that `_rows` executes in one call.

The extension is optional: it is absent after an install without a C compiler, unused when stale; `missing` says why.
The program's order of fields is the Program, Loop and Tiles structs of `_program.h`.
"""

import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tessbed.kernels.conversions import look_up
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import LIMIT_BYTES, Plan
from tessbed.kernels.storage import BoundStorage, Views
from tessbed.kernels.tiling import TileClass
from tessbed.native_build import load_extension

SOURCES = 0x2230E916
"""The number of the C sources that this module was written for."""

if TYPE_CHECKING:
    import tessbed.kernels.a65._rows as _rows

    missing = ""
else:
    _rows, missing = load_extension("tessbed.kernels.a65._rows", SOURCES)


PARAMETERS = ("scale", "zero_point", "rounding")
"""The parameters of conversions, by their packet fields, in the order of `_program.h`."""
CODES: dict[str, int] = {
    "copy": 1,
    "split": 2,
    "join": 3,
    "widen": 4,
    "narrow": 5,
    "quantize": 6,
    "dequantize": 7,
}
"""The conversions that the extension has rows for, by their codes in `_program.h`."""


def vectors() -> str:
    """The vector instructions in use: avx2, ssse3, neon, plain, or none without the extension."""
    return _rows.selected() if _rows else "none"


def compile_native(plan: Plan, classes: tuple[TileClass, ...]) -> bytes:
    """The program of a plan that is not empty; its size depends on nothing but the number of classes."""
    numbers = (*_geometry(plan, classes), *_outer(plan), *(number for tiles in classes for number in _tiles(tiles)))
    try:
        return struct.pack(f"={len(numbers)}q", *numbers)
    except struct.error:  # the step of a loop that makes none may be any number
        return struct.pack(f"={len(numbers)}q", *(min(number, LIMIT_BYTES) for number in numbers))


def _geometry(plan: Plan, classes: tuple[TileClass, ...]) -> Iterator[int]:
    spatial = tuple(len(axis.parts) for axis in plan.axes[1:])
    code = look_up(CODES, plan.conversion, "the table of the A65's native rows")
    yield from (code, plan.packs, plan.tile_format is TileFormat.CBLOCKED)
    yield from (plan.tiled_dtype.width, plan.linear_dtype.width)
    yield from (plan.channel_fill, len(plan.outer))
    yield from (len(classes) // (spatial[0] * spatial[1] * spatial[2]), *spatial)
    yield from (axis.stride_bytes for axis in plan.axes)
    yield from (plan.tiled.required_bytes, plan.linear.required_bytes)
    given = dict(plan.parameters)
    yield from (given.get(name, 0) for name in PARAMETERS)


def _outer(plan: Plan) -> Iterator[int]:
    for axis in plan.outer:
        yield from (axis.extent, axis.tiled_stride_bytes, axis.linear_stride_bytes)


def _tiles(tiles: TileClass) -> tuple[int, ...]:
    return (
        *tiles.counts,
        *tiles.extents,
        tiles.tiled_offset,
        *tiles.tiled_steps,
        tiles.linear_offset,
        *tiles.linear_steps,
        tiles.stored_channels,
        tiles.span_bytes,
    )


def _never(program: bytes, inputs: Views, outputs: Views, /) -> bool:
    return False


attempt: Callable[[bytes, Views, Views], bool] = _rows.attempt if _rows else _never
"""Executes the program if the views are of the usual kind and surely right; else nothing happened.

The extension's function itself, because a small call is measured by the functions around it.
"""


def run_native(program: bytes, tiled: BoundStorage, linear: BoundStorage) -> None:
    """Executes the program on bound storage; the interpreter's lock is released meanwhile."""
    assert _rows is not None
    _rows.run(program, tiled.address, tiled.capacity, linear.address, linear.capacity)
