"""Cases: each size on devices that differ in granule, grid, slots and data movement, at aligned and at odd addresses.

Granules and grids are combined in full; slots, movements and addresses are rotated through them, so that each value
meets each size, and any two values of different kinds meet somewhere.
"""

from collections.abc import Iterator, Sequence

import attrs

from tessbed.kernels.custom.kernel_plan import KernelPlan
from tessbed.scenarios.verification.kernel_check.bench import CheckCase
from tessbed.scenarios.verification.kernel_check.sizes import CheckSize
from tessbed.sim.spec.device_spec import DeviceSpec, override

GRANULES = (16, 32, 64, 128)
WORKERS = (1, 2, 3, 4, 8, 16)
MOVEMENTS = ("at_completion", "at_issue", "seeded")
FULL_BYTES = 1 << 20
FULL_TRANSFERS = 2000
"""A size of more bytes, or of more transfers, meets each granule and each grid once, and not all of both."""
MOST_TRANSFERS = 50_000
"""A size of more transfers is left out; what was asked for has run by itself."""


@attrs.frozen(eq=False)
class SizedCase:
    """A case and the size that it is of."""

    case: CheckCase
    size: CheckSize


def slot_counts(spec: DeviceSpec, level: str) -> tuple[int, ...]:
    """Bands take any number of slots; a body names its slots, and may count on those that there are."""
    return tuple(dict.fromkeys((spec.slots, 1, 3, 4))) if level == "bands" else (spec.slots, spec.slots + 1)


def check_cases(
    sizes: Sequence[CheckSize], spec: DeviceSpec, level: str, transfers_per_byte: float
) -> Iterator[SizedCase]:
    """Every case, those of the smallest size first. `transfers_per_byte` foresees how many transfers a size takes."""
    slots = slot_counts(spec, level)
    for place, size in enumerate(sizes):
        for number, (granule, workers) in enumerate(_pairs(size, size.nbytes * transfers_per_byte)):
            grid, row = number // len(GRANULES) + place, number % len(GRANULES)
            phase = aligned_phase(size.plan, (0, 1, granule - 1, granule // 2 + 1)[(grid + 3 * row) % 4])
            changes = {
                "write_granule_bytes": granule,
                "workers": workers,
                "slots": slots[(grid + row) % len(slots)],
                "data_movement": MOVEMENTS[(grid + row) % len(MOVEMENTS)],
            }
            case = CheckCase(size.name, size.plan, override(spec, changes), workers, phase)
            yield SizedCase(case, size)


def aligned_phase(plan: KernelPlan, phase: int) -> int:
    """The largest phase up to this one that all outputs may have."""
    alignment = max(port.alignment_bytes for port in plan.outputs)
    return phase // alignment * alignment


def _pairs(size: CheckSize, transfers: float) -> list[tuple[int, int]]:
    if transfers > MOST_TRANSFERS:
        return []
    if size.nbytes > FULL_BYTES or transfers > FULL_TRANSFERS:
        return [(GRANULES[n % len(GRANULES)], workers) for n, workers in enumerate(WORKERS)]
    return [(granule, workers) for workers in WORKERS for granule in GRANULES]
