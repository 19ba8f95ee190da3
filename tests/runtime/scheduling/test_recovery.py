"""Lost, late, repeated and strange completions: each ends the right job, and nothing is freed early."""

import pytest
from simpy import Environment

from tessbed.firmware_models.image import FirmwareImage
from tessbed.runtime import JobFault, JobLost, Runtime, State
from tessbed.runtime.clients import Client
from tessbed.runtime.invariants import check_runtime
from tessbed.sim.device.device import Device
from tessbed.sim.errors import HangError
from tessbed.sim.fault_injection import Fault, by_number
from tests.runtime.bench import filled, linear_output, small_plan, small_spec, tiled_input

PATIENCE, GRACE = 20_000, 5_000


def faulty(*faults: Fault, auto_reset: bool = True, **changes: object) -> Runtime:
    """A runtime on a device whose first job has `faults`."""
    device = Device(small_spec(**changes), FirmwareImage.full(), faults=by_number({0: faults}), env=Environment())
    return Runtime(device, auto_reset=auto_reset)


def patient(runtime: Runtime) -> dict:
    """Submission options: a queue with a timeout."""
    return {"queue": runtime.queue("patient", timeout_ticks=PATIENCE, grace_ticks=GRACE)}


def states(job) -> list[str]:
    return [state.value for _, _, state in job.history]


HAPPY = ["bound", "submitted", "running", "completed", "retired"]
ENDINGS = {
    "late within the grace": (
        Fault("late", PATIENCE - 7_000),
        ["bound", "submitted", "running", "timed_out", "completed", "retired"],
        ["late"],
    ),
    "lost interrupt": (Fault("lost_interrupt"), HAPPY, ["polled"]),
    "repeated interrupt": (Fault("repeated", 10), HAPPY, ["repeated"]),
    "early interrupt": (Fault("early"), HAPPY, ["unconfirmed"]),
    "interrupt for nobody": (Fault("stranger", 10), HAPPY, ["unknown"]),
}


@pytest.mark.parametrize("case", ENDINGS.values(), ids=ENDINGS.keys())
def test_odd_completions_end_the_right_job(case: tuple[Fault, list[str], list[str]]) -> None:
    """The job ends by its own record, with the right bytes; what was odd is noted, and the next job is untouched."""
    fault, path, notices = case
    runtime = faulty(fault)
    options = patient(runtime)
    (a, b), (c, d) = filled(runtime, 0), filled(runtime, 1)
    first = runtime.submit(small_plan(), [a], [b], **options)
    second = runtime.submit(small_plan(), [c], [d])
    runtime.wait(first)
    runtime.wait(second)
    assert states(first) == path
    assert states(second) == HAPPY
    assert [notice.kind for notice in runtime.scheduler.notices] == notices
    assert runtime.device_faults == notices.count("unknown")
    assert b.host.tobytes() == linear_output(tiled_input(0)).tobytes()
    assert d.host.tobytes() == linear_output(tiled_input(1)).tobytes()


LOSSES = {"lost": Fault("lost"), "torn record": Fault("torn_record"), "stalled channel": Fault("stall")}


@pytest.mark.parametrize("fault", LOSSES.values(), ids=LOSSES.keys())
def test_a_lost_job_is_quarantined_until_the_reset_is_confirmed(fault: Fault) -> None:
    """Its buffers stay mapped through timeout, loss and reset; the queue then goes on with the next job."""
    runtime = faulty(fault)
    options = patient(runtime)
    (a, b), (c, d) = filled(runtime, 0), filled(runtime, 1)
    first = runtime.submit(small_plan(), [a], [b], **options)
    second = runtime.submit(small_plan(), [c], [d])
    a.close()
    b.close()
    while first.state is not State.RECOVERED:
        held = [leak.name for leak in runtime.allocator.leaks]
        assert {"source 0", "target 0"} <= set(held)
        runtime.step()
    assert states(first)[3:] == ["timed_out", "lost", "quarantined", "recovering", "recovered"]
    assert not {"source 0", "target 0"} & {leak.name for leak in runtime.allocator.leaks}
    assert first.final_tick - first.history[-2][0] == runtime.devices[0].reset_ticks == 200_000
    with pytest.raises(JobLost, match="no completion within 20000"):
        runtime.wait(first)
    assert runtime.wait(second).outcome == "ok"
    assert d.host.tobytes() == linear_output(tiled_input(1)).tobytes()
    c.close()
    d.close()
    assert runtime.close() == ()


def test_quarantine_lasts_until_somebody_resets() -> None:
    """Without automatic reset the wait ends in JobLost, the buffers stay held, and a reset gives them back."""
    runtime = faulty(Fault("lost"), auto_reset=False)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target], **patient(runtime))
    with pytest.raises(JobLost, match="its buffers are still held"):
        runtime.wait(job)
    source.close()
    target.close()
    assert {leak.name for leak in runtime.allocator.leaks} >= {"source 0", "target 0"}
    runtime.reset()
    while not job.final:
        runtime.step()
    assert job.state is State.RECOVERED
    assert runtime.close() == ()


