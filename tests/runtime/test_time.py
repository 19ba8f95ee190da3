"""Time: a timeout is a limit, every tick of a job is in a part, resets, records and interrupts may meet anywhere."""

from collections.abc import Callable, Sequence

import pytest
from simpy import Environment

from tessbed.firmware_models.image import FirmwareImage
from tessbed.runtime import Job, JobLost, Runtime, State
from tessbed.runtime.errors import SubmitError
from tessbed.runtime.invariants import check_runtime, check_runtime_ended
from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.device.device import Device, Submission
from tessbed.sim.errors import HazardError
from tessbed.sim.fault_injection import Fault, by_number
from tests.runtime.bench import filled, linear_output, small_plan, small_spec, tiled_input

RIGHT = linear_output(tiled_input(0)).tobytes()


def devices(*plans: Sequence[Fault], **changes: object) -> list[Device]:
    """Devices on one clock with one checker; the first job of each has these faults."""
    env, checker = Environment(), Checker()
    options = {"env": env, "checker": checker}
    return [Device(small_spec(**changes), FirmwareImage.full(), faults=by_number({0: p}), **options) for p in plans]


def alone() -> tuple[int, int]:
    """The ticks of a job by itself: when its record is written, and when its interrupt comes."""
    runtime = Runtime(devices(()))
    source, target = filled(runtime)
    woken = runtime.run(small_plan(), [source], [target]).job_ticks
    return woken - small_spec().completion_ticks, woken


def passed(runtime: Runtime, tick: int) -> None:
    """Let time pass until nothing more happens up to `tick`."""
    while runtime.env.peek() <= tick:
        runtime.step()


def kinds(runtime: Runtime) -> list[str]:
    return [notice.kind for notice in runtime.scheduler.notices]


RECORD, WOKEN = alone()
ENDS: dict[str, tuple[tuple[Fault, ...], int | None, str, int]] = {
    "plain": ((), None, "ok", WOKEN),
    "polled before its interrupt": ((), RECORD, "ok", RECORD),
    "polled in vain for its interrupt": ((Fault("lost_interrupt"),), WOKEN + 500, "ok", WOKEN + 500),
    "late": ((Fault("late", 700),), None, "ok", WOKEN + 700),
    "late and polled": ((Fault("late", 700),), RECORD + 720, "ok", RECORD + 720),
    "refused by the bus": ((Fault("dma_error"),), None, "dma_error", 0),
    "dead worker, polled": ((Fault("worker_died"), Fault("lost_interrupt")), 50_000, "worker_died", 50_000),
    "lost": ((Fault("lost"),), 30_000, "lost", 30_000),
    "torn": ((Fault("torn_record"),), 30_000, "lost", 30_000),
    "cut off": ((), 2_000, "lost", 2_000),
}


@pytest.mark.parametrize("waits", [0, 1, 3], ids=["at once", "behind one", "behind three"])
@pytest.mark.parametrize(("faults", "timeout", "outcome", "ticks"), ENDS.values(), ids=ENDS.keys())
def test_parts_sum_however_a_job_ends(
    faults: tuple[Fault, ...], timeout: int | None, outcome: str, ticks: int, waits: int
) -> None:
    """job_ticks go from submission to the host's wake, and the parts sum to them, the runtime's own queue included."""
    env = Environment()
    device = Device(small_spec(), FirmwareImage.full(), env=env, faults=by_number({waits: faults}))
    runtime = Runtime(device)
    ahead = [runtime.submit(small_plan(), *([port] for port in filled(runtime))) for _ in range(waits)]
    for job in ahead[:-1]:
        runtime.settle(job)
    start = runtime.now
    busy = ahead[-1] if ahead else None
    source, target = filled(runtime)
    spare = 0 if busy is None else WOKEN
    limit = None if timeout is None else timeout + (spare if outcome != "lost" else 0)
    job = runtime.submit(small_plan(), [source], [target], timeout_ticks=limit)
    result = runtime.settle(job)
    assert (result.outcome, result.job_ticks) == (outcome, runtime.now - start)
    if outcome == "lost" or (timeout is not None and busy is None):
        assert result.job_ticks == ticks
    assert sum(result.parts.values()) == result.job_ticks
    assert min(result.parts.values()) >= 0
    if result.record is not None:
        assert result.stats is not None
        assert (result.stats.parts, result.stats.job_ticks) == (result.parts, result.job_ticks)
        assert result.stats.submit_tick == start
        assert result.stats.transfers >= (outcome != "worker_died")
    if busy is not None and outcome != "lost":
        assert result.parts["queue"] == busy.final_tick - start > 0
    while not job.final:
        runtime.step()
    assert check_runtime_ended(job) == []


