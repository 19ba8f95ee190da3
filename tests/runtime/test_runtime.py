"""The runtime: what is submitted comes back right, what does not fit is refused before anything happens."""

from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest
from simpy import Environment

from tessbed.firmware_models.image import Composition, FirmwareImage
from tessbed.kernels.errors import BindingError, ContractError
from tessbed.runtime import (
    CapabilityError,
    GranuleConflict,
    JobCancelled,
    JobFault,
    JobLost,
    LifetimeError,
    PreparedJob,
    QueueFull,
    Runtime,
    State,
    StateError,
    prepare,
)
from tessbed.runtime.jobs.outcome import status_name
from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.device.device import Device
from tests.runtime.bench import (
    LINEAR_BYTES,
    filled,
    linear_output,
    make_device,
    small_plan,
    small_spec,
    tiled_input,
)


@pytest.fixture
def runtime() -> Runtime:
    return Runtime(make_device())


def test_run_gives_the_bytes_and_the_ticks(runtime: Runtime) -> None:
    """One job end to end: the example's bytes, device ticks inside job ticks, and no leak."""
    source, target = filled(runtime)
    result = runtime.run(small_plan(), [source], [target], name="example")
    assert target.host.tobytes() == linear_output(tiled_input()).tobytes()
    assert 0 < result.device_ticks < result.job_ticks
    assert result.state is State.RETIRED
    assert result.stats is not None
    assert result.stats.cookie == result.cookie
    source.close()
    target.close()
    assert runtime.close() == ()


def test_waiting_waits_for_that_same_job(runtime: Runtime) -> None:
    """Jobs are awaited in any order; each result is its own."""
    ports = [filled(runtime, seed) for seed in range(3)]
    jobs = [runtime.submit(small_plan(), [a], [b], name=f"{i}") for i, (a, b) in enumerate(ports)]
    for index in (2, 0, 1):
        assert runtime.wait(jobs[index]).cookie == index + 1
        assert ports[index][1].host.tobytes() == linear_output(tiled_input(index)).tobytes()


def test_an_empty_plan_submits_nothing(runtime: Runtime) -> None:
    """An empty tensor admits None, takes no tick and reaches no device."""
    result = runtime.run(small_plan((0, 17)), [None], [None])
    assert (result.outcome, result.device_ticks, result.record, runtime.now) == ("ok", 0, None, 0)


Misuse = Callable[[Runtime, PreparedJob], tuple[list, list]]
READY = {"source": lambda r: r.allocate(80), "target": lambda r: r.allocate(68)}


def outside(runtime: Runtime) -> object:
    runtime.allocator.add_heap("cpu", 0x1000_0000, 1 << 20)
    return runtime.allocate(80, heap="cpu")


MISFITS: dict[str, tuple[str, Callable[[Runtime], tuple[list, list]]]] = {
    "no input": ("arity", lambda r: ([], [r.allocate(68)])),
    "two outputs": ("arity", lambda r: ([r.allocate(80)], [r.allocate(68), r.allocate(68)])),
    "None": ("missing", lambda r: ([None], [r.allocate(68)])),
    "an array": ("type", lambda r: ([tiled_input()], [r.allocate(68)])),
    "input one byte short": ("capacity", lambda r: ([r.allocate(79)], [r.allocate(68)])),
    "output one byte short": ("capacity", lambda r: ([r.allocate(80)], [r.allocate(67)])),
    "tiled side at 8": ("alignment", lambda r: ([r.allocate(96).view(8)], [r.allocate(68)])),
    "linear side at 1": ("alignment", lambda r: ([r.allocate(80)], [r.allocate(69).view(1)])),
    "read-only output": ("read_only", lambda r: ([r.allocate(80)], [r.allocate(68, writable=False)])),
    "outside the window": ("window", lambda r: ([outside(r)], [r.allocate(68)])),
}


def overlapping(runtime: Runtime) -> tuple[list, list]:
    buffer = runtime.allocate(160)
    return [buffer.view(0, 80)], [buffer.view(78)]


MISFITS["input and output overlap"] = ("overlap", overlapping)


@pytest.mark.parametrize("case", MISFITS.values(), ids=MISFITS.keys())
def test_storage_that_does_not_fit_is_refused(
    runtime: Runtime, case: tuple[str, Callable[[Runtime], tuple[list, list]]]
) -> None:
    """Each misfit has its code; no reference is held afterwards and nothing was submitted."""
    code, misuse = case
    inputs, outputs = misuse(runtime)
    before = runtime.allocator.leaks
    with pytest.raises(BindingError) as caught:
        runtime.submit(small_plan(), inputs, outputs)
    assert caught.value.code == code
    assert runtime.allocator.leaks == before
    assert runtime.scheduler.issued == 0


