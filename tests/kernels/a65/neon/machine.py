"""An emulated core with the compiled rows in it: memory between unmapped pages, registers, and what a call executed.

A fault is an exception: a read or write outside of the mapped pages, a write to the program or to a read-only side.
"""

from pathlib import Path
from typing import Any

import attrs
import unicorn
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from unicorn import arm64_const as arm
from unicorn.unicorn import Uc

PAGE = 4096
READ, WRITE, EXECUTE = unicorn.UC_PROT_READ, unicorn.UC_PROT_WRITE, unicorn.UC_PROT_EXEC
STACK, STACK_BYTES = 0x2000_0000, 64 * PAGE
RETURN = 0x2800_0000
"""Where a called function returns to: a page of its own, at which the emulation ends."""
FP_ENABLED = 3 << 20


def pages(count: int) -> int:
    """Bytes of the pages that hold `count` bytes, at least one."""
    return max(1, -(-count // PAGE)) * PAGE


@attrs.define
class Region:
    """Some pages at a fixed address, with nothing mapped before and behind them."""

    core: Any
    address: int
    size: int = 0

    def hold(self, count: int, content: int) -> None:
        """Maps just the pages that `count` bytes take, writable, each byte `content`."""
        wanted = pages(count)
        if wanted != self.size:
            if self.size:
                self.core.mem_unmap(self.address, self.size)
            self.core.mem_map(self.address, wanted, READ | WRITE)
            self.size = wanted
        self.core.mem_protect(self.address, self.size, READ | WRITE)
        self.core.mem_write(self.address, bytes([content]) * self.size)

    def freeze(self) -> None:
        """Makes the pages read-only until they hold something else."""
        self.core.mem_protect(self.address, self.size, READ)

    def all(self) -> bytes:
        """Every byte of the pages."""
        return bytes(self.core.mem_read(self.address, self.size))


@attrs.define
class Machine:
    """One core in the state after a reset, and the addresses of the program's functions."""

    core: Any
    symbols: dict[str, int]

    @classmethod
    def of(cls, program: Path) -> "Machine":
        """A core with an ELF program of fixed addresses in its memory."""
        core = Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        core.reg_write(arm.UC_ARM64_REG_CPACR_EL1, FP_ENABLED)
        core.mem_map(STACK, STACK_BYTES, READ | WRITE)
        core.mem_map(RETURN, PAGE, READ | EXECUTE)
        with program.open("rb") as file:
            elf = ELFFile(file)
            for segment in elf.iter_segments("PT_LOAD"):
                _load(core, segment)
            tables = [section for section in elf.iter_sections() if isinstance(section, SymbolTableSection)]
            symbols = {symbol.name: symbol["st_value"] for table in tables for symbol in table.iter_symbols()}
        return cls(core, symbols)

    def call(self, name: str, *arguments: int) -> int:
        """Calls a function with integers and pointers; its result. UcError where it faults."""
        for number, value in enumerate(arguments):
            self.core.reg_write(arm.UC_ARM64_REG_X0 + number, value)
        self.core.reg_write(arm.UC_ARM64_REG_SP, STACK + STACK_BYTES)
        self.core.reg_write(arm.UC_ARM64_REG_X30, RETURN)
        self.core.emu_start(self.symbols[name], RETURN)
        return int(self.core.reg_read(arm.UC_ARM64_REG_X0))

    def text(self, address: int) -> str:
        """The C string at `address`."""
        raw = bytes(self.core.mem_read(address, 64))
        return raw[: raw.index(0)].decode()

    @property
    def environment(self) -> tuple[int, int]:
        """The floating-point control and status registers."""
        return tuple(self.core.reg_read(register) for register in (arm.UC_ARM64_REG_FPCR, arm.UC_ARM64_REG_FPSR))

    @environment.setter
    def environment(self, values: tuple[int, int]) -> None:
        for register, value in zip((arm.UC_ARM64_REG_FPCR, arm.UC_ARM64_REG_FPSR), values, strict=True):
            self.core.reg_write(register, value)


def _load(core: Any, segment: Any) -> None:
    first = segment["p_vaddr"] // PAGE * PAGE
    size = pages(segment["p_vaddr"] + segment["p_memsz"] - first)
    flags = segment["p_flags"]
    access = (READ if flags & 4 else 0) | (WRITE if flags & 2 else 0) | (EXECUTE if flags & 1 else 0)
    core.mem_map(first, size, access)
    core.mem_write(segment["p_vaddr"], segment.data())