def test_a_dead_clients_jobs_all_end_whatever_their_order() -> None:
    """A lost, a faulted and a stalled job of a client that is gone: one reset ends the first and last, and so all."""
    plan = by_number({0: [Fault("lost")], 1: [Fault("dma_error")], 2: [Fault("stall")]})
    runtime = Runtime(Device(small_spec(), FirmwareImage.full(), faults=plan), auto_reset=False, depth=3)
    client = Client(runtime, runtime.queue("gone", timeout_ticks=PATIENCE, grace_ticks=GRACE))
    jobs = []
    for _ in range(3):
        source, target = client.allocate(80), client.allocate(68)
        jobs.append(client.submit(small_plan(), [source], [target]))
    assert client.exit() == tuple(jobs)
    while jobs[0].state is not State.QUARANTINED:
        runtime.step()
    assert [job.state for job in jobs[1:]] == [State.FAULTED, State.TIMED_OUT]
    assert check_runtime(runtime) == []
    runtime.reset()
    for job in jobs:
        runtime.settle(job)
    while not all(job.final for job in jobs):
        runtime.step()
    assert [job.state for job in jobs] == [State.RECOVERED, State.RETIRED, State.RECOVERED]
    assert client.queue not in runtime.scheduler.queues
    assert runtime.close() == ()


def test_a_very_late_record_frees_a_quarantined_job() -> None:
    """A record after the grace proves that the device is done with that job, and frees it; the job stays lost."""
    runtime = faulty(Fault("late", PATIENCE + 2 * GRACE), auto_reset=False)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target], **patient(runtime))
    runtime.settle(job)
    assert job.state is State.QUARANTINED
    while not job.final:
        runtime.step()
    assert states(job)[3:] == ["timed_out", "lost", "quarantined", "recovered"]
    assert (job.late, job.result().outcome) == (True, "lost")
    assert [notice.kind for notice in runtime.scheduler.notices] == ["late"]
    with pytest.raises(JobLost, match="no completion within"):
        runtime.wait(job)


@pytest.mark.parametrize("transfer", range(3))
@pytest.mark.parametrize("kind", ["dma_error", "worker_died"])
def test_device_trouble_reaches_the_caller_by_name(kind: str, transfer: int) -> None:
    """A DMA error and a dead worker, at any transfer, end the job with a record that says so; the next job runs."""
    runtime = faulty(Fault(kind, transfer=transfer))
    source, target = filled(runtime)
    with pytest.raises(JobFault, match=f"the device reports {kind}"):
        runtime.run(small_plan(), [source], [target])
    assert runtime.run(small_plan(), [source], [target]).outcome == "ok"


def test_a_hang_without_a_timeout_is_reported() -> None:
    """Nobody waits in silence: the error says which job, worker and transfer wait for what."""
    runtime = faulty(Fault("stall"))
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target], name="stuck")
    with pytest.raises(HangError, match=r"(?s)worker 0.*read channel 0, which stalled.*job 'stuck' .* is running"):
        runtime.wait(job)


def test_leaving_leaves_no_device_access_behind() -> None:
    """Closing a runtime whose device hangs resets it: afterwards nothing is mapped and no event is left."""
    runtime = faulty(Fault("stall"))
    source, target = filled(runtime)
    (c, d) = filled(runtime, 1)
    job = runtime.submit(small_plan(), [source], [target])
    waiting = runtime.submit(small_plan(), [c], [d])
    for buffer in (source, target, c, d):
        buffer.close()
    assert runtime.close() == ()
    assert (job.state, waiting.state) == (State.RECOVERED, State.CANCELLED)
    assert runtime.devices[0].memory.mappings == ()
    assert runtime.env.peek() == float("inf")


def test_a_reset_in_mid_job_ends_it_at_the_confirmation() -> None:
    """The device goes on until the reset is confirmed, and writes nothing afterwards."""
    runtime = faulty(dispatch_ticks=300_000)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target])
    runtime.reset()
    with pytest.raises(JobLost, match="the device was reset"):
        runtime.wait(job)
    before = target.host.copy()
    while runtime.env.peek() != float("inf"):
        runtime.env.step()
    assert target.host.tobytes() == before.tobytes()
    assert runtime.run(small_plan(), [source], [target]).outcome == "ok"


def test_a_record_in_place_survives_a_reset() -> None:
    """A reset looks at the records first: a job whose interrupt was lost ends well."""
    runtime = faulty(Fault("lost_interrupt"), auto_reset=False)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target])
    while runtime.env.peek() != float("inf"):
        runtime.env.step()
    assert job.state is State.RUNNING
    runtime.reset()
    assert runtime.wait(job).outcome == "ok"