def test_spare_capacity_may_overlap(runtime: Runtime) -> None:
    """Only the accessed bytes count: two long views of one buffer are fine when those are disjoint."""
    buffer = runtime.allocate(4096)
    buffer.host[:80] = tiled_input()
    runtime.run(small_plan(), [buffer.view(0)], [buffer.view(128)])
    assert buffer.host[128 : 128 + LINEAR_BYTES].tobytes() == linear_output(tiled_input()).tobytes()


def test_a_closed_buffer_is_not_submitted(runtime: Runtime) -> None:
    """A view is as good as its buffer is open."""
    source, target = filled(runtime)
    view = source.view()
    source.close()
    with pytest.raises(LifetimeError, match="after close"):
        runtime.submit(small_plan(), [view], [target])


@pytest.mark.parametrize(
    ("composition", "words"),
    [
        (Composition(ops=("tess",)), "operation: the job needs detess, the image holds tess"),
        (Composition(dtypes=("int8",)), "dtype: the job needs bf16, the image holds int8"),
        (Composition(holds=[("detess", "bf16", "pad16")]), "tile format: the job needs compact, the image holds pad16"),
        (Composition(packet_versions=((0, 9),)), "of packet version 1.0, the image holds packet version 0.9"),
    ],
    ids=["op", "dtype", "format", "version"],
)
def test_a_lacking_image_is_an_error_that_names_both_sides(composition: Composition, words: str) -> None:
    """There is no fallback: nothing is submitted and the output stays as it was."""
    runtime = Runtime(make_device(composition=composition))
    source, target = filled(runtime)
    with pytest.raises(CapabilityError, match=words):
        runtime.run(small_plan(), [source], [target])
    assert (target.host == 0xA5).all()
    assert runtime.now == 0


def test_closing_early_only_defers_the_release(runtime: Runtime) -> None:
    """Buffers closed right after submission stay mapped until the job has retired; then nothing lives."""
    source, target = filled(runtime)
    kept = target.host
    job = runtime.submit(small_plan(), [source], [target], workspace=[work := runtime.allocate(32)])
    assert [role for role, _ in job.owners.held] == ["packet", "prepared", "inputs", "outputs", "workspace"]
    for buffer in (source, target, work):
        buffer.close()
    held = {leak.name: leak.holders for leak in runtime.allocator.leaks}
    assert held["source 0"] == ("job 1 (inputs)",)
    runtime.wait(job)
    assert kept.tobytes() == linear_output(tiled_input()).tobytes()
    assert runtime.close() == ()


def test_prepared_metadata_is_retained_and_reused() -> None:
    """One preparation serves many jobs, and knows which of them still need it."""
    runtime = Runtime(make_device())
    prepared = prepare(small_plan())
    ports = [filled(runtime, seed) for seed in range(2)]
    jobs = [runtime.submit(prepared, [a], [b]) for a, b in ports]
    assert sum(prepared.users.values()) == 2
    for job in jobs:
        runtime.wait(job)
    assert not prepared.users


def test_prepared_metadata_holds_the_packet_of_its_plan(runtime: Runtime) -> None:
    """Another plan's packet can not be put beside a plan that was checked: it would access other bytes."""
    prepared, other = prepare(small_plan()), prepare(small_plan((4, 17)))
    with pytest.raises(TypeError, match="packet"):
        attrs.evolve(prepared, packet=other.packet)  # pyright: ignore[reportCallIssue]
    with pytest.raises(attrs.exceptions.FrozenAttributeError):
        prepared.packet = other.packet  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(attrs.exceptions.FrozenAttributeError):
        prepared.plan = other.plan
    with pytest.raises(ContractError, match="plan_forged"):
        attrs.evolve(prepared, plan=attrs.evolve(small_plan(), output=other.plan.output))
    again = attrs.evolve(other, plan=prepared.plan)
    assert again.packet == prepared.packet != other.packet
    source, target = filled(runtime)
    assert runtime.run(again, [source], [target]).outcome == "ok"
    assert target.host.tobytes() == linear_output(tiled_input(0)).tobytes()


def test_a_refused_packet_is_a_fault_with_the_field(runtime: Runtime) -> None:
    """The device's refusal reaches the caller with the status and the packet field by name."""
    source, target = filled(runtime)
    prepared = prepare(small_plan())
    assert prepared.packet is not None
    job = runtime.submit_packet(prepared.packet.raw, [source], [target], name="unbound")
    with pytest.raises(JobFault, match="the device reports unbound in packet field input_address"):
        runtime.wait(job)
    assert job.state is State.RETIRED
    assert runtime.scheduler.live == {}


def test_an_address_outside_the_window_faults(runtime: Runtime) -> None:
    """A packet that is bound past the window reaches the device, and the device refuses the address."""
    runtime.allocator.add_heap("cpu", 0x1000_0000, 1 << 20)
    outside, (_, target) = runtime.allocate(80, heap="cpu"), filled(runtime)
    packet = prepare(small_plan()).packet
    assert packet is not None
    job = runtime.submit_packet(packet.bind(outside.address, target.address).raw, [outside], [target])
    with pytest.raises(JobFault, match="the device reports unmapped in packet field input_address"):
        runtime.wait(job)


