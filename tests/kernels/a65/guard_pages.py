"""A program of its own: calls whose buffers lie flush against protected pages, inputs read-only. A fault ends it.

Run as `python -m tests.kernels.a65.guard_pages OP [SET [EVERY]]`, SET being `geometries` or `qualification`. It prints
each case before it runs it, so that the last line names the culprit. Bytes are compared too: a call that reads nothing
would pass otherwise. Each case runs on every engine, with streaming stores for no output and for every output, at both
ends of the pages and at other addresses between.
"""

import ctypes
import mmap
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np

from tessbed.kernels.a65 import native_rows
from tests.geometries import name_of
from tests.kernels.a65 import memory_cases
from tests.kernels.a65.running import backend_of, noise, using
from tests.oracle import PACKING, PREFILL, Geometry, expected_output
from tests.requests import request_of

PAGE = mmap.PAGESIZE
READ, WRITE = mmap.PROT_READ, mmap.PROT_WRITE
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
GUARD = 0x5A
NEVER = 1 << 62
PHASES = (4, 8, 16, 20, 32, 36, 48, 60)


Engines = Sequence[tuple[str, int]]
"""Names of engines, each with the bytes from which it streams."""


class Storage(Protocol):
    """Where a case keeps one side: `place` gives `count` bytes `phase` bytes behind a multiple of 64, or flush."""

    def place(self, count: int, phase: int | None) -> np.ndarray:
        """`count` bytes; with no phase they end where the storage ends."""
        ...

    def freeze(self, frozen: bool) -> None:
        """Makes the bytes read-only, or writable again."""
        ...

    def is_clean(self, count: int) -> bool:
        """Whether the bytes around the `count` placed ones are as they were."""
        ...


class Guarded:
    """Pages between two that nobody may touch. Bytes end at the one behind, or start at the one before."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.mapping = mmap.mmap(-1, (pages + 2) * PAGE)
        self.all = np.frombuffer(self.mapping, np.uint8)[PAGE:-PAGE]
        self.address = self.all.ctypes.data
        self.first = 0
        protect(self.address - PAGE, PAGE, 0)
        protect(self.address + pages * PAGE, PAGE, 0)

    def place(self, count: int, phase: int | None) -> np.ndarray:
        """A view of the pages, with guard bytes around it."""
        self.first = self.all.size - count if phase is None else phase
        self.all[:] = GUARD
        return self.all[self.first : self.first + count]

    def freeze(self, frozen: bool) -> None:
        """Protects the pages against writes, or no longer."""
        protect(self.address, self.pages * PAGE, READ if frozen else READ | WRITE)

    def is_clean(self, count: int) -> bool:
        """Whether the guard bytes are there."""
        return bool((self.all[: self.first] == GUARD).all() and (self.all[self.first + count :] == GUARD).all())


def protect(address: int, count: int, access: int) -> None:
    """mprotect, or OSError."""
    if LIBC.mprotect(address, count, access):
        raise OSError(ctypes.get_errno(), "mprotect failed")


def placings(width: int, case: int) -> tuple[int | None, ...]:
    """Phases for a linear side: flush against either page, and one other that changes from case to case."""
    return None, 0, PHASES[case % len(PHASES)] // width * width + (case // 8 % 2) * width


def run(geometry: Geometry, case: int, source: Storage, target: Storage, engines: Engines) -> None:
    """Every engine and placing on one geometry, each compared with the oracle."""
    backend = backend_of(geometry.op)
    packs = geometry.op in PACKING
    content = expected = None
    for name, stream_bytes in engines:
        with using(name, stream_bytes):
            prepared = backend.check_inference(request_of(geometry))
            ports = prepared.plan.input, prepared.plan.output
            if content is None:
                content = noise(ports[0].required_bytes)
                expected = expected_output(geometry, content)
            for phase in placings(ports[0 if packs else 1].alignment_bytes, case):
                tiled_phase = None if phase is None else phase // 16 * 16
                phases = (phase, tiled_phase) if packs else (tiled_phase, phase)
                print(f"{name}, streams from {stream_bytes} bytes, phase {phase}: {name_of(geometry)}", flush=True)
                views = [
                    side.place(port.required_bytes, at)
                    for side, port, at in zip((source, target), ports, phases, strict=True)
                ]
                views[0][:], views[1][:] = np.frombuffer(content, np.uint8), PREFILL
                source.freeze(True)
                backend.execute(prepared, [views[0]], [views[1]])
                assert views[1].tobytes() == expected, "wrong bytes"
                assert target.is_clean(len(views[1])), "bytes around the output changed"
                source.freeze(False)


def native_engines() -> Iterator[tuple[str, int]]:
    """The native engine with each kind of vectors, twice: streaming nothing, and streaming every output."""
    if not native_rows.missing:
        for vectors in import_module("tessbed.kernels.a65._rows").VECTORS:
            yield f"native {vectors}", NEVER
            yield f"native {vectors}", 0


def main(op: str, source: Storage, target: Storage, cases: str, every: int, engines: Engines) -> None:
    """Every geometry of `op` in a set of the memory cases, or one of `every` so many."""
    for case, geometry in enumerate(getattr(memory_cases, cases)(op)):
        if case % every == 0:
            run(geometry, case // every, source, target, engines)
    print("done", flush=True)


if __name__ == "__main__":
    op, cases, every, *_ = (*sys.argv[1:], *("", "geometries", "1")[len(sys.argv) - 1 :])
    main(op, Guarded(16), Guarded(16), cases, int(every), [("numpy", NEVER), *native_engines()])
