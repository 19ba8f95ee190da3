"""A row engine for `prepare` that runs each program on the emulated core, at both ends of protected pages.

A call runs twice: flush against the page behind and streaming nothing, then from the start of its pages and streaming
every output. The input's pages are read-only, the floating-point environment is another one for each run, and must be
the same behind it.
"""

import ctypes
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import attrs

from tessbed.kernels.a65 import native_rows, row_engine
from tessbed.kernels.storage import BoundStorage
from tests.kernels.a65.neon.machine import Machine, Region

PROGRAM, TILED, LINEAR = 0x3000_0000, 0x4000_0000, 0x6000_0000
PACKS, TILED_BYTES, LINEAR_BYTES = 1, 15, 16
"""Which integers of a row program say so (`_program.h`)."""
GUARD = 0x5A
NEVER = 1 << 62
ROUNDINGS = tuple(mode << 22 for mode in range(4))
FLUSHES = (0, 1 << 24, 1 << 25, 3 << 24)
FLAGS = (0, 0x9F | 1 << 27, 0x10)
"""None, all of them with the one of saturation, and inexact."""


@attrs.define
class Emulated:
    """The machine, where it keeps a program and both sides, and how many runs there were."""

    machine: Machine
    runs: Iterator[int] = attrs.field(factory=count)
    regions: tuple[Region, ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.regions = tuple(Region(self.machine.core, address) for address in (PROGRAM, TILED, LINEAR))

    def run(self, program: bytes, tiled: BoundStorage, linear: BoundStorage) -> None:
        """Executes a row program on copies of the two sides; the written one is copied back."""
        numbers = struct.unpack_from("=17q", program)
        sizes = numbers[TILED_BYTES], numbers[LINEAR_BYTES]
        sides = [ctypes.string_at(side.address, size) for side, size in zip((tiled, linear), sizes, strict=True)]
        written = 0 if numbers[PACKS] else 1
        results = [self._run_at(program, sides, written, at_end) for at_end in (True, False)]
        assert results[0] == results[1], "bytes depend on the place, or on streaming"
        ctypes.memmove((tiled, linear)[written].address, results[0], sizes[written])

    def _run_at(self, program: bytes, sides: list[bytes], written: int, at_end: bool) -> bytes:
        contents = (program, *sides)
        for region, content in zip(self.regions, contents, strict=True):
            region.hold(len(content), GUARD)
        places = [
            region.address + (region.size - len(content) if at_end else 0)
            for region, content in zip(self.regions, contents, strict=True)
        ]
        for place, content in zip(places, contents, strict=True):
            self.machine.core.mem_write(place, content)
        for number in (0, 2 - written):
            self.regions[number].freeze()
        self._call(places, len(program), at_end)
        region, first = self.regions[1 + written], places[1 + written] - self.regions[1 + written].address
        everything = region.all()
        behind = first + len(sides[written])
        assert not (everything[:first] + everything[behind:]).strip(bytes([GUARD])), "bytes outside the output changed"
        return everything[first:behind]

    def _call(self, places: list[int], program_bytes: int, at_end: bool) -> None:
        number = next(self.runs)
        wanted = (ROUNDINGS[number % 4] | FLUSHES[number // 4 % 4], FLAGS[number % 3])
        flaw = self.machine.call("rows_flaw", places[0], program_bytes)
        assert not flaw, self.machine.text(flaw)
        self.machine.call("rows_stream_from", NEVER if at_end else 0)
        self.machine.environment = wanted
        self.machine.call("rows_run", *places)
        assert self.machine.environment == wanted, "the floating-point environment changed"


@contextmanager
def offered(program: Path) -> Iterator[Emulated]:
    """Offers the compiled rows to `prepare` as the engine "neon"."""
    emulated = Emulated(Machine.of(program))
    engine = row_engine.Engine("neon", native_rows.CODES, native_rows.compile_native, emulated.run)
    before = row_engine.ENGINES.get("neon")
    row_engine.ENGINES["neon"] = engine
    try:
        yield emulated
    finally:
        if before is None:
            del row_engine.ENGINES["neon"]
        else:
            row_engine.ENGINES["neon"] = before
