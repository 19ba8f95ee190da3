"""Queues: several clients and devices, order kept, nobody starved, waits by callback and by coroutine."""

import asyncio

import pytest
from simpy import Environment

from tessbed.firmware_models.image import FirmwareImage
from tessbed.runtime import Job, JobCancelled, JobFault, LifetimeError, Runtime, State, prepare
from tessbed.runtime.asyncio_adapter import AsyncioAdapter
from tessbed.runtime.clients import Client
from tessbed.runtime.scheduling.queues import PATIENCE
from tessbed.sim.device.device import Device
from tessbed.sim.errors import HangError
from tessbed.sim.fault_injection import Fault, by_number
from tests.runtime.bench import filled, linear_output, make_device, small_plan, small_spec, tiled_input


@pytest.fixture
def runtime() -> Runtime:
    return Runtime(make_device())


def started(jobs: list[Job]) -> list[int]:
    """The order in which jobs started, as indices."""
    ticks = [next(tick for tick, _, state in job.history if state is State.RUNNING) for job in jobs]
    return sorted(range(len(jobs)), key=lambda index: ticks[index])


def test_jobs_of_a_queue_start_and_retire_in_order(runtime: Runtime) -> None:
    """Starts and retirements of one queue keep the order of submission."""
    order: list[int] = []
    jobs = [runtime.submit(small_plan(), [a], [b]) for a, b in (filled(runtime, seed) for seed in range(4))]
    for job in jobs:
        job.on_final(lambda ended: order.append(ended.cookie))
    runtime.wait(jobs[-1])
    assert started(jobs) == [0, 1, 2, 3]
    assert order == [1, 2, 3, 4]


def test_a_higher_priority_goes_first(runtime: Runtime) -> None:
    """Of two waiting queues the one with the higher priority is served, whatever came first."""
    low, high = runtime.queue("low"), runtime.queue("high", priority=1)
    ports = [filled(runtime, seed) for seed in range(3)]
    jobs = [runtime.submit(small_plan(), [a], [b], queue=q) for (a, b), q in zip(ports, (low, low, high), strict=True)]
    for job in jobs:
        runtime.wait(job)
    assert started(jobs) == [0, 2, 1]


def test_no_priority_starves_a_queue(runtime: Runtime) -> None:
    """A low job behind an endless stream of high ones starts after exactly priority * PATIENCE of them."""
    low, high = runtime.queue("low"), runtime.queue("high", priority=3, capacity=4)
    prepared = prepare(small_plan())
    source, _ = filled(runtime)
    targets = [runtime.allocate(128) for _ in range(5)]
    stream = [runtime.submit(prepared, [source], [target], queue=high) for target in targets[:4]]
    victim = runtime.submit(prepared, [source], [targets[4]], queue=low)
    overtaken = 0
    while victim.state is State.SUBMITTED:
        overtaken += 1
        assert overtaken < 100
        runtime.wait(stream.pop(0))
        target = targets[(overtaken - 1) % 4]
        stream.append(runtime.submit(prepared, [source], [target], queue=high))
    assert 3 * PATIENCE <= overtaken <= 3 * PATIENCE + 4


def test_two_devices_overlap_and_retirement_stays_in_order() -> None:
    """A slow first job holds the retirement of a fast second one on another device, and nothing else."""
    env = Environment()
    late = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: [Fault("late", 50_000)]}), env=env)
    runtime = Runtime([late, Device(small_spec(), FirmwareImage.full(), env=env)])
    ports = [filled(runtime, seed) for seed in range(2)]
    first, second = (runtime.submit(small_plan(), [a], [b]) for a, b in ports)
    while second.state is not State.COMPLETED:
        runtime.step()
    assert first.state is State.RUNNING
    assert [role for role, _ in second.owners.held].count("outputs") == 1
    runtime.wait(first)
    assert (second.state, second.final_tick) == (State.RETIRED, first.final_tick)
    for seed, (_, target) in enumerate(ports):
        assert target.host.tobytes() == linear_output(tiled_input(seed)).tobytes()


