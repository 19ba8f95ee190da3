"""Awaiting: whoever is cancelled, the others get their jobs."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from simpy import Environment

from tessbed.firmware_models.image import FirmwareImage
from tessbed.runtime import Job, JobResult, Runtime, State, SubmitError
from tessbed.runtime.asyncio_adapter import AsyncioAdapter
from tessbed.runtime.clients import Client
from tessbed.sim.device.device import Device
from tessbed.sim.errors import HangError
from tessbed.sim.fault_injection import Fault, by_number
from tests.runtime.bench import filled, linear_output, make_device, small_plan, small_spec, tiled_input

Story = Callable[[AsyncioAdapter, list[Job], list["asyncio.Task[JobResult]"]], Awaitable[None]]


def submitted(runtime: Runtime, count: int) -> list[Job]:
    """So many jobs in one queue."""
    return [runtime.submit(small_plan(), [a], [b]) for a, b in (filled(runtime, seed) for seed in range(count))]


def reported(story: Story, runtime: Runtime, count: int = 3) -> list[JobResult | BaseException]:
    """How `count` waits for as many jobs end when `story` happens to them; a wait that never ends fails."""

    async def everybody() -> list[JobResult | BaseException]:
        waits, jobs = AsyncioAdapter(runtime), submitted(runtime, count)
        tasks = [asyncio.create_task(waits.finished(job)) for job in jobs]
        await story(waits, jobs, tasks)
        _, pending = await asyncio.wait(tasks, timeout=20)
        assert not pending
        return await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(everybody())


def outcomes(ends: list[JobResult | BaseException]) -> list[str]:
    return [end.outcome if isinstance(end, JobResult) else type(end).__name__ for end in ends]


async def _the_driver_before_it_began(waits: AsyncioAdapter, jobs: list[Job], tasks: list) -> None:
    await asyncio.sleep(0)
    _driver(tasks).cancel()


async def _the_driver_under_way(waits: AsyncioAdapter, jobs: list[Job], tasks: list) -> None:
    while not jobs[0].over:
        await asyncio.sleep(0)
    _driver(tasks).cancel()


def _driver(tasks: list) -> asyncio.Task:
    (driver,) = asyncio.all_tasks() - {*tasks, asyncio.current_task()}
    return driver


@pytest.mark.parametrize("story", [_the_driver_before_it_began, _the_driver_under_way])
def test_another_drives_when_the_driver_is_cancelled(story: Story) -> None:
    """Cancelling the task that steps the simulation leaves nobody waiting."""
    assert outcomes(reported(story, Runtime(make_device()))) == ["ok", "ok", "ok"]


@pytest.mark.parametrize("turns", range(5))
@pytest.mark.parametrize("victim", range(3))
def test_a_cancelled_wait_ends_alone(victim: int, turns: int) -> None:
    """Whoever is cancelled, and at whatever turn of the loop, the others get their results."""

    async def story(waits: AsyncioAdapter, jobs: list[Job], tasks: list) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        tasks[victim].cancel()

    ends = outcomes(reported(story, Runtime(make_device())))
    assert ends.pop(victim) in ("ok", "CancelledError")
    assert ends == ["ok", "ok"]


def test_a_job_may_end_for_a_wait_that_was_just_cancelled() -> None:
    """A wait cancelled in the very turn in which its job ends takes nobody along."""

    async def story(waits: AsyncioAdapter, jobs: list[Job], tasks: list) -> None:
        await asyncio.sleep(0)
        tasks[0].cancel()
        waits.runtime.wait(jobs[0])

    assert outcomes(reported(story, Runtime(make_device()))) == ["CancelledError", "ok", "ok"]


def test_timeouts_of_waits_leave_the_others_alone() -> None:
    """Waits given up by `wait_for` at once, again and again, hold up nobody, and can be taken up again."""

    async def story(waits: AsyncioAdapter, jobs: list[Job], tasks: list) -> None:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(waits.over(jobs[-1]), 1e-9)
        assert (await waits.over(jobs[-1])).outcome == "ok"

    assert outcomes(reported(story, Runtime(make_device()), 20)) == ["ok"] * 20


def test_a_hang_reaches_all_who_still_wait() -> None:
    """The diagnosis goes to each wait; one cancelled in that turn is left out."""

    async def story(waits: AsyncioAdapter, jobs: list[Job], tasks: list) -> None:
        await asyncio.sleep(0)
        tasks[1].cancel()

    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: [Fault("stall")]}), env=Environment())
    assert outcomes(reported(story, Runtime(device))) == ["HangError", "CancelledError", "HangError"]


def test_room_waits_for_a_reset() -> None:
    """A full queue whose oldest job is in quarantine has room once the reset is confirmed."""
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: [Fault("lost")]}), env=Environment())
    runtime = Runtime(device)
    queue = runtime.queue("one", capacity=1, timeout_ticks=20_000)

    async def client() -> JobResult:
        waits = AsyncioAdapter(runtime)
        for seed in range(2):
            await waits.room(queue)
            source, target = filled(runtime, seed)
            job = runtime.submit(small_plan(), [source], [target], queue=queue)
        result = await waits.finished(job)
        assert target.host.tobytes() == linear_output(tiled_input(1)).tobytes()
        return result

    assert asyncio.run(client()).outcome == "ok"


def test_room_reports_a_job_that_nobody_resets() -> None:
    """Without automatic resets a quarantined job holds its place for ever: that is a hang, not a wait."""
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: [Fault("lost")]}), env=Environment())
    runtime = Runtime(device, auto_reset=False)
    queue = runtime.queue("one", capacity=1, timeout_ticks=20_000)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target], queue=queue)
    with pytest.raises(HangError, match="quarantined"):
        asyncio.run(AsyncioAdapter(runtime).room(queue))
    assert job.state is State.QUARANTINED


def test_there_is_no_room_in_a_queue_that_closed() -> None:
    """A wait for room of a client that is gone ends, and says so."""
    runtime = Runtime(make_device())
    client = Client(runtime, runtime.queue("doomed", capacity=1))
    source, target = client.allocate(80), client.allocate(68)
    client.submit(small_plan(), [source], [target])

    async def story() -> None:
        waiting = asyncio.create_task(AsyncioAdapter(runtime).room(client.queue))
        await asyncio.sleep(0)
        client.exit()
        await waiting

    with pytest.raises(SubmitError, match="queue doomed: this queue is closed"):
        asyncio.run(story())


def test_a_queue_without_a_place_is_refused() -> None:
    """A capacity of 0 would wait for ever."""
    with pytest.raises(SubmitError, match=r"queue none: got a capacity of 0, wanted at least 1 \[capacity\]"):
        Runtime(make_device()).queue("none", capacity=0)