ERRNOS = {QueueFull: "EAGAIN", JobLost: "EBADMSG", JobFault: "EBADRQC", CapabilityError: "ENOSYS"}


@pytest.mark.parametrize("error", ERRNOS, ids=lambda error: error.__name__)
def test_errors_carry_the_names_that_users_know(error: type[Exception]) -> None:
    """The errno of the software around the real chip is on the error, and on the page."""
    assert getattr(error, "errno_name") == ERRNOS[error]  # noqa: B009
    page = (Path(__file__).parents[2] / "docs" / "runtime.md").read_text(encoding="utf-8")
    assert f"| `{error.__name__}` | {ERRNOS[error]} |" in page


STATUSES = {
    0: "ok",
    1: "size",
    9: "overlap",
    13: "read_only",
    14: "status 0xe",
    0x103: "unmapped",
    0x200: "status 0x200",
}


@pytest.mark.parametrize("status", STATUSES, ids=hex)
def test_a_status_has_the_name_that_its_owner_gave_it(status: int) -> None:
    """Refusals, the device's own statuses and numbers of nobody are named each by its table."""
    assert status_name(status) == STATUSES[status]


def test_a_full_queue_pushes_back(runtime: Runtime) -> None:
    """The bounded queue refuses one job more than it holds, and takes it once a job has retired."""
    queue = runtime.queue("small", capacity=2)
    ports = [filled(runtime, seed) for seed in range(3)]
    jobs = [runtime.submit(small_plan(), [a], [b], queue=queue) for a, b in ports[:2]]
    a, b = ports[2]
    with pytest.raises(QueueFull, match="the capacity is 2"):
        runtime.submit(small_plan(), [a], [b], queue=queue)
    runtime.wait(jobs[0])
    assert runtime.wait(runtime.submit(small_plan(), [a], [b], queue=queue)).outcome == "ok"


def test_cancelling_is_for_jobs_that_have_not_started(runtime: Runtime) -> None:
    """A waiting job ends at once and lets its buffers go; a running one can not be cancelled."""
    (a, b), (c, d) = filled(runtime, 0), filled(runtime, 1)
    first, second = runtime.submit(small_plan(), [a], [b]), runtime.submit(small_plan(), [c], [d])
    runtime.cancel(second)
    assert second.state is State.CANCELLED
    with pytest.raises(StateError, match="only a reset ends a started job"):
        runtime.cancel(first)
    with pytest.raises(JobCancelled, match="cancelled by its client"):
        runtime.wait(second)
    assert runtime.wait(first).outcome == "ok"
    assert np.all(d.host == 0xA5)


CONFLICTS = {
    "same output": (0, 0, "both write into"),
    "one granule": (0, 68, "both write into"),
    "next granule": (0, 128, None),
    "far": (0, 512, None),
}


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("case", CONFLICTS.values(), ids=CONFLICTS.keys())
def test_jobs_that_share_a_granule_are_ordered_or_refused(case: tuple[int, int, str | None], devices: int) -> None:
    """Two jobs in flight never write one 64-byte granule, on one device or on two whose checker they share."""
    first_at, second_at, words = case
    env, checker = Environment(), Checker()
    image = FirmwareImage.full()
    runtime = Runtime([Device(small_spec(), image, env=env, checker=checker) for _ in range(devices)])
    source, _ = filled(runtime)
    target = runtime.allocate(1024)
    first = runtime.submit(small_plan(), [source], [target.view(first_at, 68)], name="one")
    if words is None:
        runtime.wait(runtime.submit(small_plan(), [source], [target.view(second_at)], name="two"))
        return
    with pytest.raises(GranuleConflict, match=rf"job 'two'.*this job and job 'one' \(cookie 1\) {words}"):
        runtime.submit(small_plan(), [source], [target.view(second_at)], name="two")
    second = runtime.submit(small_plan(), [source], [target.view(second_at)], name="two", after=[first])
    runtime.wait(second)
    assert first.final_tick <= second.history[2][0]


def test_reading_what_another_job_writes_needs_an_order(runtime: Runtime) -> None:
    """A reader submitted beside its writer is refused; behind it, it reads the finished bytes."""
    source, middle = filled(runtime)
    padded = runtime.allocate(128)
    first = runtime.submit(small_plan(), [source], [padded.view(0, 68)], name="writer")
    with pytest.raises(GranuleConflict, match="the first reads what the second writes"):
        runtime.submit(small_plan(), [padded.view(0, 80)], [middle], name="reader")
    second = runtime.submit(small_plan(), [padded.view(0, 80)], [middle], name="reader", after=[first])
    runtime.wait(second)
    joined = np.concatenate([linear_output(tiled_input()), np.full(12, 0xA5, np.uint8)])
    assert middle.host.tobytes() == linear_output(joined).tobytes()
