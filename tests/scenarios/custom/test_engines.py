"""Kernels at level bands on both engines: equal to the tick, on random kernels and random devices."""

from pathlib import Path
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

import tessbed
from tessbed.kernels.custom.kernel_plan import KernelPlan, plan_kernel
from tessbed.kernels.custom.scalar_types import SCALARS
from tessbed.scenarios.library import load
from tessbed.scenarios.model import KernelBuffer, KernelJob, Scenario
from tessbed.scenarios.runner import run_scenario
from tessbed.sim.errors import SpecError
from tessbed.sim.exact import native
from tessbed.sim.spec.device_spec import DeviceSpec, override

BASE = load("documents-2x17")
FORMS = ["native", "python"] if not native.missing else ["python"]


def mixed(*views):
    """Sums of everything, so that every input byte matters."""
    total = sum(int(view.astype(np.float64).sum()) for view in views if not view.flags.writeable)
    for view in views:
        if view.flags.writeable:
            view[...] = total % 97


@tessbed.kernel(inputs=["a", "b"], outputs=["c", "d"], scratch=("gathered", 2))
def anything(w, a, b, c, d, *, seed=0, gathered=3, reach=1000):
    """Bands of random regions, which depend on the worker, the ports and the arguments alone."""
    random = Random(f"{seed}/{w.worker}")
    for box in w.own(c):
        reads = []
        for port in (a, b):
            for _ in range(random.randrange(3)):
                low = [random.randrange(extent) for extent in port.shape]
                high = [
                    min(extent, first + 1 + random.randrange(max(1, reach // len(port.shape))))
                    for first, extent in zip(low, port.shape, strict=True)
                ]
                steps = [random.choice((1, 1, 1, 2, 3)) for _ in low]
                region = port[tuple(slice(*part) for part in zip(low, high, steps, strict=True))]
                if sum(read.nbytes for read in (*reads, region)) + 64 <= w.gather_bytes:
                    reads.append(region)
        writes = [c[box], d[box]] if random.random() < 0.6 else [c[box]]
        ticks = (
            None if random.random() < 0.3 else w.cost("copy", nbytes=random.randrange(5000), runs=random.randint(1, 9))
        )
        yield w.band(reads, writes, mixed, ticks=ticks, counts={"mine": random.randrange(3)})


def drawn_device(random: Random) -> DeviceSpec:
    """A device with many fields changed."""
    while True:
        changes: dict[str, Any] = {
            "cores": random.randint(1, 5),
            "workers": random.randint(1, 9),
            "slots": random.randint(1, 4),
            "write_granule_bytes": random.choice((16, 32, 64, 128)),
            "byte_strobes": random.random() < 0.2,
            "scratch_bytes": random.choice((8192, 65536, 262144)),
            "scratch_reserved_bytes": 4096,
            "launch_stagger_ticks": random.randrange(200),
            "data_movement": random.choice(("at_issue", "at_completion", "seeded")),
            "dma": {
                "read_channels": random.randint(1, 5),
                "write_channels": random.randint(1, 4),
                "channel_scope": random.choice(("shared", "per_core")),
                "arbitration": random.choice(("fifo", "round_robin")),
                "outstanding": random.randint(1, 16),
                "wait_group": random.randint(1, 16),
                "issue_ticks": random.choice((0, 12)),
            },
            "memory": {"split_port": random.random() < 0.3, "bytes_per_tick": random.choice((16, 64))},
        }
        try:
            return override(DeviceSpec(), changes)
        except SpecError:
            continue


def drawn_plan(random: Random, kernel: Any = anything) -> KernelPlan:
    """A plan with random shapes, scalar types and arguments; the outputs are of one shape and phase."""

    def shape(most: int) -> tuple[int, ...]:
        rank = random.randint(1, 3)
        return tuple(random.randint(1, max(1, int(most ** (1 / rank)))) for _ in range(rank))

    scalars = [name for name in SCALARS if SCALARS[name].dtype.kind in "iu"]
    written = random.choice(scalars), shape(random.choice((300, 20_000)))
    forms = {name: (random.choice(scalars), shape(6000)) for name in ("a", "b")} | {"c": written, "d": written}
    return plan_kernel(kernel, {"seed": random.randrange(1 << 30), "reach": random.choice((3, 50, 3000))}, forms)


def scenario_of(plan: KernelPlan, spec: DeviceSpec, random: Random) -> Scenario:
    """One job of the plan, at odd addresses where its scalars are bytes."""
    phases = {"a": random.randrange(100), "b": random.randrange(100), "c": 0, "d": 0}
    phases["c"] = phases["d"] = random.choice((0, random.randrange(100)))
    offsets = {port.name: phases[port.name] // port.alignment_bytes * port.alignment_bytes for port in plan.ports}
    buffers = tuple(KernelBuffer(port.name, offset=offsets[port.name]) for port in plan.ports)
    job = KernelJob(0, "job", "test.py:anything", Path(), buffers=buffers, plan=plan)
    return attrs.evolve(BASE, device=spec, jobs=(job,), seed=random.randrange(1000))


def check(number: int, form: str) -> None:
    random = Random(f"engines/{number}")
    scenario = scenario_of(drawn_plan(random), drawn_device(random), random)
    ran = run_scenario(scenario, engine="verify")
    (outcome,) = ran.jobs[0].outcomes
    assert ran.engine == "verify"
    assert outcome.trouble is None, f"{form}: {outcome.trouble}"
    assert outcome.disagreement is None, f"{form}: {outcome.disagreement}"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", range(30))
def test_random_kernels_take_the_same_ticks_on_both_engines(monkeypatch, number, form):
    """Every transfer and statistic of a random bands kernel is the same on both engines, in C and in Python."""
    monkeypatch.setenv("TESSBED_EXACT", form)
    check(number, form)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block", range(47))
def test_more_random_kernels_take_the_same_ticks_on_both_engines(monkeypatch, block, form):
    """The same for 470 more."""
    monkeypatch.setenv("TESSBED_EXACT", form)
    for number in range(30 + 10 * block, 40 + 10 * block):
        check(number, form)


def test_launches_that_share_a_plan_move_the_right_bytes():
    """Bands that are planned once are moved to where the ports of each job are."""
    for offset in (0, 64, 4032):
        plan = plan_kernel(anything, {"seed": 5}, {"c": ("uint8", (5000,)), "a": ("uint8", (300,))})
        buffers = tuple(KernelBuffer(port.name, offset=offset) for port in plan.ports)
        job = KernelJob(0, "job", "test.py:anything", Path(), buffers=buffers, plan=plan)
        outcome = (
            run_scenario(attrs.evolve(BASE, device=DeviceSpec(), jobs=(job,)), engine="verify").jobs[0].outcomes[0]
        )
        assert outcome.trouble is None
        assert outcome.disagreement is None
