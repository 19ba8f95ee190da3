"""The table of step costs: what each step executes, and its cycles on three cores, as `table.toml` records them.

The command REMEASURE measures it anew.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs

PATH = Path(__file__).with_name("table.toml")
REMEASURE = "python -m tests.kernels.a65.neon.costs"
SCALE = 100
"""Costs are whole hundredths."""
COLUMNS = ("instructions", "cortex-a65", "cortex-a55", "cortex-a76")
"""Of each step, in this order: instructions executed, then cycles by the schedules of three cores."""


@attrs.frozen
class StepCosts:
    """Costs by (function, step), in hundredths, one for each of COLUMNS; how they were made, by name."""

    steps: Mapping[tuple[str, str], tuple[int, ...]]
    made: Mapping[str, Any]

    @property
    def core_mhz(self) -> int:
        """The clock of the core whose cycles these are."""
        return self.made["core_mhz"]


@cache
def step_costs() -> StepCosts:
    """The table that ships."""
    return table_of(PATH)


def table_of(path: Path) -> StepCosts:
    """The table of a file."""
    document = tomllib.loads(path.read_text("utf-8"))
    steps = {(name, step): tuple(costs) for name, rows in document["steps"].items() for step, costs in rows.items()}
    return StepCosts(steps, document["made"])
