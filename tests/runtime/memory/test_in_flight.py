"""In flight: one rule for whoever touches what a job uses, cached or not, on the CPU or on a device, at every step.

The table says for each pair of uses whether they may happen together. Each row is tried as an access of the CPU, as a
job of the device, and as a node of a graph on both backends, after every event of the launch.
"""

from collections.abc import Callable, Iterator

import attrs
import numpy as np
import pytest
from simpy import Environment

from tessbed.firmware_models.image import FirmwareImage
from tessbed.runtime import Buffer, GranuleConflict, Job, Runtime, View
from tessbed.runtime.graph.graph import Graph, Node
from tessbed.runtime.graph.registration import register
from tessbed.runtime.invariants import check_runtime
from tessbed.runtime.jobs.states import State
from tessbed.runtime.memory.coherency import CoherencyError, Policy
from tessbed.sim.device.device import Device
from tessbed.sim.fault_injection import Fault, by_number
from tests.runtime.bench import (
    LINEAR_BYTES,
    TILED_BYTES,
    filled,
    linear_output,
    make_device,
    small_plan,
    small_spec,
    tiled_input,
)

# A job reads 80 bytes from 1024 of `storage` and writes 68 to 2048 of it: granules 1024 to 1152, 2048 to 2176.
INPUT, OUTPUT = 1024, 2048
GRANULE = 64
PLACES = {
    "input": (INPUT, TILED_BYTES),
    "output": (OUTPUT, LINEAR_BYTES),
    "behind the input": (INPUT + TILED_BYTES, 16),
    "behind the output": (OUTPUT + LINEAR_BYTES, 16),
    "before the output's granule": (OUTPUT - 16, 16),
    "granule behind the output": (OUTPUT + 2 * GRANULE, 16),
    "far": (3072, 16),
}
# Who may touch a place beside the job: (read uncached, write uncached, read cached, write cached).
RULE: dict[str, tuple[bool, bool, bool, bool]] = {
    "input": (True, False, True, False),
    "output": (False, False, False, False),
    "behind the input": (True, True, True, False),
    "behind the output": (True, False, False, False),
    "before the output's granule": (True, True, True, True),
    "granule behind the output": (True, True, True, True),
    "far": (True, True, True, True),
}
POLICIES = (Policy.UNCACHED, Policy.CACHED_MANUAL)


@attrs.define
class Launch:
    """A runtime with a job in flight on one storage."""

    runtime: Runtime
    storage: Buffer
    job: Job

    def steps(self) -> Iterator[int]:
        """Every step from the submission until the job is final."""
        count = 0
        while not self.job.final:
            yield count
            self.runtime.step()
            count += 1


def launch(policy: Policy, checker: str = "raise", **changes: object) -> Launch:
    runtime = Runtime(make_device(**changes), checker=checker)
    storage = runtime.allocate(4096, name="storage", prefill=0, policy=policy)
    storage.allocation.storage[INPUT : INPUT + TILED_BYTES] = tiled_input()
    source, target = storage.view(INPUT, TILED_BYTES), storage.view(OUTPUT, LINEAR_BYTES)
    return Launch(runtime, storage, runtime.submit(small_plan(), [source], [target], name="busy"))


CPU: dict[str, tuple[int, Callable[[View], object]]] = {
    "read": (0, lambda view: view.cpu.read()),
    "modify": (1, lambda view: view.cpu.modify()),
    "write": (1, lambda view: view.cpu.write(bytes(view.length))),
}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.value)
@pytest.mark.parametrize("call", CPU)
@pytest.mark.parametrize("place", PLACES)
def test_the_cpu_keeps_the_rule_at_every_step(place: str, call: str, policy: Policy) -> None:
    """From submission to the final state the answer is the table's; then everything is free again."""
    offset, length = PLACES[place]
    column, access = CPU[call]
    free = RULE[place][2 * (policy is not Policy.UNCACHED) + column]
    busy = launch(policy)
    view, steps = busy.storage.view(offset, length), 0
    for steps in busy.steps():  # noqa: B007
        before = busy.storage.allocation.storage.tobytes()
        if free:
            access(view)
        else:
            with pytest.raises(CoherencyError, match=r"access_in_flight.*job 'busy'") as caught:
                access(view)
            found = caught.value.finding
            assert offset <= found.start < found.end <= offset + length
            assert busy.storage.allocation.storage.tobytes() == before
            assert check_runtime(busy.runtime) == []
    assert steps > 8
    if policy is not Policy.UNCACHED:
        view.cpu.invalidate()
    access(view)