def test_jobs_submitted_at_once_have_their_wait_in_queue() -> None:
    """Four jobs on one device: each waits for those before it, and result and statistics say so alike."""
    runtime = Runtime(devices(()))
    jobs = [runtime.submit(small_plan(), *([port] for port in filled(runtime))) for _ in range(4)]
    results = [runtime.wait(job) for job in jobs]
    assert [result.parts["queue"] for result in results] == [0, *(result.job_ticks for result in results[:-1])]
    assert all(r.stats and r.stats.job_ticks == r.job_ticks == sum(r.stats.parts.values()) for r in results)


def test_waiting_for_its_turn_to_retire_is_in_queue() -> None:
    """A job that ended behind a slower one of its queue wakes its client when that one retires; no tick is left."""
    runtime = Runtime(devices((Fault("late", 5_000),), ()))
    jobs = [runtime.submit(small_plan(), *([port] for port in filled(runtime))) for _ in range(2)]
    slow, fast = (runtime.wait(job) for job in jobs)
    assert slow.job_ticks == fast.job_ticks == WOKEN + 5_000
    assert (slow.parts["completion"], fast.parts["completion"]) == (5_050, 50)
    assert fast.parts["queue"] == 5_000
    assert [check_runtime_ended(job) for job in jobs] == [[], []]


@pytest.mark.parametrize("reset_ticks", [0, 1, 9_000, 200_000])
@pytest.mark.parametrize("timeout", [1, 100, RECORD - 1])
def test_lost_at_the_very_tick_and_for_good(timeout: int, reset_ticks: int) -> None:
    """Without a record at its deadline a job is lost there, whether the reset or its record comes first after that."""
    runtime = Runtime(devices((), reset_ticks=reset_ticks))
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target], timeout_ticks=timeout)
    with pytest.raises(JobLost, match=f"no completion within {timeout} ticks"):
        runtime.wait(job)
    assert (runtime.now, job.lost_tick, job.result().outcome) == (timeout, timeout, "lost")
    source.close()
    assert not source.allocation.freed
    while not job.final:
        runtime.step()
    assert (job.state, job.result().outcome) == (State.RECOVERED, "lost")
    assert job.final_tick == min(timeout + reset_ticks, WOKEN)
    assert source.allocation.freed
    with pytest.raises(JobLost):
        runtime.wait(job)


def test_a_job_in_the_queue_is_lost_without_a_reset() -> None:
    """A deadline counts the wait in the queue; no device has seen that job, so none is reset and none is in its way."""
    runtime = Runtime(devices(()))
    first = runtime.submit(small_plan(), *([port] for port in filled(runtime)))
    source, target = filled(runtime)
    second = runtime.submit(small_plan(), [source], [target], timeout_ticks=WOKEN - 1)
    third = runtime.submit(small_plan(), *([port] for port in filled(runtime)), after=[second])
    with pytest.raises(JobLost, match="not started within"):
        runtime.wait(second)
    assert (runtime.now, second.state, second.result().parts) == (WOKEN - 1, State.CANCELLED, {"queue": WOKEN - 1})
    assert runtime.wait(first).outcome == "ok"
    assert third.state is State.CANCELLED
    assert runtime.recovery.resets == 0
    assert check_runtime_ended(second) == check_runtime_ended(third) == []


