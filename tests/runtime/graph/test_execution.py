"""Execution of graphs: any number of nodes, and no job left in flight however a run ends."""

from collections.abc import Sequence

import attrs
import numpy as np
import pytest
from simpy import Environment

from tessbed.firmware_models.image import FirmwareImage
from tessbed.runtime import Buffer, GranuleConflict, JobFault, JobLost, JobResult, QueueFull, Runtime, State
from tessbed.runtime.graph.graph import Graph, Node
from tessbed.runtime.graph.registration import RegisteredGraph, register
from tessbed.runtime.invariants import check_runtime
from tessbed.runtime.jobs.prepared import PreparedJob
from tessbed.runtime.memory.coherency import CoherencyError, Policy
from tessbed.sim.device.device import Device
from tessbed.sim.errors import HangError
from tessbed.sim.fault_injection import Fault, by_number
from tests.runtime.bench import (
    LINEAR_BYTES,
    filled,
    linear_output,
    make_device,
    small_plan,
    small_spec,
    tiled_input,
)
from tests.runtime.graph.test_graph import packs, unpacks, words

# Not what a fresh arena is full of: a node that runs on bytes that nobody wrote would hand those on.
UNTOUCHED = 0x3C


@attrs.define
class Case:
    """A registered graph with its tensors."""

    runtime: Runtime
    registered: RegisteredGraph
    source: Buffer
    targets: dict[str, Buffer]

    def execute(self) -> dict[str, JobResult | None]:
        return self.registered.execute({"x": self.source}, self.targets)

    def right(self) -> bool:
        """Every output has its bytes, and no job is left."""
        wanted = linear_output(tiled_input()).tobytes()
        return not self.runtime.scheduler.live and all(b.host.tobytes() == wanted for b in self.targets.values())


def fan(runtime: Runtime, backends: Sequence[str]) -> Case:
    """Independent nodes that read one tensor."""
    nodes = [Node(f"n{i}", small_plan(), backend, "x", f"y{i}") for i, backend in enumerate(backends)]
    source, first = filled(runtime)
    first.close()
    targets = {node.target: runtime.allocate(LINEAR_BYTES, name=node.target) for node in nodes}
    return Case(runtime, register(Graph("fan", nodes), runtime), source, targets)


def faulty(*faults: Fault, number: int = 0, auto_reset: bool = True) -> Runtime:
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({number: faults}), env=Environment())
    return Runtime(device, auto_reset=auto_reset)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("mix", [("ev74",), ("ev74", "ev74", "a65")], ids=["device", "mixed"])
def test_a_graph_of_any_size_executes(count: int, mix: tuple[str, ...]) -> None:
    """More nodes than the queue has room for wait their turn; a second run works as the first."""
    case = fan(Runtime(make_device()), [mix[i % len(mix)] for i in range(count)])
    for _ in range(2):
        results = case.execute()
        assert list(results) == [f"n{i}" for i in range(count)]
        assert {result.outcome for result in results.values() if result} == {"ok"}
        assert case.right()
    assert check_runtime(case.runtime) == []


def test_a_graph_waits_for_room_beside_other_jobs() -> None:
    """Jobs of others that fill the queue are waited for, not overrun, and end as they would have."""
    case = fan(Runtime(make_device()), ["ev74"] * 3)
    ports = [filled(case.runtime, seed) for seed in range(64)]
    others = [case.runtime.submit(small_plan(), [source], [target]) for source, target in ports]
    with pytest.raises(QueueFull):
        case.runtime.submit(small_plan(), [case.source], [ports[0][1].share()], after=[others[0]])
    case.execute()
    assert all(job.outcome == "ok" for job in others)
    assert case.right()


FAULTS = {
    "fails": (Fault("dma_error"), JobFault),
    "dies": (Fault("worker_died"), JobFault),
    "hangs": (Fault("stall"), HangError),
    "is lost": (Fault("lost"), HangError),
}


