"""What a timeline shows: lanes that nest, flows that are complete, counters that add up, faults and hangs and races."""

from collections import Counter
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.library import catalogue, load
from tessbed.scenarios.timeline.recording import recording
from tessbed.scenarios.timeline.timeline import Timeline
from tessbed.sim.fault_injection import Fault, by_number
from tests.firmware_models.mutants import MUTANTS
from tests.scenarios.texts import SMALL
from tests.scenarios.timeline.decoded import Decoded, decode_trace
from tests.scenarios.timeline.traced import jobs_of, stats_of, traced
from tests.scenarios.verification.explore.test_exploration import case_of
from tests.sim.rig import OUT, build, read, write

SLOW = ("large-detess", "soak", "worker-curve", "detr-classes-int8")
EXAMPLES = Path(__file__).parents[3] / "examples"
KERNELS = [f"{EXAMPLES / name}.py:{name}" for name in ("copy", "planes", "transpose", "reduce")]
QUICK = [name for name in catalogue() if name not in SLOW]


def leads(shown: Decoded) -> Counter[tuple[str, str]]:
    """Arrows by the kinds of lanes that they join."""
    return Counter((kind(before.track), kind(after.track)) for before, after in shown.arrows)


def kind(track: str) -> str:
    """The kind of a lane, without its number."""
    for name in ("read channel", "write channel", "bands", "slot", "completion"):
        if name in track:
            return name
    return "job" if track.startswith("job ") else track


@pytest.mark.parametrize(
    "name", [*KERNELS, *(pytest.param(n, marks=pytest.mark.long if n in SLOW else ()) for n in catalogue())]
)
def test_flows_are_complete(name, tmp_path) -> None:
    """Each read leads to a band, each band to its slot and its drain, each worker's last drain to the record."""
    settings = [] if name in KERNELS else ["jobs.*.backend=ev74"]
    ran, shown = traced(load(name, settings), tmp_path / "run.pftrace")
    stats = stats_of(ran)
    done = [one for one in stats if one.completion.status == 0]
    if len(done) != len(ran.jobs):
        return  # a job that fails leaves flows that lead nowhere; the tests below look at those
    found = leads(shown)
    bands = sum(one.writes.transfers for one in stats)
    assert found["read channel", "bands"] == sum(one.reads.transfers for one in stats)
    assert found["bands", "slot"] == found["slot", "write channel"] == bands
    workers = sum(
        any(key == (worker.worker, "write") for key in one.digests) for one in stats for worker in one.workers
    )
    assert found["write channel", "completion"] == workers
    assert found["completion", "job"] == len(stats)
    assert all(before.begin <= after.begin for before, after in shown.arrows)


@pytest.mark.parametrize("name", ["chroma", "yolov8n-heads-bf16"])
def test_channels_ports_and_counters_are_the_statistics(name, tmp_path) -> None:
    """Slices of channels and ports take the ticks that these were busy; counters reach the peaks and the bytes."""
    ran, shown = traced(load(name, ["jobs.*.backend=ev74"]), tmp_path / "run.pftrace")
    stats = stats_of(ran)
    for number, kind in enumerate(("read", "write")):
        busy = sum(one.ticks for track in shown.tracks(f"{kind} channels") if "channel" in track
                   for one in shown.on(track) if one.depth == 0)  # fmt: skip
        assert busy == sum(one.pools[number].busy_ticks for one in stats)
        in_flight = [value for _, value in shown.counters[f"{kind}s in flight"]]
        assert max(in_flight) == max(one.pools[number].peak_in_flight for one in stats)
        assert in_flight[-1] == 0
        moved = sum((one.reads, one.writes)[number].payload_bytes for one in stats)
        assert shown.counters[{"read": "bytes read", "write": "bytes written"}[kind]][-1][1] == moved
    assert sum(one.ticks for one in shown.on("memory port")) == sum(one.ports[0].busy_ticks for one in stats)
    for samples in shown.counters.values():
        assert [tick for tick, _ in samples] == sorted({tick for tick, _ in samples})