@pytest.mark.parametrize("place", PLACES)
def test_the_storage_itself_counts_as_written(place: str) -> None:
    """`.host` of an uncached buffer may be written, so it is refused wherever a write is; the whole buffer always."""
    offset, length = PLACES[place]
    busy = launch(Policy.UNCACHED)
    for _ in busy.steps():
        with pytest.raises(CoherencyError, match="access_in_flight"):
            _ = busy.storage.host
        if RULE[place][1]:
            assert busy.storage.view(offset, length).host.size == length
        else:
            with pytest.raises(CoherencyError, match="access_in_flight"):
                _ = busy.storage.view(offset, length).host
    assert busy.storage.host[OUTPUT : OUTPUT + LINEAR_BYTES].tobytes() == linear_output(tiled_input()).tobytes()


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.value)
@pytest.mark.parametrize("checker", ["report", "off"])
def test_a_report_goes_on_and_off_is_off(checker: str, policy: Policy) -> None:
    """A collecting checker has one finding for each access in flight, with the bytes; without it there is none."""
    busy = launch(policy, checker)
    busy.storage.view(OUTPUT, LINEAR_BYTES).cpu.read()
    busy.storage.view(OUTPUT + 60, 80).cpu.modify()
    busy.storage.view(INPUT - 20, 40).cpu.modify()
    found = [(finding.kind, finding.start, finding.end) for finding in busy.runtime.findings]
    cached = policy is not Policy.UNCACHED
    wanted = [(OUTPUT, OUTPUT + LINEAR_BYTES), (OUTPUT + 60, OUTPUT + 128), (INPUT, INPUT + 20)]
    assert found == [("access_in_flight", *span) for span in wanted] * (checker == "report"), cached
    assert busy.runtime.wait(busy.job).outcome == "ok"


ROLES = ("reads", "writes")


@attrs.define
class Second:
    """A second operation that reads or writes the busy storage from `offset`, in other storage for its other port."""

    busy: Launch
    offset: int
    role: str
    source: View
    target: View


def second(place: str, role: str, policy: Policy) -> Second:
    busy = launch(policy)
    source, target = filled(busy.runtime, 3)
    offset = PLACES[place][0]
    there = busy.storage.view(offset, TILED_BYTES if role == "reads" else LINEAR_BYTES)
    ports = (there, target.view()) if role == "reads" else (source.view(), there)
    return Second(busy, offset, role, *ports)


def on_the_device(case: Second) -> None:
    """The EV74 job."""
    case.busy.runtime.submit(small_plan(), [case.source], [case.target], name="second")


def in_a_graph(backend: str) -> Callable[[Second], None]:
    def run(case: Second) -> None:
        graph = Graph("g", [Node("second", small_plan(), backend, "x", "y")])
        register(graph, case.busy.runtime).execute({"x": case.source}, {"y": case.target})

    return run