@pytest.mark.parametrize("number", [0, 1, 2, 70])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_node_that_fails_leaves_nothing_in_flight(fault: str, number: int) -> None:
    """Its error is raised when all other jobs are over; the next run works, and so does the runtime."""
    kind, error = FAULTS[fault]
    case = fan(faulty(kind, number=number), ["ev74"] * max(3, number + 2))
    with pytest.raises(error):
        case.execute()
    assert case.runtime.scheduler.live == {}
    assert check_runtime(case.runtime) == []
    assert case.runtime.run(small_plan(), [case.source], [case.targets["y0"]]).outcome == "ok"
    case.execute()
    assert case.right()
    case.registered.close()
    for buffer in (case.source, *case.targets.values()):
        buffer.close()
    assert case.runtime.close() == ()


def test_the_other_nodes_of_a_failed_run_are_settled() -> None:
    """Independent nodes that were submitted end well, and their outputs are right."""
    case = fan(faulty(Fault("dma_error")), ["ev74"] * 3)
    with pytest.raises(JobFault, match="'n0'"):
        case.execute()
    for name in ("y1", "y2"):
        assert case.targets[name].host.tobytes() == linear_output(tiled_input()).tobytes()


def line(runtime: Runtime, backends: Sequence[str]) -> Case:
    """Unpack, pack, unpack, and so on, each from the last one's output."""
    plans = [packs(), unpacks()]
    names = ["x", *(f"t{i}" for i in range(1, len(backends))), "y"]
    nodes = [Node(f"n{i}", plans[i % 2], kind, names[i], names[i + 1]) for i, kind in enumerate(backends)]
    source = runtime.allocate(words().nbytes)
    source.host[:] = words().view(np.uint8)
    target = runtime.allocate(words().nbytes, name="y", prefill=UNTOUCHED)
    return Case(runtime, register(Graph("line", nodes), runtime), source, {"y": target})


LINES = {
    "all on the device": ("ev74",) * 4,
    "the CPU behind": ("ev74", "a65", "ev74", "a65"),
    "the CPU in the middle": ("ev74", "ev74", "a65", "ev74"),
}


@pytest.mark.parametrize("backends", LINES.values(), ids=LINES.keys())
@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("fault", FAULTS)
def test_what_comes_after_a_failed_node_does_not_run(fault: str, number: int, backends: tuple[str, ...]) -> None:
    """Neither on the device nor on the CPU: the graph's output stays as it was, and the next run gives the words."""
    kind, error = FAULTS[fault]
    case = line(faulty(kind, number=number), backends)
    with pytest.raises(error):
        case.execute()
    assert (case.targets["y"].host == UNTOUCHED).all()
    assert case.runtime.scheduler.live == {}
    assert check_runtime(case.runtime) == []
    case.execute()
    assert case.targets["y"].host.tobytes() == words().tobytes()


@pytest.mark.parametrize("backend", ["ev74", "a65"])
def test_a_failure_seen_while_a_run_waits_stops_it(backend: str) -> None:
    """A job that failed and is final is no predecessor any more; still no node runs on what it should have written."""
    runtime = faulty(Fault("dma_error"))
    nodes = [
        Node("packs", packs(), "ev74", "x", "t"),
        Node("aside", packs(), "ev74", "x", "u"),
        Node("here", unpacks(), "a65", "u", "v"),
        Node("unpacks", unpacks(), backend, "t", "y"),
    ]
    source = runtime.allocate(words().nbytes)
    source.host[:] = words().view(np.uint8)
    y, v = (runtime.allocate(words().nbytes, prefill=UNTOUCHED) for _ in range(2))
    registered = register(Graph("g", nodes), runtime)
    with pytest.raises(JobFault, match="'packs'"):
        registered.execute({"x": source}, {"y": y, "v": v})
    assert (y.host == UNTOUCHED).all()
    assert runtime.scheduler.issued == 2
    registered.execute({"x": source}, {"y": y, "v": v})
    assert y.host.tobytes() == v.host.tobytes() == words().tobytes()


