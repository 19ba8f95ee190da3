"""Random devices and band programs, small enough to compare thousands; the same for a body and for the exact engine."""

import random
from typing import Any

from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, TimedBand
from tessbed.sim.transfer.cost import TransferCost
from tessbed.sim.transfer.descriptor import Descriptor
from tests.sim.costs import chain_cost, read_cost
from tests.sim.rig import DATA

Bands = list[tuple[list[list[Descriptor]], int, bool, list[Descriptor]]]


def random_device(rng: random.Random) -> dict[str, Any]:
    """A device where requests meet: few channels and credits, small latencies, every scope and arbitration."""
    return {
        "cores": rng.randint(1, 16),
        "workers": rng.randint(1, 16),
        "slots": rng.randint(1, 4),
        "launch_stagger_ticks": rng.choice([0, 0, 3, 50]),
        "relaunch_ticks": rng.choice([0, 7]),
        "byte_strobes": rng.random() < 0.3,
        "write_granule_bytes": rng.choice([16, 32, 64, 128]),
        "data_movement": rng.choice(["at_issue", "at_completion", "seeded"]),
        "dma": {
            "read_channels": rng.randint(1, 4),
            "write_channels": rng.randint(1, 4),
            "channel_scope": rng.choice(["shared", "per_core"]),
            "arbitration": rng.choice(["fifo", "round_robin"]),
            "outstanding": rng.choice([1, 2, 3, 5, 16]),
            "issue_ticks": rng.randint(0, 3),
            "setup_ticks": rng.choice([0, 1, 6, 64]),
            "row_ticks": rng.randint(0, 2),
            "outstanding_bursts": rng.choice([1, 2, 16]),
            "wait_group": 4,
        },
        "memory": {
            "split_port": rng.random() < 0.3,
            "read_latency_ticks": rng.choice([0, 1, 20, 200]),
            "write_latency_ticks": rng.choice([0, 1, 20, 120]),
            "background_percent": rng.choice([0, 35]),
            "page_walk_ticks": rng.choice([0, 5]),
        },
    }


def random_bands(rng: random.Random) -> Bands:
    """Bands as (groups of reads, ticks, ordered, chain). Equal ones are common, so that arrivals share their ticks."""

    def descriptor() -> Descriptor:
        rows, row_bytes = rng.choice([1, 1, 2, 5]), rng.choice([64, 64, 128, rng.randint(1, 200)])
        pitch = row_bytes + rng.choice([0, 0, 64, 100])
        return Descriptor(DATA + 64 * rng.randrange(512), 64 * rng.randrange(64), rows, row_bytes, pitch, row_bytes)

    return [
        (
            [[descriptor() for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(0, 2))],
            rng.choice([0, 10, 25]),
            rng.random() < 0.3,
            [descriptor() for _ in range(rng.randint(1, 3))],
        )
        for _ in range(rng.randint(0, 5))
    ]


def body_of(programs: list[Bands]) -> Any:
    """The bands as a firmware body."""

    def body(ctx: Any) -> Any:
        for number, (groups, ticks, ordered, chain) in enumerate(programs[ctx.worker]):
            for group in groups:
                yield from ctx.gather(group)
            yield from ctx.wait_slot(number % ctx.spec.slots)
            yield from ctx.compute(ticks, lambda: None)
            if ordered:
                yield from ctx.wait_drains("order")
            yield from ctx.drain(number % ctx.spec.slots, chain)
        yield from ctx.wait_drains()

    return body


def timed(spec: Any, bands: Bands) -> list[TimedBand]:
    """The bands for the exact engine."""
    return [
        TimedBand(
            tuple(tuple(cost(read_cost(spec, d)) for d in group) for group in groups),
            ticks,
            ordered,
            (cost(chain_cost(spec, chain)),),
            len(chain),
        )
        for groups, ticks, ordered, chain in bands
    ]


def cost(cost: TransferCost) -> Cost:
    """What the exact engine keeps of a transfer cost."""
    return Cost(cost.s, cost.m, cost.c)


def random_launch(rng: random.Random, spec: Any) -> LaunchProgram:
    """A launch in which blocks of bands repeat, often the same one for all workers."""
    blocks = [timed(spec, random_bands(rng)) for _ in range(3)]
    table = tuple(band for block in blocks for band in block)
    first = [sum(map(len, blocks[:number])) for number in range(3)]
    runs = [tuple(range(at, at + len(block))) for at, block in zip(first, blocks, strict=True)]
    taken = runs if rng.random() < 0.5 else [rng.choice(runs)]
    workers = (
        tuple(BandRun(rng.choice(taken), rng.choice([1, 5, 60, 200])) for _ in range(rng.randint(0, 3)))
        for _ in range(spec.workers)
    )
    return LaunchProgram(table, tuple(workers))