WAYS = {"EV74 job": on_the_device, "EV74 node": in_a_graph("ev74"), "A65 node": in_a_graph("a65")}
# Where a second operation that starts at a place meets the job: what it reads, what it writes, uncached and cached
# alike, since its 80 or 68 bytes reach further than the table's single accesses.
MEETS = {
    "input": (False, True),
    "output": (True, True),
    "granule behind the output": (False, False),
    "far": (False, False),
}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.value)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("place", MEETS)
def test_a_second_operation_keeps_the_rule_on_every_backend(place: str, role: str, way: str, policy: Policy) -> None:
    """The A65's node is refused exactly where its EV74 counterpart is, by the same error that names the job in
    flight."""
    refused = MEETS[place][ROLES.index(role)]
    steps = len(list(launch(policy).steps()))
    for number in range(0, steps, 1 if refused else 16):
        case = second(place, role, policy)
        for _ in range(number):
            case.busy.runtime.step()
        if not refused:
            WAYS[way](case)
            continue
        before = case.busy.storage.allocation.storage.tobytes(), case.target.buffer.allocation.storage.tobytes()
        with pytest.raises(GranuleConflict, match="job 'busy'") as caught:
            WAYS[way](case)
        assert caught.value.blocker is case.busy.job
        after = case.busy.storage.allocation.storage.tobytes(), case.target.buffer.allocation.storage.tobytes()
        assert after == before
        assert check_runtime(case.busy.runtime) == []


NEIGHBOURS = {"one granule": (68, True), "another granule": (128, False)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
def test_an_output_in_the_last_granule_of_another_is_refused_on_every_backend(case: tuple[int, bool], way: str) -> None:
    """Their bytes are disjoint, yet the device rewrites the granule whole."""
    offset, refused = case
    there = second("output", "writes", Policy.UNCACHED)
    there.target = there.busy.storage.view(OUTPUT + offset, LINEAR_BYTES)
    if refused:
        with pytest.raises(GranuleConflict, match="both write into"):
            WAYS[way](there)
    else:
        WAYS[way](there)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.value)
@pytest.mark.parametrize("way", WAYS)
def test_a_node_on_the_cpu_reads_whole_lines_of_a_cached_buffer(way: str, policy: Policy) -> None:
    """Bytes behind an output in its last line are the device's to read, but the CPU would fetch old ones with them."""
    there = second("output", "reads", policy)
    there.source = there.busy.storage.view(OUTPUT + 80, TILED_BYTES)
    if way == "A65 node" and policy is not Policy.UNCACHED:
        with pytest.raises(GranuleConflict, match="reads what the second writes"):
            WAYS[way](there)
    else:
        WAYS[way](there)


def test_the_first_granule_is_rewritten_as_the_last_one() -> None:
    """An output that starts inside a granule keeps the CPU from the bytes before it, in that granule alone."""
    runtime = Runtime(make_device())
    source, _ = filled(runtime)
    storage = runtime.allocate(4096)
    job = runtime.submit(small_plan(), [source], [storage.view(1024 + 32, LINEAR_BYTES)])
    with pytest.raises(CoherencyError, match="access_in_flight"):
        storage.view(1024 + 28, 4).cpu.modify()
    for offset in (1024 - 4, 1024 + 128):
        storage.view(offset, 4).cpu.write(b"here")
    runtime.wait(job)
    assert storage.host[1020:1024].tobytes() == storage.host[1152:1156].tobytes() == b"here"


def test_what_the_rule_forbids_loses_bytes() -> None:
    """Without the checker a CPU write behind an output is lost at some step of the launch; so the rule is needed."""
    steps = len(list(launch(Policy.UNCACHED).steps()))
    lost = 0
    for number in range(steps):
        busy = launch(Policy.UNCACHED, "off")
        for _ in range(number):
            busy.runtime.step()
        behind = busy.storage.view(OUTPUT + LINEAR_BYTES, 4)
        behind.cpu.write(b"\x77" * 4)
        busy.runtime.wait(busy.job)
        lost += behind.cpu.read().tobytes() != b"\x77" * 4
    assert lost > 0


