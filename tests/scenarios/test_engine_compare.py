"""Both engines on real programs: the catalogue and random tensors, every statistic and every transfer."""

import random
from collections import Counter

import attrs
import pytest

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_outline import Outline
from tessbed.firmware_models.planning.launch_program import exact_program
from tessbed.firmware_models.planning.launch_summary import fields_that_plan, outline, plan_launch
from tessbed.kernels.ev74.codec import decode
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.scenarios import backends
from tessbed.scenarios.engine_compare import engine_difference
from tessbed.scenarios.exact import job_binding
from tessbed.scenarios.exact.exact_device import not_exact_because
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.library import catalogue, load
from tessbed.scenarios.report import document, exit_code
from tessbed.scenarios.runner import run_scenario
from tessbed.sim.events import event_queue
from tessbed.sim.exact.engine import count_launch, simulate
from tessbed.sim.exact.program import LaunchProgram
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.stats import JobStats
from tests.contract.backends import plan_of
from tests.geometries import random_geometries
from tests.requests import request_of
from tests.scenarios.texts import SMALL
from tests.sim.programs import body_of, random_bands, random_device, timed
from tests.sim.rig import build

SLOW = ("large-detess",)
QUICK, PER_TEST = 400, 50


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long if n in SLOW else ()) for n in catalogue()])
def test_the_whole_catalogue(name) -> None:
    """`verify` finds no difference on any scenario that the exact engine can run; the others say why not."""
    scenario = load(name, ["jobs.*.backend=ev74"])
    done = run_scenario(scenario, engine="verify")
    assert done.engine == ("simpy" if not_exact_because(scenario) else "verify")
    assert [outcome.disagreement for outcome in done.outcomes] == [None] * len(done.jobs)


def firmware_device(rng):
    """A random device for the firmware's own programs, with many arrivals in shared ticks."""
    changes = random_device(rng)
    changes["workers"] = rng.randint(2, 16)
    changes["launch_stagger_ticks"] = rng.choice([0] * 7 + [50])
    changes["dma"]["issue_ticks"] = rng.choice([0, 0, 0, 3])
    changes["dma"]["wait_group"] = rng.choice([1, 4, 16])
    changes["dma"]["field_bits"] = rng.choice([8, 12, 16])
    changes["scratch_bytes"] = 65536 + rng.choice([1024, 4096, 65536])
    changes["memory"]["access_bytes"] = rng.choice([16, 64])
    changes["dma"]["burst_bytes"] = rng.choice([64, 256])
    return changes


def compare(geometry, seed):
    """Both engines on one tensor and one random device; returns the arrivals, as ticks."""
    rng = random.Random(f"{seed}/{geometry}")
    spec = override(DeviceSpec(), firmware_device(rng))
    plan = plan_of(request_of(geometry))
    workers = rng.choice([None, rng.randint(1, 16)])
    with (
        backends.ev74(spec, seed=seed, trace=True) as runtime,
        backends.input_buffer(runtime, plan) as source,
        backends.output_buffer(runtime, plan, 0) as target,
    ):
        job = backends.submit(runtime, plan, source, target, workers=workers)
        events = runtime.wait(job).stats
        asked = PacketGeometry.of(decode(encode_plan(plan).bind(source.address, target.address).raw))
        done = outline(asked, spec, min(workers or spec.workers, spec.workers))
    timing = count_launch(spec, exact_program(done, spec), trace=True).timing
    for name in ("device_ticks", "workers", "pools", "ports", "digests"):
        assert getattr(timing, name) == getattr(events, name), name
    assert (done.reads, done.writes) == (events.reads, events.writes)
    assert dict(done.counts) == events.counts
    return [record.arrival for record in events.trace]


def compare_many(count, seed) -> None:
    """`count` random tensors; enough arrivals meet in one tick."""
    shared = total = 0
    for geometry in random_geometries(count, seed):
        if 0 not in geometry.shape:
            ticks = Counter(compare(geometry, seed))
            shared += sum(n for n in ticks.values() if n > 1)
            total += sum(ticks.values())
    assert shared >= 0.4 * total


@pytest.mark.parametrize("seed", range(QUICK // PER_TEST))
def test_random_tensors(seed) -> None:
    """The firmware's programs on random devices: planning, granules, waits, traffic and counts included."""
    compare_many(PER_TEST, seed)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 140))
def test_random_tensors_at_length(seed) -> None:
    """The same, 4,000 more."""
    compare_many(100, seed)


def mutated(seed, changes=None):
    """Whether the engines part on random bands of that seed."""
    rng = random.Random(seed)
    changes = random_device(rng)
    bands = [random_bands(rng) for _ in range(changes["workers"])]
    rig = build(body_of(bands), changes, trace=True, seed=seed)
    events, timing = (
        rig.run(),
        simulate(rig.device.spec, LaunchProgram.of(timed(rig.device.spec, b) for b in bands), trace=True),
    )
    return (events.device_ticks, events.digests) != (timing.device_ticks, timing.digests)


def test_arbitration_at_once_is_caught(monkeypatch) -> None:
    """A device that grants as soon as it is asked, and not at the end of the tick, does not pass for this one."""
    assert not any(mutated(seed) for seed in range(40))
    monkeypatch.setattr(event_queue, "ARBITRATION", event_queue.EFFECT)
    assert sum(mutated(seed) for seed in range(40)) >= 5


