"""Whatever a device goes through, its timeline nests, its flows begin before they end, and no tick is another."""

import random
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.timeline.recording import recording
from tessbed.scenarios.timeline.timeline import Timeline
from tessbed.sim.errors import HangError
from tessbed.sim.fault_injection import FAULT_KINDS, Fault, by_number
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.breadth import breadth
from tests.geometries import random_geometries
from tests.scenarios.test_engine_compare import firmware_device
from tests.scenarios.texts import SMALL
from tests.scenarios.timeline.decoded import decode_trace
from tests.scenarios.timeline.traced import record, stats_of
from tests.scenarios.verification.explore.test_exploration import case_of
from tests.sim.programs import random_bands, random_device
from tests.sim.rig import build


def random_fault(rng: random.Random) -> Fault:
    """Any fault, soon or late, of one of the first transfers."""
    kind = rng.choice(list(FAULT_KINDS))
    return Fault(kind, ticks=rng.choice((1, 500, 60_000)), worker=rng.randrange(3), transfer=rng.randrange(4))


@pytest.mark.parametrize("seed", breadth(range(4), suite=1))
def test_scenarios_with_faults(seed, tmp_path) -> None:
    """Several jobs on a random device, with faults and timeouts, up to hangs, losses and resets."""
    base, rng = compose(parse_toml(SMALL, "f"), Path()), random.Random(f"anything/{seed}")
    shapes = [geometry for geometry in random_geometries(60, 100 + seed) if 0 not in geometry.shape]
    for number in range(12):
        jobs = []
        for index in range(rng.randint(1, 4)):
            wanted = case_of(rng.choice(shapes)).geometry
            faults = tuple(random_fault(rng) for _ in range(rng.choice((0, 0, 1, 2))))
            timeout = rng.choice((None, 100_000, 155_000, 400_000))
            job = attrs.evolve(base.jobs[0], index=index, name=f"job {index}", geometry=wanted, plan=wanted.admit())
            job = attrs.evolve(job, backends=("ev74",), workers=None, faults=faults, timeout_ticks=timeout)
            jobs.append(job)
        device = override(DeviceSpec(), firmware_device(rng))
        scenario = attrs.evolve(base, device=device, jobs=tuple(jobs))
        seen, alone = record(scenario, tmp_path / f"{number}.pftrace"), run_scenario(scenario)
        assert [one.trouble for one in seen.outcomes] == [one.trouble for one in alone.outcomes]
        assert stats_of(seen) == stats_of(alone)
        shown = decode_trace(tmp_path / f"{number}.pftrace")
        assert len(shown.tracks("jobs")) == len(jobs)


def unsafe_body(rng: random.Random, bands):
    """A body that waits where it likes: it gathers ahead, drains slots that are in use, and computes for no ticks."""

    def body(ctx):
        for groups, ticks, ordered, chain in bands:
            for group in groups:
                if rng.random() < 0.3:
                    ctx.note(source=f"k.py:{rng.randrange(9)}", n=rng.randrange(9))
                yield from (ctx.prefetch if rng.random() < 0.5 else ctx.gather)(group)
            slot = rng.randrange(ctx.spec.slots)
            choice = rng.random()
            if choice < 0.3:
                yield from ctx.pack(slot, ticks, lambda: None, chain, ordered=ordered)
            elif choice < 0.8:
                yield from ctx.compute(ticks, lambda: None)
                yield from ctx.drain(slot, chain)
            else:
                yield from ctx.wait_slot(slot)
        if rng.random() < 0.8:
            yield from ctx.wait_drains()

    return body


@pytest.mark.parametrize("seed", breadth(range(6), suite=2))
def test_bodies_that_keep_no_rule(seed, tmp_path) -> None:
    """Random bodies on random devices, some with a fault or a stall, some stopped by a reset in the middle."""
    for number in range(40):
        rng = random.Random(f"body/{seed}/{number}")
        changes, bands, chance = random_device(rng), random_bands(rng), rng.random()
        faults = by_number({0: [Fault(rng.choice(("stall", "dma_error", "worker_died")), transfer=rng.randrange(5))]})
        options = {"faults": faults} if chance < 0.4 else {}
        path = tmp_path / f"{number}.pftrace"

        def run(number, path=None, changes=changes, bands=bands, options=options, chance=chance):
            rig = build(unsafe_body(random.Random(number), bands), changes, **options)
            device = rig.device
            with recording(path or tmp_path / "none.jsonl", "pftrace" if path else "jsonl") as sink:
                timeline = Timeline.of(sink, device.spec) if path else None
                device.tracer = device.delivery.tracer = timeline.device if timeline else None
                woken = rig.submit(1)
                if chance > 0.7:
                    device.env.run(until=107_000 + 37 * number)
                    device.run(device.reset())
                else:
                    try:
                        device.run(woken)
                    except HangError:
                        device.show_waits()
                if timeline:
                    timeline.end(device.now)
            return device.now, rig.data.tobytes()

        assert run(number) == run(number, path)
        decode_trace(path)