def test_a_dirty_line_in_the_last_granule_is_named() -> None:
    """With 128-byte granules a line of its own behind the output is rewritten: dirty before, or cleaned meanwhile."""
    runtime = Runtime(make_device(write_granule_bytes=128), checker="report")
    source, _ = filled(runtime)
    storage = runtime.allocate(4096, policy=Policy.CACHED_MANUAL)
    neighbour = storage.view(64 * 3, 64)
    neighbour.cpu.write(bytes(64))
    job = runtime.submit(small_plan(), [source], [storage.view(0, LINEAR_BYTES)])
    runtime.wait(job)
    assert [finding.kind for finding in runtime.findings] == []
    storage.view(0, 256).cpu.invalidate()
    last = runtime.allocate(4096, policy=Policy.CACHED_MANUAL)
    behind = last.view(128 + 64, 64)
    behind.cpu.write(bytes(64))
    job = runtime.submit(small_plan((2, 32)), [runtime.allocate(128)], [last.view(64, 128)])
    behind.cpu.flush()
    runtime.wait(job)
    assert [(finding.kind, finding.start, finding.end) for finding in runtime.findings] == [
        ("missing_output_flush", 192, 256),
        ("wrong_flush", 192, 256),
    ]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.value)
def test_storage_that_two_runtimes_map_has_one_register(policy: Policy) -> None:
    """A job of one runtime is in flight for the other's CPU, jobs and graphs, which can not come after it."""
    busy = launch(policy)
    other = Runtime(make_device(), name="other")
    view = other.adopt(busy.runtime.export(busy.storage))
    output, spare = view.view(OUTPUT, TILED_BYTES), other.allocate(LINEAR_BYTES)
    with pytest.raises(CoherencyError, match="access_in_flight"):
        output.view(0, LINEAR_BYTES).cpu.read()
    with pytest.raises(GranuleConflict, match=r"job 'busy' .*; wait for that job of runtime \d+"):
        other.submit(small_plan(), [output], [spare])
    for backend in ("a65", "ev74"):
        graph = Graph("g", [Node("n", small_plan(), backend, "x", "y")])
        with pytest.raises(GranuleConflict, match=r"job 'busy' .*; wait for that job first"):
            register(graph, other).execute({"x": output}, {"y": spare})
    busy.runtime.wait(busy.job)
    assert other.run(small_plan(), [output], [spare]).outcome == "ok"


ENDS = {
    "cancelled": State.CANCELLED,
    "faulted": State.RETIRED,
    "lost and reset": State.RECOVERED,
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_lets_the_bytes_go(end: str) -> None:
    """However a job ends, its bytes are free from its final state on and not a tick before."""
    faults = {"faulted": [Fault("dma_error")], "lost and reset": [Fault("lost")]}.get(end, ())
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: faults}), env=Environment())
    runtime = Runtime(device, auto_reset=False)
    source, target = filled(runtime)
    blocker = runtime.submit(small_plan(), [source], [runtime.allocate(LINEAR_BYTES)]) if end == "cancelled" else None
    queue = runtime.queue("q", timeout_ticks=20_000)
    job = runtime.submit(small_plan(), [source], [target], queue=queue)
    with pytest.raises(CoherencyError, match="access_in_flight"):
        target.cpu.read()
    if blocker is not None:
        runtime.cancel(job)
    runtime.settle(job)
    if end == "lost and reset":
        assert job.state is State.QUARANTINED
        with pytest.raises(CoherencyError, match="access_in_flight"):
            _ = target.host
        runtime.reset()
        while not job.final:
            with pytest.raises(CoherencyError, match="access_in_flight"):
                target.cpu.read()
            runtime.step()
    assert job.state is ENDS[end]
    assert target.cpu.read().size == LINEAR_BYTES
    target.host[:] = np.arange(LINEAR_BYTES)


def test_a_job_is_not_in_its_own_way() -> None:
    """Input and output of one job may lie in one granule, as their bytes are its own."""
    runtime = Runtime(make_device())
    storage = runtime.allocate(4096)
    storage.host[:TILED_BYTES] = tiled_input()
    runtime.run(small_plan(), [storage.view(0, TILED_BYTES)], [storage.view(96, LINEAR_BYTES)])
    assert storage.host[96 : 96 + LINEAR_BYTES].tobytes() == linear_output(tiled_input()).tobytes()