def test_a_failure_seen_while_the_queue_is_full_stops_the_run() -> None:
    """The node that waited for room is not submitted: what it would read was never written."""
    runtime = faulty(Fault("dma_error"))
    aside = [Node(f"aside {i}", packs(), "ev74", "x", f"u{i}") for i in range(63)]
    nodes = [Node("packs", packs(), "ev74", "x", "t"), *aside, Node("unpacks", unpacks(), "ev74", "t", "y")]
    source = runtime.allocate(words().nbytes)
    source.host[:] = words().view(np.uint8)
    sizes = {f"u{i}": packs().output.required_bytes for i in range(63)} | {"y": words().nbytes}
    targets = {name: runtime.allocate(size, prefill=UNTOUCHED) for name, size in sizes.items()}
    with pytest.raises(JobFault, match="'packs'"):
        register(Graph("g", nodes), runtime).execute({"x": source}, targets)
    assert (targets["y"].host == UNTOUCHED).all()
    assert runtime.scheduler.issued == 64
    assert runtime.scheduler.live == {}


@pytest.mark.parametrize("backend", ["ev74", "a65"])
def test_the_error_is_that_of_the_node_that_failed(backend: str) -> None:
    """Not that of a node behind it, which is cancelled, whether the host waits for that one or not."""
    runtime = faulty(Fault("dma_error"))
    names, kinds = ["x", "t", "u", "y"], ["ev74", "ev74", backend]
    plans = [packs(), unpacks(), packs()]
    nodes = [Node(f"n{i}", plans[i], kinds[i], names[i], names[i + 1]) for i in range(3)]
    source = runtime.allocate(words().nbytes)
    source.host[:] = words().view(np.uint8)
    target = runtime.allocate(packs().output.required_bytes, prefill=UNTOUCHED)
    with pytest.raises(JobFault, match="'n0'"):
        register(Graph("g", nodes), runtime).execute({"x": source}, {"y": target})
    assert (target.host == UNTOUCHED).all()
    assert runtime.scheduler.live == {}


def test_a_runtime_that_does_not_reset_keeps_a_job_that_hangs() -> None:
    """Without a timeout too: what waits is cancelled, the device keeps its job until the caller resets it."""
    case = fan(faulty(Fault("stall"), auto_reset=False), ["ev74"] * 3)
    with pytest.raises(HangError):
        case.execute()
    (stuck,) = case.runtime.scheduler.live.values()
    assert stuck.state is State.RUNNING
    assert check_runtime(case.runtime) == []
    case.runtime.reset()
    case.runtime.settle(stuck)
    case.execute()
    assert case.right()


def test_a_runtime_that_does_not_reset_keeps_a_lost_a_lost_job_and_says_so() -> None:
    """What waits behind it is cancelled; the next run is refused by the lost job's name until the reset."""
    case = fan(faulty(Fault("lost"), auto_reset=False), ["ev74"] * 3)
    case.runtime.default_queue.timeout_ticks = 20_000
    with pytest.raises(JobLost, match="'n0'"):
        case.execute()
    (lost,) = case.runtime.scheduler.live.values()
    assert lost.state is State.QUARANTINED
    with pytest.raises(GranuleConflict, match=r"node 'n0': this node and job 'n0' .*; wait for that job first"):
        case.execute()
    case.runtime.reset()
    while not lost.final:
        case.runtime.step()
    case.execute()
    assert case.right()


def test_a_lost_job_of_a_graph_is_recovered_before_the_error_is_raised() -> None:
    """With a timeout and automatic resets the error is JobLost, and nothing is left."""
    case = fan(faulty(Fault("lost"), Fault("lost_interrupt")), ["ev74"] * 3)
    case.runtime.default_queue.timeout_ticks = 20_000
    with pytest.raises(JobLost, match="'n0'"):
        case.execute()
    assert case.runtime.scheduler.live == {}
    case.execute()
    assert case.right()