def test_verify_names_the_tick_and_fails(monkeypatch) -> None:
    """Where the engines part, the run fails with the first tick that differs, and its exit code is 1."""

    def wrong(spec, program, trace):
        found = count_launch(spec, program, trace=trace)
        times = tuple(m._replace(done=m.done + 1) for m in found.counted.result.times)
        return attrs.evolve(found, counted=attrs.evolve(found.counted.result, times=times))

    monkeypatch.setattr(job_binding, "count_launch", wrong)
    done = run_scenario(compose(parse_toml(SMALL, "f"), None), engine="verify")
    assert not done.ok
    assert exit_code(done) == 1
    outcome = done.jobs[0].outcomes[1]
    first = min(record.done for record in outcome.run.result.stats.trace)
    reported = document(done)["jobs"][0]["results"]["ev74"]["engines_part"]
    assert reported.startswith(f"the engines differ at tick {first}: transfer ")


def test_the_first_tick_that_differs() -> None:
    """Of all transfers that differ, the one with the earliest differing tick is named."""
    done = run_scenario(compose(parse_toml(SMALL, "f"), None), engine="exact", trace=True)
    stats = done.jobs[0].outcomes[1].run.result.stats
    late = [attrs.evolve(record, end=record.end + 1, done=record.done + 1) for record in stats.trace]
    first = min(record.end for record in stats.trace)
    assert engine_difference(stats, attrs.evolve(stats, trace=tuple(late))).startswith(
        f"the engines differ at tick {first}: "
    )
    missing = engine_difference(stats, attrs.evolve(stats, trace=stats.trace[1:]))
    assert "has none" in missing
    assert engine_difference(stats, stats) is None


def test_the_first_tick_is_not_the_first_worker() -> None:
    """Where worker 0 differs late and worker 1 early, it is worker 1's transfer that is named."""
    stats = run_scenario(compose(parse_toml(SMALL, "f"), None), engine="exact", trace=True)
    stats = stats.jobs[0].outcomes[1].run.result.stats
    both = [attrs.evolve(stats.trace[0], worker=worker, seq=0, done=done) for worker, done in ((0, 900), (1, 700))]
    later = [attrs.evolve(record, done=record.done + 1) for record in both]
    words = engine_difference(attrs.evolve(stats, trace=tuple(both)), attrs.evolve(stats, trace=tuple(later)))
    assert words.startswith("the engines differ at tick 700: transfer 0 of worker 1: ")


@pytest.mark.parametrize("name", [field.name for field in attrs.fields(JobStats) if field.name != "trace"])
def test_every_statistic_is_compared(name: str) -> None:
    """Engines that agree on each transfer and part in any one statistic differ, and the statistic is named."""
    stats = run_scenario(compose(parse_toml(SMALL, "f"), None), engine="exact").jobs[0].outcomes[1].run.result.stats
    words = engine_difference(stats, attrs.evolve(stats, **{name: "another"}))
    assert words.startswith(f"the engines agree on every transfer and differ on {name}: simpy ")
    assert words.endswith("exact another")


@pytest.mark.quick
def test_exact_runs_say_that_no_byte_moved() -> None:
    """Ticks and statistics as the event engine's; no hash and no `verified`; the A65 is judged as ever."""
    scenario = compose(parse_toml(SMALL, "f"), None)
    moved, reported = (document(run_scenario(scenario, engine=engine)) for engine in ("simpy", "exact"))
    assert (moved["engine"], reported["engine"]) == ("simpy", "exact")
    assert reported["verdict"] == "ok"
    for one, other in zip(moved["jobs"], reported["jobs"], strict=True):
        assert one["results"]["a65"] == other["results"]["a65"]
        timed_only = {k: v for k, v in one["results"]["ev74"].items() if k not in ("output_sha256", "verified")}
        assert other["results"]["ev74"] == timed_only


def written_out(plan: Outline) -> Outline:
    """The same outline with all its runs and bands there, to be compared."""
    workers = tuple([(*runs,) for runs in plan.workers])
    return attrs.evolve(plan, workers=workers, bands=(*plan.bands,))


def test_only_fields_that_plan_change_a_launch() -> None:
    """A launch is kept for all specs that agree on `fields_that_plan`; no other field changes a band of it."""
    spec = DeviceSpec()
    other = override(
        spec,
        {
            "clock_mhz": 1, "cores": 7, "workers": 3, "core_ids": [], "dispatch_ticks": 1, "completion_ticks": 1,
            "decode_ticks": 1, "kernel_load_ticks": 1, "launch_stagger_ticks": 1, "relaunch_ticks": 1,
            "data_movement": "seeded", "scratch_bytes": spec.scratch_bytes + 64,
            "scratch_reserved_bytes": spec.scratch_reserved_bytes + 64,
            "dma": {
                "read_channels": 9, "write_channels": 9, "channel_scope": "per_core", "arbitration": "round_robin",
                "outstanding": 3, "bytes_per_tick": 3, "issue_ticks": 1, "setup_ticks": 1, "row_ticks": 9,
                "outstanding_bursts": 1,
            },
            "memory": {
                "bytes_per_tick": 5, "background_percent": 9, "split_port": True, "read_latency_ticks": 9,
                "write_latency_ticks": 9, "page_walk_ticks": 9, "window_base": 0, "window_bytes": 1 << 40,
            },
        },
    )  # fmt: skip
    assert fields_that_plan(spec) == fields_that_plan(other)
    for geometry in random_geometries(72, seed=9):
        if 0 not in geometry.shape:
            plan = plan_of(request_of(geometry))
            fields = PacketGeometry.of(decode(encode_plan(plan, plan.op).bind(4096, 1 << 20).raw))
            drawn = [written_out(plan_launch(fields, s, 5)) for s in (spec, other)]
            assert drawn[0] == drawn[1]
            assert exact_program(drawn[0], spec) == exact_program(drawn[1], spec)
