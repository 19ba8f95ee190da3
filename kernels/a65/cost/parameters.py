"""Parameters of the A65's cost model, with unit, meaning and provenance."""

import attrs

from tessbed.kernels.a65.cost.table import step_costs

SCHEDULE = "static schedule of a Cortex-A53, band a55 to a76, caches not modelled"
"""The provenance of every cycle: LLVM has no schedule of an A65, which is out of order, and gives it the A53's."""
TICK_MHZ = 1000
CALL_TICKS = 1500
KIB_TICKS = 64


@attrs.frozen
class TickParameter:
    """A parameter as documents and reports show it."""

    name: str
    unit: str
    value: str
    meaning: str
    provenance: str


def tick_parameters() -> tuple[TickParameter, ...]:
    """Every parameter of the A65's ticks."""
    table = step_costs()
    steps, mhz = f"{len(table.steps):,} steps", f"{table.core_mhz:,}"
    memory = "memory's share of 1,024 bytes: of the tiled side, and of the linear side's scalars"
    return (
        TickParameter("a65 cycles", "cycles", steps, "what each step of the rows' loops takes: table.toml", SCHEDULE),
        TickParameter("a65 core clock", "MHz", mhz, "the core's clock, which is the most it can have", "public"),
        TickParameter("a65 tick clock", "MHz", f"{TICK_MHZ:,}", "ticks a microsecond: the EV74's clock", "inferred"),
        TickParameter("a65 call", "ticks", f"{CALL_TICKS:,}", "a checked call, without its rows", "guess"),
        TickParameter("a65 memory", "ticks", f"{KIB_TICKS:,}", memory, "guess"),
    )