@pytest.mark.parametrize("ticks", [RECORD, RECORD + 1, WOKEN - 1])
def test_an_interrupt_on_its_way_is_no_news(ticks: int) -> None:
    """A job that its record has ended is owed one interrupt: that is consumed, and only the next is one too many."""
    for faults, notices in (((), []), ((Fault("repeated", 5),), ["repeated"]), ((Fault("lost_interrupt"),), [])):
        runtime = Runtime(devices(faults))
        source, target = filled(runtime)
        job = runtime.submit(small_plan(), [source], [target], timeout_ticks=ticks)
        assert runtime.wait(job).outcome == "ok"
        assert runtime.now == ticks
        passed(runtime, 10 * WOKEN)
        assert kinds(runtime) == ["polled", *notices]
        assert target.host.tobytes() == RIGHT


def test_the_interrupt_at_the_deadline_ends_the_job() -> None:
    """What happens in the tick of the deadline is in time: nobody polls."""
    runtime = Runtime(devices(()))
    source, target = filled(runtime)
    runtime.wait(runtime.submit(small_plan(), [source], [target], timeout_ticks=WOKEN))
    passed(runtime, 10 * WOKEN)
    assert (runtime.now, kinds(runtime)) == (WOKEN, [])


@pytest.mark.parametrize("when", range(RECORD - 4, WOKEN + 4, 3))
def test_a_record_or_interrupt_on_its_way_when_a_reset_is_confirmed(when: int) -> None:
    """A record in place by then ends the job well; without it the job is recovered; no interrupt comes afterwards."""
    reset_ticks = 1_000
    runtime = Runtime(devices((), reset_ticks=reset_ticks), auto_reset=False)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target])
    runtime.env.run(until=when - reset_ticks)
    runtime.reset()
    result = runtime.settle(job)
    passed(runtime, 10 * WOKEN)
    known = "ok" if when >= RECORD else "recovered"
    assert result.outcome == known
    assert kinds(runtime) == (["polled"] if RECORD <= when <= WOKEN else [])
    assert check_runtime_ended(job) == []
    again = runtime.run(small_plan(), [source], [target])
    assert (again.outcome, target.host.tobytes()) == ("ok", RIGHT)


def test_a_record_within_the_grace_whose_interrupt_is_lost() -> None:
    """The end of the grace looks once more: the job ends late and well, by its record alone."""
    runtime = Runtime(devices((Fault("late", 600), Fault("lost_interrupt"))))
    source, target = filled(runtime)
    queue = runtime.queue("q", timeout_ticks=WOKEN, grace_ticks=1_000)
    job = runtime.submit(small_plan(), [source], [target], queue=queue)
    result = runtime.wait(job)
    assert (result.outcome, runtime.now, job.late) == ("ok", WOKEN + 1_000, True)
    assert kinds(runtime) == ["late", "polled"]
    assert sum(result.parts.values()) == WOKEN + 1_000
    assert target.host.tobytes() == RIGHT


def test_a_deadline_passes_while_a_reset_is_under_way() -> None:
    """A reset that somebody asked for before does not spare the job its deadline, nor does its record after that."""
    runtime = Runtime(devices((Fault("late", 600),), reset_ticks=5 * WOKEN))
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target], timeout_ticks=WOKEN)
    runtime.reset()
    assert job.state is State.RECOVERING
    assert (runtime.settle(job).outcome, runtime.now, job.state) == ("lost", WOKEN, State.RECOVERING)
    assert check_runtime(runtime) == []
    while not job.final:
        runtime.step()
    assert (job.outcome, job.state, runtime.now) == ("lost", State.RECOVERED, WOKEN + 600)
    assert check_runtime_ended(job) == []