def test_a_refusal_in_the_middle_of_a_run_leaves_nothing_in_flight() -> None:
    """A dirty line that the third node's submission names is corrected, and the run repeated."""
    runtime = Runtime(make_device())
    case = fan(runtime, ["ev74"] * 3)
    case.targets["y2"] = runtime.allocate(LINEAR_BYTES, policy=Policy.CACHED_MANUAL)
    case.targets["y2"].cpu.modify()
    with pytest.raises(CoherencyError, match="missing_output_flush"):
        case.execute()
    assert runtime.scheduler.live == {}
    case.targets["y2"].cpu.flush()
    assert set(case.execute()) == {"n0", "n1", "n2"}


def test_an_interrupt_of_the_user_leaves_nothing_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control-C in the middle of a run lets its jobs end before it is raised."""
    case = fan(Runtime(make_device()), ["ev74"] * 3)
    submit = Runtime.submit

    def interrupted(runtime: Runtime, plan: PreparedJob, *args: object, name: str, **options: object) -> object:
        if name == "n2":
            raise KeyboardInterrupt
        return submit(runtime, plan, *args, name=name, **options)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(Runtime, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        case.execute()
    assert case.runtime.scheduler.live == {}
    monkeypatch.undo()
    case.execute()
    assert case.right()


def test_a_node_on_the_cpu_uses_only_the_bytes_that_it_needs() -> None:
    """Spare capacity of a large view may be in flight for another job."""
    runtime = Runtime(make_device())
    source, target = filled(runtime)
    shared = runtime.allocate(4096)
    job = runtime.submit(small_plan(), [source], [shared.view(2048, LINEAR_BYTES)])
    registered = register(Graph("g", [Node("n", small_plan(), "a65", "x", "y")]), runtime)
    registered.execute({"x": source}, {"y": shared})
    runtime.wait(job)
    target.close()
    for offset in (0, 2048):
        assert shared.host[offset : offset + LINEAR_BYTES].tobytes() == linear_output(tiled_input()).tobytes()


def test_a_node_on_the_cpu_may_use_storage_that_no_device_sees() -> None:
    """Storage outside the window, or read-only for the device, is refused for a node of the device alone."""
    runtime = Runtime(make_device())
    runtime.allocator.add_heap("cpu", 0x1000_0000, 1 << 20)
    source, _ = filled(runtime)
    target = runtime.allocate(LINEAR_BYTES, heap="cpu", writable=False)
    graph = Graph("g", [Node("n", small_plan(), "a65", "x", "y")])
    register(graph, runtime).execute({"x": source}, {"y": target})
    assert target.host.tobytes() == linear_output(tiled_input()).tobytes()
    other = Graph("g", [Node("n", small_plan(), "ev74", "x", "y")])
    with pytest.raises(ValueError, match="window"):
        register(other, runtime).execute({"x": source}, {"y": target})


def test_outputs_in_one_cpu_line_wait_for_each_other() -> None:
    """The CPU's node writes whole lines of a cached buffer, so it waits for the graph's own job in that line."""
    runtime = Runtime(make_device(write_granule_bytes=16))
    source, _ = filled(runtime)
    shared = runtime.allocate(256, policy=Policy.CACHED_MANUAL)
    nodes = [Node("n", small_plan(), "ev74", "x", "y"), Node("m", small_plan(), "a65", "x", "z")]
    views = {"y": shared.view(0, LINEAR_BYTES), "z": shared.view(80, LINEAR_BYTES)}
    register(Graph("g", nodes), runtime).execute({"x": source}, views)
    shared.cpu.invalidate()
    for view in views.values():
        assert view.cpu.read().tobytes() == linear_output(tiled_input()).tobytes()
