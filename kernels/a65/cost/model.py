"""The A65's modelled duration, in ticks of the EV74's clock, so that one scenario can compare both backends.

    ticks = call + ceil(cycles of the rows * tick MHz / core MHz) + ceil(bytes * ticks per KiB / 1024)

The cycles are a static schedule: the steps of the executor's loops (plan_steps.py), times what the schedule of a core
says of each (table.toml). The schedule is that of a Cortex-A53, which LLVM gives the A65; a Cortex-A55's and a
Cortex-A76's make the band. Caches are not modelled: what memory adds is a guess, as are the ticks of a call.
The data's moves are real, their duration on this machine is not used.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import prod

import attrs

from tessbed.kernels.a65.cost.parameters import CALL_TICKS, KIB_TICKS, TICK_MHZ
from tessbed.kernels.a65.cost.plan_steps import plan_steps
from tessbed.kernels.a65.cost.table import COLUMNS, REMEASURE, SCALE, StepCosts, step_costs
from tessbed.kernels.a65.row_path import RowPath
from tessbed.kernels.errors import ContractError
from tessbed.kernels.plan import Plan

CORE, *BAND = COLUMNS[1:]
"""The core that is modelled, and the ends of its band."""


@attrs.frozen
class A65Cost:
    """One checked call: instructions and cycles of its rows by core, and the ticks that they make with the guesses."""

    instructions: int
    cycles: Mapping[str, int]
    call_ticks: int
    memory_ticks: int
    core_mhz: int

    @property
    def ticks(self) -> int:
        """The duration, by the schedule of the core that is modelled."""
        return self.ticks_on(CORE)

    @property
    def band(self) -> dict[str, int]:
        """The duration by the schedules at the ends of the band."""
        return {core: self.ticks_on(core) for core in BAND}

    def ticks_on(self, core: str) -> int:
        """The duration by the schedule of one of the cores."""
        return self.call_ticks + -(-self.cycles[core] * TICK_MHZ // self.core_mhz) + self.memory_ticks


@lru_cache(maxsize=4096)
def a65_cost(plan: Plan, path: RowPath) -> A65Cost:
    """The cost of one checked call; nothing for an empty tensor. ContractError for a conversion without cost."""
    table = step_costs()
    if plan.empty:
        return A65Cost(0, dict.fromkeys(COLUMNS[1:], 0), 0, 0, table.core_mhz)
    instructions, *cycles = _sums(plan, path, table)
    moved = plan.tiled.required_bytes + prod(plan.shape) * plan.linear_dtype.width
    memory = -(-moved * KIB_TICKS // 1024)
    return A65Cost(instructions, dict(zip(COLUMNS[1:], cycles, strict=True)), CALL_TICKS, memory, table.core_mhz)


def modelled_ticks(plan: Plan, path: RowPath) -> int:
    """The duration of one checked call in ticks; 0 for an empty tensor. ContractError for a conversion without cost."""
    return a65_cost(plan, path).ticks


def _sums(plan: Plan, path: RowPath, table: StepCosts) -> list[int]:
    """The sum of each column over the plan's steps, rounded up to whole numbers."""
    sums = [0] * len(COLUMNS)
    for step, count in plan_steps(plan, path).items():
        for column, cost in enumerate(_costs(table, step)):
            sums[column] += cost * count
    return [-(-total // SCALE) for total in sums]


def _costs(table: StepCosts, step: tuple[str, str]) -> tuple[int, ...]:
    found = table.steps.get(step)
    if found is None:
        text = f"the table of the A65's costs has no step {step[1]!r} of {step[0]!r}: measure it anew ({REMEASURE})"
        raise ContractError("conversion_unsupported", "plan.conversion", text)
    return found
