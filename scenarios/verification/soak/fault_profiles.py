"""Fault profiles of a soak: how often each kind of device fault occurs, per 10,000 jobs of a device.

Which job is struck, and how, is hashed from the seed, the device and the number of the job on it: no order of events
and no other fault can change it.
"""

from collections.abc import Sequence

from tessbed.sim.fault_injection import Fault, FaultPlan
from tessbed.sim.hash_random import draw

COMPLETIONS = {
    "late": 150,
    "lost_interrupt": 100,
    "repeated": 150,
    "early": 150,
    "stranger": 50,
    "torn_record": 25,
    "lost": 25,
}
TRANSFERS = {"dma_error": 150, "worker_died": 75, "stall": 50}
PROFILES: dict[str, dict[str, int]] = {
    "none": {},
    "completions": COMPLETIONS,
    "transfers": TRANSFERS,
    "all": {**COMPLETIONS, **TRANSFERS},
}
PER = 10_000
# The longest delay in ticks: past patience and grace for a late record, within the job for an early interrupt.
LONGEST_TICKS = {"late": 6_000_000, "repeated": 1_000_000, "stranger": 100_000, "early": 2_000}


def fault_plan(profile: str, seed: int, device: int) -> FaultPlan:
    """The faults of the jobs of one device, none or one for each; delays are drawn from 1 to the longest."""
    rates = PROFILES[profile]

    def strike(number: int) -> Sequence[Fault]:
        ticket = draw(seed, device, number) % PER
        for kind, rate in rates.items():
            if ticket < rate:
                chance = draw(seed, device, number, rate)
                ticks = 1 + chance % LONGEST_TICKS.get(kind, 1)
                return (Fault(kind, ticks, worker=0, transfer=(chance >> 40) % 3),)
            ticket -= rate
        return ()

    return strike
