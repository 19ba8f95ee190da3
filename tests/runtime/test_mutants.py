"""Mutants of the runtime, each with the classic error of such a system, and the named check that catches it."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
import pytest
from simpy import Environment

from tessbed.firmware_models.image import Composition, FirmwareImage
from tessbed.kernels import NotRepresentable
from tessbed.runtime import Job, Runtime, State, Transition
from tessbed.runtime.graph import registration
from tessbed.runtime.graph.graph import Graph, Node
from tessbed.runtime.graph.registration import register
from tessbed.runtime.invariants import check_runtime, check_runtime_ended
from tessbed.runtime.jobs import job as runtime_job
from tessbed.runtime.jobs import job_ticks
from tessbed.runtime.jobs.control_block import ControlBlock
from tessbed.runtime.memory.coherency import CoherencyError, Policy
from tessbed.runtime.memory.cpu_access import CpuSide
from tessbed.runtime.scheduling.device_link import Link
from tessbed.runtime.scheduling.scheduler import Scheduler
from tessbed.runtime.scheduling.submission import Submitter
from tessbed.sim import completion_record
from tessbed.sim.completion_record import Record
from tessbed.sim.device.device import Device
from tessbed.sim.fault_injection import Fault, by_number
from tessbed.sim.stats import JobStats
from tests.runtime.bench import filled, linear_output, make_device, small_plan, small_spec, tiled_input
from tests.runtime.graph.test_graph import chain, oversized, words


def watched(first: Sequence[Fault] = (), second: Sequence[Fault] = ()) -> list[str]:
    """Two jobs whose buffers are closed at once, with faults; every finding at every step, by rule."""
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: first, 1: second}), env=Environment())
    runtime = Runtime(device, depth=2)
    queue = runtime.queue("q", timeout_ticks=20_000, grace_ticks=5_000)
    ports = [filled(runtime, seed) for seed in range(2)]
    outputs = [target.host for _, target in ports]
    jobs = [runtime.submit(small_plan(), [source], [target], queue=queue) for source, target in ports]
    found: list[str] = []
    for job, (source, target) in zip(jobs, ports, strict=True):
        job.on_final(lambda job: found.extend(check_runtime_ended(job)))
        source.close()
        target.close()
    found += check_runtime(runtime)
    while not all(job.over for job in jobs):
        runtime.step()
        found += check_runtime(runtime)
    for seed, job in enumerate(jobs):
        if job.outcome == "ok" and outputs[seed].tobytes() != linear_output(tiled_input(seed)).tobytes():
            found.append("right_bytes: a job was reported done with wrong bytes")
    return sorted({line.split(":")[0] for line in found})


PLANS = {
    "no fault": (),
    "early": (Fault("early"),),
    "late": (Fault("late", 13_000),),
    "lost": (Fault("lost"),),
    "repeated": (Fault("repeated", 5),),
}


@pytest.mark.parametrize("faults", PLANS.values(), ids=PLANS.keys())
def test_the_runtime_is_never_accused(faults: tuple[Fault, ...]) -> None:
    """At no step of any of these runs does a rule find anything."""
    assert watched(faults) == []


def release_at_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owners go as soon as the job is in the queue."""
    honest = Submitter.submit

    def submit(self: Submitter, *args, **options) -> Job:
        job = honest(self, *args, **options)
        job.owners.release()
        return job

    monkeypatch.setattr(Submitter, "submit", submit)


def release_at_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owners go when an interrupt comes, whether the record confirms it or not."""
    honest = Scheduler.interrupt

    def interrupt(self: Scheduler, link: Link, cookie: int) -> None:
        if cookie in self.live:
            self.live[cookie].owners.release()
        honest(self, link, cookie)

    monkeypatch.setattr(Scheduler, "interrupt", interrupt)


def late_record_retires_the_running_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late interrupt is taken for the job that runs now."""
    honest = Scheduler.interrupt

    def interrupt(self: Scheduler, link: Link, cookie: int) -> None:
        late = cookie in self.live and self.live[cookie].state is not State.RUNNING
        running = [job for job in link.jobs if job.cookie != cookie]
        if not late or not running:
            return honest(self, link, cookie)
        link.jobs.remove(running[0])
        running[0].outcome = "ok"
        running[0].move(Transition.COMPLETE, self.now)
        return running[0].queue.retire(self.now)

    monkeypatch.setattr(Scheduler, "interrupt", interrupt)


