"""Schedules basic blocks: cycles of each on a core, by LLVM's machine code analyzer.

A block is scheduled as a loop that repeats it; its cycles are those of one round. So what follows a branch overlaps
with what precedes it as far as the core's model allows, the first iteration costs what the others do, and caches hit.
Branch targets and addresses are replaced: they decide nothing in a schedule. A call is scheduled as a branch: the
analyzer takes 100 cycles for what it calls, which is counted by its own blocks here.
"""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.kernels.a65.neon.counting import Block

ANALYZER, DISASSEMBLER = "llvm-mca", "llvm-objdump"
CORES = ("cortex-a65", "cortex-a55", "cortex-a76")
ROUNDS = 100
VIEWS = ("-instruction-info=false", "-resource-pressure=false")
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
_ADDRESS = re.compile(r"(0x[0-9a-f]+|#?-?\d+) <[^>]*>")
_CALL = re.compile(r"^bl(?=r?\s)")
_TARGET = re.compile(
    r"^((?:b|bl|b\.\w+|adr|adrp|cbn?z\s+\w+,|tbn?z\s+\w+, #\w+,)(?:\s+\w+,)?\s+)#?(?:0x[0-9a-f]+|-?\d+)$"
)


def tool_version(tool: str) -> str:
    """The line of `--version` that has the number. FileNotFoundError where the tool is missing."""
    text = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout
    return next(line.strip() for line in text.splitlines() if "version" in line)


def disassembly(program: Path) -> dict[int, str]:
    """The instructions of a program by address."""
    command = [DISASSEMBLER, "-d", "--no-show-raw-insn", "--mcpu=cortex-a65", str(program)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = filter(None, map(_LINE.match, text.splitlines()))
    return {int(match[1], 16): match[2].strip() for match in found}


def loops(code: Mapping[int, str], blocks: Iterable[Block]) -> list[Block]:
    """The blocks that end with a branch to their own start: the inner loops."""
    return [(start, size) for start, size in sorted(blocks) if f"0x{start:x} " in f"{code[start + size - 4]} "]


def _placeless(instruction: str) -> str:
    text = _ADDRESS.sub(r"\1", " ".join(instruction.split("//")[0].split()))
    return _CALL.sub("b", _TARGET.sub(r"\1#0", text))


def cycles(code: Mapping[int, str], blocks: Sequence[Block], core: str) -> dict[Block, float]:
    """Cycles of each block on a core."""
    source = "\n".join(_region(number, code, block) for number, block in enumerate(blocks))
    command = [ANALYZER, "-mtriple=aarch64", f"-mcpu={core}", f"-iterations={ROUNDS}", "--json", *VIEWS]
    done = subprocess.run(command, input=source, check=True, capture_output=True, text=True)
    regions = json.loads(done.stdout)["CodeRegions"]
    if len(regions) != len(blocks):
        raise ValueError(f"got the schedules of {len(regions)} blocks, wanted {len(blocks)}: {done.stderr[:500]}")
    found = {int(region["Name"]): region["SummaryView"]["TotalCycles"] / ROUNDS for region in regions}
    return {block: found[number] for number, block in enumerate(blocks)}


def _region(number: int, code: Mapping[int, str], block: Block) -> str:
    address, size = block
    lines = [_placeless(code[place]) for place in range(address, address + size, 4)]
    return "\n".join([f"# LLVM-MCA-BEGIN {number}", *lines, f"# LLVM-MCA-END {number}\n"])


def schedules(program: Path, blocks: Iterable[Block]) -> dict[Block, tuple[float, ...]]:
    """Cycles of each block on each of CORES."""
    ordered, code = sorted(blocks), disassembly(program)
    by_core = [cycles(code, ordered, core) for core in CORES]
    return {block: tuple(found[block] for found in by_core) for block in ordered}