def test_no_job_starts_on_a_device_that_is_reset() -> None:
    """A reset that honours a record does not start the next job on the device; that one runs after the confirmation."""
    runtime = Runtime(devices((Fault("lost_interrupt"),), reset_ticks=500))
    first, second = (runtime.submit(small_plan(), *([port] for port in filled(runtime))) for _ in range(2))
    passed(runtime, 2 * WOKEN)
    runtime.reset()
    assert (first.state, second.state) == (State.RETIRED, State.SUBMITTED)
    assert runtime.wait(second).outcome == "ok"
    assert [move.value for _, move, _ in second.history] == ["bind", "submit", "start", "complete", "retire"]


LESSONS: dict[str, tuple[tuple[Fault, ...], int | None]] = {
    "by its interrupt": ((), None),
    "by its record, the interrupt lost": ((Fault("lost_interrupt"),), 2 * WOKEN),
    "by its record, before the interrupt": ((), RECORD + 1),
    "by its record, lost before": ((Fault("late", 90),), RECORD + 60),
}


@pytest.mark.parametrize("callback", [False, True], ids=["after", "from the callback"])
@pytest.mark.parametrize(("faults", "timeout"), LESSONS.values(), ids=LESSONS.keys())
def test_the_checker_knows_what_the_host_knows(faults: tuple[Fault, ...], timeout: int | None, callback: bool) -> None:
    """A job on another device that the host orders behind the end of the first is no race, however it learned of it."""
    runtime = Runtime(devices(faults, (), reset_ticks=1_000))
    (source, target), (_, other) = filled(runtime), filled(runtime)
    first = runtime.submit(small_plan(), [source], [target], timeout_ticks=timeout)
    late: list[Job] = []

    def follow(_: Job) -> None:
        runtime.submit(small_plan(), [source], [other], name="takes device 0", queue=runtime.queue("one"))
        late.append(runtime.submit(small_plan(), [source], [target], queue=runtime.queue("two")))

    if callback:
        first.on_final(follow)
    runtime.settle(first)
    while not first.final:
        runtime.step()
    if not callback:
        follow(first)
    assert first.outcome == "lost" or late[0] in runtime.scheduler.links[1].jobs
    assert runtime.wait(late[0]).outcome == "ok"


def test_the_checker_still_sees_a_race() -> None:
    """A job that another device gets before the host knows of the first one's end races, though the record is there."""
    runtime = Runtime(devices((), ()))
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target])
    passed(runtime, RECORD)
    assert job.state is State.RUNNING
    assert job.control is not None
    record = runtime.allocate(64, name="record")
    other = Submission(job.control.packet.address, len(job.raw), record.address, 99)
    with pytest.raises(HazardError, match="granule_race"):
        runtime.devices[1].run(runtime.devices[1].submit(other))


BAD_TICKS: dict[str, Callable[[Runtime], object]] = {
    "timeout of a job": lambda r: r.submit(small_plan(), *([p] for p in filled(r)), timeout_ticks=0),
    "half a tick": lambda r: r.submit(small_plan(), *([p] for p in filled(r)), timeout_ticks=0.5),  # type: ignore[arg-type]
    "timeout of a queue": lambda r: r.queue("q", timeout_ticks=-1),
    "grace of a queue": lambda r: r.queue("q", timeout_ticks=1, grace_ticks=-1),
}


@pytest.mark.parametrize("attempt", BAD_TICKS.values(), ids=BAD_TICKS.keys())
def test_ticks_that_can_not_be_are_refused(attempt: Callable[[Runtime], object]) -> None:
    """A timeout is a whole tick at least, a grace no less than none; nothing has happened."""
    runtime = Runtime(devices(()))
    with pytest.raises(SubmitError, match=r"wanted an integer of [01] ticks at least"):
        attempt(runtime)
    assert not runtime.scheduler.live