def test_jobs_go_through_their_states(tmp_path) -> None:
    """A job's lane has its states with their ticks, and its end; the device's lane has its parts."""
    ran, shown = traced(load("chroma", ["jobs.*.backend=ev74"]), tmp_path / "run.pftrace")
    for number, (job, stats) in enumerate(zip(jobs_of(ran), stats_of(ran), strict=True)):
        *states, end = shown.on(f"job {job.cookie}: {job.name}")
        assert [(one.name, one.begin) for one in states] == [("running", job.submit_tick)]
        assert (end.name, end.begin, end.args["outcome"]) == ("retired", job.final_tick, "ok")
        whole = [one for one in shown.on("device job") if one.depth == 0][number]
        parts = {one.name: one.ticks for one in shown.on("device job") if one.parent is whole}
        assert parts.pop("launch") == stats.device_ticks
        assert parts == {name: stats.parts[name] for name in ("dispatch", "decode", "load") if stats.parts[name]}
    acts = Counter(one.name for one in shown.on("host"))
    assert acts == {"submit": 2, "doorbell": 2, "record confirmed": 2, "retire": 2}
    assert {value for _, value in shown.counters["buffers held by jobs"]} == {2, 0}
    assert shown.on("1 tick = 1 ns")[0].args["text"].startswith("one tick is shown as one nanosecond")


def test_bands_say_where_they_are(tmp_path) -> None:
    """A band's arguments add up to the job's transfers, bytes and tiles; a drain's address is in the output."""
    ran, shown = traced(load("yolov8n-heads-int8", ["jobs.*.backend=ev74"]), tmp_path / "run.pftrace")
    stats = stats_of(ran)
    bands = [one for core in range(4) for one in shown.on(f"core {core} bands") if one.name == "band"]
    assert len(bands) == sum(one.counts["bands"] for one in stats)
    assert sum(one.args["reads"] for one in bands) == sum(one.reads.transfers for one in stats)
    assert sum(one.args["read_bytes"] for one in bands) == sum(one.reads.payload_bytes for one in stats)
    assert sum(one.args["drain_bytes"] for one in bands) == sum(one.writes.payload_bytes for one in stats)
    for one in bands:
        assert one.args["drain"] >= 0x80000000
        assert one.args["tile"] <= one.args["last_tile"]


def test_a_hang_shows_who_waits_up_to_the_reset(tmp_path) -> None:
    """The stalled transfer, the wait for it and the worker are cut off at the reset, and say so; the text is a mark."""
    _, shown = traced(load("fault-stalled-channel", []), tmp_path / "run.pftrace")
    (hang,) = [one for one in shown.on("faults, hazards and races") if one.name == "hang"]
    assert "transfer 0 of worker 0" in hang.args["text"]
    (struck,) = [one for one in shown.on("faults, hazards and races") if one.name == "fault stall"]
    (stuck,) = [one for one in shown.slices if one.name == "read" and "unfinished" in one.args]
    assert struck.begin == stuck.begin
    (wait,) = [
        one for one in shown.on("core 0 bands") if one.name == "wait gather" and one.args["mostly"] == "never ends"
    ]
    (worker,) = [one for one in shown.on("core 0 workers") if "unfinished" in one.args]
    launch = next(one for one in shown.on("device job") if one.name == "launch")
    assert stuck.end == wait.end == worker.end == launch.end > hang.begin
    states = [one.name for one in shown.on("job 1: stuck")]
    assert states == ["running", "recovering", "recovered"]
    assert [one.name for one in shown.on("job 2: after the reset")][-1] == "retired"


@pytest.mark.parametrize("fault", ["dma_error", "worker_died"])
def test_a_fault_of_a_transfer_is_marked(fault, tmp_path) -> None:
    """The tick at which a fault takes effect is in the timeline, with its text; the job ends as faulted."""
    scenario = compose(parse_toml(SMALL, "f"), Path())
    job = attrs.evolve(scenario.jobs[0], faults=(Fault(fault, worker=0, transfer=1),), expected_fault=fault)
    ran, shown = traced(attrs.evolve(scenario, jobs=(job,)), tmp_path / "run.pftrace")
    marks = [one.name for one in shown.on("faults, hazards and races")]
    assert f"fault {fault}" in marks
    assert marks[-1] == "fault"
    assert ran.ok


