"""Counts what the emulated rows execute: basic blocks, by the row function that was running.

A block is (address, bytes), as the emulator translates it. A call of a row mover or converter owns the blocks until it
returns, except those of a mover or converter that a staged row calls: they count for themselves. What no such call
owns belongs to the loops around rows.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import unicorn
from unicorn import arm64_const as arm

from tessbed.kernels import Plan
from tessbed.kernels.a65.cost.features import MOVERS
from tessbed.kernels.a65.cost.nests import WAYS
from tessbed.kernels.a65.cost.plan_steps import LOOPS
from tessbed.kernels.a65.native_rows import compile_native
from tessbed.kernels.a65.row_path import choose, row_classes
from tests.kernels.a65.neon.engine import LINEAR, PROGRAM, TILED
from tests.kernels.a65.neon.machine import Machine, Region

Block = tuple[int, int]
Blocks = Counter[Block]

SHARED = ("pack_staged", "unpack_staged")
"""Movers that call movers and converters, which then own their blocks."""
CONVERTERS = tuple(dict.fromkeys(way.values for ways in WAYS.values() for way in ways.values() if way.values))
OWNERS = {
    **{name: name for name in (*MOVERS, *CONVERTERS) if name != "same"},
    "pack_same": LOOPS,
    "unpack_same": LOOPS,
}
"""Who owns the blocks of a function of the program."""


@attrs.define
class Count:
    """What one call executed: blocks of each owner, and calls of each function."""

    blocks: dict[str, Blocks] = attrs.field(factory=dict)
    calls: Counter[str] = attrs.field(factory=Counter)

    @property
    def instructions(self) -> int:
        """All instructions of the call: four bytes each."""
        return sum(size // 4 * times for blocks in self.blocks.values() for (_, size), times in blocks.items())


@attrs.define
class Counting:
    """A machine whose calls are counted. `stream_bytes` is the size from which outputs pass the caches."""

    machine: Machine
    regions: tuple[Region, ...] = attrs.field(init=False)
    _entries: dict[int, str] = attrs.field(init=False)
    _count: Count = attrs.field(factory=Count)
    _stack: list[tuple[str, int]] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        core = self.machine.core
        self.regions = tuple(Region(core, address) for address in (PROGRAM, TILED, LINEAR))
        self._entries = {self.machine.symbols[name]: name for name in OWNERS if name in self.machine.symbols}
        core.hook_add(unicorn.UC_HOOK_BLOCK, self._block)

    @classmethod
    def of(cls, program: Path) -> "Counting":
        """The program on a core of its own."""
        return cls(Machine.of(program))

    def count(self, plan: Plan, stream_bytes: int) -> Count:
        """One call of the rows of a plan that is not empty, on storage full of zeros."""
        program = compile_native(plan, row_classes(plan, choose(plan)))
        sizes = len(program), plan.tiled.required_bytes, plan.linear.required_bytes
        for region, size in zip(self.regions, sizes, strict=True):
            region.hold(size, 0)
        self.machine.core.mem_write(PROGRAM, program)
        self.machine.call("rows_stream_from", stream_bytes)
        self._count, self._stack = Count(), []
        self.machine.call("rows_run", *(region.address for region in self.regions))
        return self._count

    def _block(self, core: Any, address: int, size: int, _: object) -> None:
        stack = self._stack
        while stack and address == stack[-1][1]:
            stack.pop()
        name = self._entries.get(address)
        if name is not None and (not stack or stack[-1][0] in SHARED):
            self._count.calls[name] += 1
            stack.append((name, core.reg_read(arm.UC_ARM64_REG_X30)))
        owner = OWNERS[stack[-1][0]] if stack else LOOPS
        self._count.blocks.setdefault(owner, Counter())[address, size] += 1