def test_a_deeper_device_queue_hides_the_dispatch() -> None:
    """With two jobs on the device at a time the bytes are the same and the last job ends no later."""
    ends = []
    for depth in (1, 2):
        runtime = Runtime(make_device(), depth=depth)
        ports = [filled(runtime, seed) for seed in range(4)]
        jobs = [runtime.submit(small_plan(), [a], [b]) for a, b in ports]
        ends.append(max(runtime.wait(job).job_ticks for job in jobs))
        assert all(b.host.tobytes() == linear_output(tiled_input(i)).tobytes() for i, (_, b) in enumerate(ports))
    assert ends[1] < ends[0]


def test_what_comes_after_a_failed_job_is_cancelled() -> None:
    """A dependency that ended badly cancels its dependants, with the reason, down the chain."""
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: [Fault("dma_error")]}))
    runtime = Runtime(device)
    source, target = filled(runtime)
    first = runtime.submit(small_plan(), [source], [target], name="one")
    second = runtime.submit(small_plan(), [source], [target], name="two", after=[first])
    third = runtime.submit(small_plan(), [source], [target], name="three", after=[second])
    with pytest.raises(JobFault):
        runtime.wait(first)
    with pytest.raises(JobCancelled, match=r"it depends on job 'one' \(cookie 1\), which ended dma_error"):
        runtime.wait(second)
    with pytest.raises(JobCancelled, match="depends on job 'two'"):
        runtime.wait(third)


async def _client(waits: AsyncioAdapter, runtime: Runtime, name: str, seeds: range, log: list[tuple[str, int]]) -> None:
    queue = runtime.queue(name, capacity=2)
    jobs = []
    for seed in seeds:
        await waits.room(queue)
        source, target = filled(runtime, seed)
        jobs.append((seed, target, runtime.submit(small_plan(), [source], [target], queue=queue, name=name)))
        source.close()
    for seed, target, job in jobs:
        await waits.finished(job)
        assert target.host.tobytes() == linear_output(tiled_input(seed)).tobytes()
        log.append((name, runtime.now))
        target.close()


def test_coroutines_share_a_runtime_and_repeat_exactly() -> None:
    """Three clients with full queues finish all jobs, at the same ticks in each of three runs."""
    logs = []
    for _ in range(3):
        runtime, log = Runtime(make_device()), []

        async def everybody(runtime: Runtime = runtime, log: list = log) -> None:
            waits = AsyncioAdapter(runtime)
            names = ("a", "b", "c")
            clients = (_client(waits, runtime, name, range(i, i + 5), log) for i, name in enumerate(names))
            await asyncio.gather(*clients)

        asyncio.run(everybody())
        assert runtime.close() == ()
        logs.append(log)
    assert len(logs[0]) == 15
    assert logs[0] == logs[1] == logs[2]


def test_a_hang_reaches_the_coroutine_that_waits() -> None:
    """An await on a hung job raises the diagnosis."""
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: [Fault("stall")]}))
    runtime = Runtime(device)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target])

    async def wait() -> None:
        await AsyncioAdapter(runtime).finished(job)

    with pytest.raises(HangError, match="which stalled"):
        asyncio.run(wait())


def test_a_killed_client_leaves_its_running_job_its_buffers(runtime: Runtime) -> None:
    """Its waiting jobs are cancelled at once; what the device works on stays mapped until retirement."""
    client, other = Client(runtime, runtime.queue("doomed")), Client(runtime, runtime.queue("other"))
    ports = []
    for owner in (client, client, other):
        source = owner.allocate(80, name=f"{owner.queue.name} in")
        ports.append((source, owner.allocate(68, name=f"{owner.queue.name} out")))
    jobs = [client.submit(small_plan(), [ports[i][0]], [ports[i][1]], name=f"{i}") for i in range(2)]
    survivor = other.submit(small_plan(), [ports[2][0]], [ports[2][1]])
    assert client.exit() == (jobs[0],)
    assert jobs[1].state is State.CANCELLED
    held = {leak.name: leak.holders for leak in runtime.allocator.leaks}
    assert held["doomed in"] == ("job '0' (cookie 1) (inputs)",)
    with pytest.raises(LifetimeError, match="client doomed is gone"):
        client.allocate(16)
    assert runtime.wait(survivor).outcome == "ok"
    assert "doomed in" not in {leak.name for leak in runtime.allocator.leaks}
    other.exit()
    assert runtime.close() == ()
