"""A program of its own: calls whose buffers lie flush against protected pages, inputs read-only. A fault ends it.

Run as `python -m tests.kernels.a65.guard_pages OP`. It prints each case before it runs it, so that the last line names
the culprit. Bytes are compared too: a call that reads nothing would pass otherwise.
"""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.geometries import name_of
from tests.kernels.a65.running import backend_of, engines, noise, using
from tests.oracle import Geometry, expected_output
from tests.requests import request_of

PAGE = mmap.PAGESIZE
READ, WRITE = mmap.PROT_READ, mmap.PROT_WRITE
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Guarded:
    """`count` bytes between two pages that nobody may touch: flush against the one behind, or the one before."""

    def __init__(self, count: int, alignment: int, *, at_end: bool) -> None:
        self.pages = -(-(count + alignment) // PAGE)
        self.mapping = mmap.mmap(-1, (self.pages + 2) * PAGE)
        self.all = np.frombuffer(self.mapping, np.uint8)
        self.address = self.all.ctypes.data
        first = PAGE + (self.pages * PAGE - count if at_end else 0)
        assert (self.address + first) % alignment == 0
        self.view = self.all[first : first + count]
        protect(self.address, PAGE, 0)
        protect(self.address + (self.pages + 1) * PAGE, PAGE, 0)

    def freeze(self) -> None:
        """Makes the bytes between the guards read-only."""
        protect(self.address + PAGE, self.pages * PAGE, READ)


def protect(address: int, count: int, access: int) -> None:
    """mprotect, or OSError."""
    if LIBC.mprotect(address, count, access):
        raise OSError(ctypes.get_errno(), "mprotect failed")


def geometries(op: str) -> Iterator[Geometry]:
    """C = 8, 17, 32 wide tiles, both paddings, full and partial last tiles, dense and scattered channels."""
    dtypes = (("bf16", "fp32"), ("bf16", "bf16")) if op == "detesscast" else (("int8", None), ("bf16", None))
    widths = (8, 17, 32)
    for (dtype, to), tile, pad16, partial in product(dtypes, widths, (False, True), (False, True)):
        channels, fill = 2 * tile + (3 if partial else 0), -7 if pad16 else 0
        width = {"int8": 1, "bf16": 2, "fp32": 4}[to or dtype]
        for shape, mapped in (((channels,), (-1, -1, -1, 0)), ((3, 18, channels), (-1, 0, 1, 2))):
            whole = (1, *((1, 1) if len(shape) == 1 else (2, 17)), tile)
            yield Geometry(op, shape, dtype, mapped, whole, pad16, to=to, fill=fill)
            if len(shape) == 3:
                for strides in ((18 * width, width, 54 * width), (width, 3 * width, 54 * width)):
                    yield Geometry(op, shape, dtype, mapped, whole, pad16, strides_bytes=strides, to=to, fill=fill)
    for (dtype, to), channels, pad16 in product(dtypes, (1, 2, 3, 5, 9), (False, True)):
        fill = -7 if pad16 else 0
        yield Geometry(op, (2, 19, channels), dtype, (-1, 0, 1, 2), (1, 2, 19, 16), pad16, to=to, fill=fill)
        width = {"int8": 1, "bf16": 2, "fp32": 4}[to or dtype]
        strides = (19 * width, width, 38 * width)
        shape = (2, 19, channels)
        yield Geometry(op, shape, dtype, (-1, 0, 1, 2), (1, 2, 19, 16), pad16, strides_bytes=strides, to=to, fill=fill)
    if op == "detesscast":
        for channels, to in product((8, 17, 32, 35), ("fp32", "bf16")):
            yield Geometry(op, (3, 18, channels), "bf16", cblocked=(2, 17, 32), to=to)


def run(geometry: Geometry, *, at_end: bool) -> None:
    """One call, then the comparison."""
    backend = backend_of(geometry.op)
    prepared = backend.check_inference(request_of(geometry))
    plan = prepared.plan
    source = Guarded(plan.input.required_bytes, plan.input.alignment_bytes, at_end=at_end)
    target = Guarded(plan.output.required_bytes, plan.output.alignment_bytes, at_end=at_end)
    content = noise(plan.input.required_bytes)
    source.view[:], target.view[:] = np.frombuffer(content, np.uint8), 0xC3
    source.freeze()
    backend.execute(prepared, [source.view], [target.view])
    assert target.view.tobytes() == expected_output(geometry, content)


def main(op: str) -> None:
    """Every geometry of `op` on every engine, with the guard behind and with the guard before."""
    for name in engines():
        with using(name):
            for geometry, at_end in product(geometries(op), (True, False)):
                print(name, name_of(geometry), "guard behind" if at_end else "guard before", flush=True)
                run(geometry, at_end=at_end)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