def test_a_race_is_a_mark_with_its_text(tmp_path) -> None:
    """Firmware that lets two workers share a granule: the timeline has all that ran, and the finding where it ended."""
    mutant = next(mutant for mutant in MUTANTS if mutant.kind == "granule_race")
    case = case_of(mutant.geometry, **mutant.changes)
    scenario = compose(parse_toml(SMALL, "f"), Path())
    job = attrs.evolve(scenario.jobs[0], geometry=case.geometry, plan=case.geometry.admit(), workers=None)
    with mutant.applied():
        ran, shown = traced(attrs.evolve(scenario, device=case.spec, jobs=(job,)), tmp_path / "run.pftrace")
    trouble = next(ran.outcomes).trouble
    assert trouble is not None
    assert trouble.kind == "hazard"
    (mark,) = [one for one in shown.on("faults, hazards and races") if one.name == "hazard"]
    assert "granule_race" in mark.args["text"]
    assert mark.begin == max(one.end for one in shown.on("device job"))


def firmware(path: Path, body, **options) -> Decoded:
    """What a timeline shows of a body on the rig."""
    with recording(path, "pftrace") as sink:
        timeline: list[Timeline] = []

        rig = build(body, options.pop("changes", {}), tracer=None, **options)
        timeline.append(Timeline.of(sink, rig.device.spec))
        rig.device.tracer = rig.device.delivery.tracer = timeline[0].device
        rig.run()
        timeline[0].end(rig.device.now)
    return decode_trace(path)


def test_a_body_can_say_what_it_does(tmp_path) -> None:
    """A kernel's own words, such as its source line, are arguments of what follows, until it says something else."""

    def body(ctx):
        ctx.note(source="copy.py:12", row=3)
        yield from ctx.gather([read(0, 0, 256)])
        ctx.note(source="copy.py:14")
        yield from ctx.compute(40, lambda: None)
        ctx.note()
        yield from ctx.drain(0, [write(OUT, 0, 256)])
        yield from ctx.wait_drains()

    shown = firmware(tmp_path / "t.pftrace", body, changes={"workers": 1})
    reported = [
        (one.name, one.args.get("source"), one.args.get("row")) for one in shown.on("core 0 bands") if one.depth < 2
    ]
    assert ("issue", "copy.py:12", 3) in reported
    assert ("wait gather", "copy.py:12", 3) in reported
    assert ("compute", "copy.py:14", None) in reported
    assert [one for one in reported if one[0] == "wait end"] == [("wait end", None, None)]


def test_a_slot_that_is_used_twice_gets_a_second_lane(tmp_path) -> None:
    """A kernel that does not wait for its slot is wrong, yet its timeline nests: the overlap has a lane of its own."""

    def body(ctx):
        yield from ctx.drain(0, [write(OUT, 0, 4096)])
        yield from ctx.drain(0, [write(OUT + 8192, 0, 4096)])
        yield from ctx.wait_drains()

    shown = firmware(tmp_path / "t.pftrace", body, changes={"workers": 1})
    assert [len([o for o in shown.on(f"core 0 slot 0{more}") if o.depth == 0]) for more in ("", " (overlap 2)")] == [
        1,
        1,
    ]


def test_faults_planned_for_the_completion_are_marked(tmp_path) -> None:
    """A completion that never comes is in the timeline, and the record that the host never saw is not."""

    def body(ctx):
        yield from ctx.gather([read(0, 0, 64)])

    with recording(tmp_path / "t.pftrace", "pftrace") as sink:
        rig = build(body, {"workers": 1}, faults=by_number({0: [Fault("lost")]}))
        timeline = Timeline.of(sink, rig.device.spec)
        rig.device.tracer = rig.device.delivery.tracer = timeline.device
        rig.submit()
        rig.device.env.run()
        timeline.end(rig.device.now)
    shown = decode_trace(tmp_path / "t.pftrace")
    assert [one.name for one in shown.on("faults, hazards and races")] == ["fault lost"]
    assert "completion" not in {one.track for one in shown.slices}
