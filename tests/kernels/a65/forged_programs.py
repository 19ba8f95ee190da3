"""A program of its own: row programs with altered numbers, run between guard pages. A fault ends it.

Run as `python -m tests.kernels.a65.forged_programs OP ENDS`. Every number of some programs takes values that an error
could give it. What is refused must have written nothing; what is not refused must stay inside the storage, at both ends
of the pages where ENDS is 2, at one of them in turn where it is 1.
"""

import struct
import sys
from collections.abc import Iterator

from tessbed.kernels.a65 import _rows
from tests.geometries import FAMILY, name_of, random_geometries
from tests.kernels.a65.guard_pages import Guarded
from tests.kernels.a65.running import backend_of, using
from tests.oracle import PACKING, PREFILL, Geometry
from tests.requests import request_of

LARGE = (1 << 31, 1 << 32, 1 << 60, 1 << 61, (1 << 62) + 7, (1 << 63) - 1, -(1 << 63))


def programs(op: str) -> Iterator[tuple[Geometry, bytes, int, int]]:
    """Geometries with their programs, and the bytes of the tiled and of the linear side."""
    for geometry in (*random_geometries(108, 5), *random_geometries(180, 5, FAMILY)):
        if geometry.op == op and 0 not in geometry.shape:
            with using("native"):
                prepared = backend_of(op).check_inference(request_of(geometry))
            ports = prepared.plan.input.required_bytes, prepared.plan.output.required_bytes
            tiled, linear = reversed(ports) if op in PACKING else ports
            yield geometry, prepared.program, tiled, linear


def forgeries(program: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Every number of `program` replaced, one at a time: (its index, its new value, the program)."""
    numbers = list(struct.unpack(f"={len(program) // 8}q", program))
    for at, right in enumerate(numbers):
        for value in (*LARGE, -1, 0, 1, 2, 3, 16, right - 1, right + 1, right + 16, right * 2, right * 1000):
            if value != right and -(1 << 63) <= value < 1 << 63:
                yield at, value, struct.pack(f"={len(numbers)}q", *numbers[:at], value, *numbers[at + 1 :])


def main(op: str, ends: int) -> None:
    """All forgeries; prints how many were refused and how many did no harm."""
    sides = Guarded(16), Guarded(16)
    refused = harmless = 0
    for geometry, program, tiled_bytes, linear_bytes in programs(op):
        print(name_of(geometry), flush=True)
        for turn, (at, value, forged) in enumerate(forgeries(program)):
            for phase in (None, 0, None)[(turn + at) % 2 :][:ends]:
                tiled, linear = (
                    side.place(count, phase) for side, count in zip(sides, (tiled_bytes, linear_bytes), strict=True)
                )
                target = tiled if op in PACKING else linear
                target[:] = PREFILL
                try:
                    _rows.run(forged, tiled.ctypes.data, tiled.size, linear.ctypes.data, linear.size)
                    harmless += 1
                except ValueError:
                    refused += 1
                    assert (target == PREFILL).all(), f"number {at} as {value} was refused after a write"
                assert all(side.is_clean(view.size) for side, view in zip(sides, (tiled, linear), strict=True)), (
                    at,
                    value,
                )
    print(f"{refused} {harmless}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