def old_record_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooled record page is not blanked, and any valid record is good enough."""

    def load(self: ControlBlock, raw: bytes) -> None:
        self.packet.host[: len(raw)] = np.frombuffer(raw, np.uint8)

    monkeypatch.setattr(ControlBlock, "load", load)
    honest = ControlBlock.read_record

    def read_record(self: ControlBlock, cookie: int) -> Record | None:
        found = completion_record.decode_record(self.record.host[: completion_record.RECORD_BYTES].tobytes())
        return honest(self, found.cookie) if found else None

    monkeypatch.setattr(ControlBlock, "read_record", read_record)


def forgotten_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait in a queue is in no part."""
    honest = job_ticks.job_parts

    def job_parts(history: job_ticks.History, woken: int, stats: JobStats | None) -> dict[str, int]:
        return {**honest(history, woken, stats), "queue": 0}

    monkeypatch.setattr(runtime_job, "job_parts", job_parts)


Mutate = Callable[[pytest.MonkeyPatch], None]
ON_JOBS: dict[str, tuple[Mutate, tuple[Fault, ...], tuple[Fault, ...], str]] = {
    "release at submit": (release_at_submit, (), (), "device_can_reach"),
    "release at completion before confirmation": (release_at_interrupt, (Fault("early"),), (), "device_can_reach"),
    "late completion retires the wrong job": (
        late_record_retires_the_running_job,
        (Fault("late", 13_000),),
        (Fault("stall"),),
        "own_record",
    ),
    "parts that do not sum": (forgotten_wait, (), (), "parts_sum"),
}


@pytest.mark.parametrize("case", ON_JOBS.values(), ids=ON_JOBS.keys())
def test_a_mutant_of_the_job_path_is_caught(
    monkeypatch: pytest.MonkeyPatch, case: tuple[Mutate, tuple[Fault, ...], tuple[Fault, ...], str]
) -> None:
    """The honest runtime passes the same run; the mutant breaks the named rule."""
    mutate, first, second, rule = case
    assert watched(first, second) == []
    mutate(monkeypatch)
    assert rule in watched(first, second)


def test_an_old_record_does_not_pass_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime that takes the record of a pooled page's last job is caught by own_record."""
    old_record_passes(monkeypatch)
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({1: [Fault("early")]}), env=Environment())
    runtime = Runtime(device)
    runtime.run(small_plan(), *([port] for port in filled(runtime, 0)))
    source, target = filled(runtime, 1)
    job = runtime.submit(small_plan(), [source], [target])
    runtime.settle(job)
    assert [line.split(":")[0] for line in check_runtime_ended(job)] == ["own_record"]
    assert target.host.tobytes() != linear_output(tiled_input(1)).tobytes()


def run_cached_graph() -> bytes:
    """A chain that goes back and forth between CPU and device through cached buffers, under the strict checker."""
    runtime = Runtime(make_device())
    source = runtime.allocate(words().nbytes, name="x")
    target = runtime.allocate(2 * words().nbytes, name="y", policy=Policy.CACHED_MANUAL)
    source.host[:] = words().view(np.uint8)
    registered = register(chain("ev74", "a65", "ev74", "ev74"), runtime, policy=Policy.CACHED_MANUAL)
    for _ in range(2):
        registered.execute({"x": source}, {"y": target})
        target.cpu.invalidate()
    return target.cpu.read().tobytes()


ON_CACHES = {"skipped flush": ("flush", "missing_flush"), "skipped invalidate": ("invalidate", "missing_invalidate")}


@pytest.mark.parametrize("case", ON_CACHES.values(), ids=ON_CACHES.keys())
def test_a_mutant_of_cache_maintenance_is_caught(monkeypatch: pytest.MonkeyPatch, case: tuple[str, str]) -> None:
    """The checker names the call that the mutant leaves out."""
    call, kind = case
    assert run_cached_graph() == (words().astype(np.uint32) << 16).tobytes()
    monkeypatch.setattr(CpuSide, call, lambda self: None)
    with pytest.raises(CoherencyError) as caught:
        run_cached_graph()
    assert caught.value.finding.kind == kind


def test_a_registration_that_leaks_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed load that keeps its arena shows in the leak report, with the place where it was made."""
    nodes = [*chain("ev74", "a65", "ev74", "a65").nodes, Node("huge", oversized(), "ev74", "a", "b")]
    graph = Graph("oversized", nodes)
    for leaks in (False, True):
        runtime = Runtime(make_device(composition=Composition()))
        if leaks:
            monkeypatch.setattr(registration, "ExitStack", Forgetful)
        with pytest.raises(NotRepresentable):
            register(graph, runtime)
        assert [leak.name for leak in runtime.close()] == ["arena of oversized"] * leaks


class Forgetful(ExitStack):
    """An exit stack that forgets what it should undo."""

    def __exit__(self, *_: object) -> bool:
        self.pop_all()
        return False
