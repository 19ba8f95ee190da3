"""Entry: what belongs to another runtime, is closed or of the wrong type is refused at every public call, untouched."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from simpy import Environment

from tessbed.kernels import Contiguous, DType, MlaTiled, TensorSpec
from tessbed.kernels.errors import BindingError
from tessbed.kernels.ops import detess
from tessbed.kernels.plan import Plan
from tessbed.runtime import Buffer, GranuleConflict, Job, LifetimeError, Runtime, SubmitError, View
from tessbed.runtime.address_ranges import JobFootprint
from tessbed.runtime.asyncio_adapter import AsyncioAdapter
from tessbed.runtime.clients import Client
from tessbed.runtime.graph.graph import Graph, GraphError, Node
from tessbed.runtime.graph.registration import register
from tessbed.runtime.invariants import check_runtime
from tessbed.runtime.jobs.prepared import prepare
from tessbed.runtime.memory.coherency import Policy
from tessbed.runtime.scheduling.queues import Queue
from tests.runtime.bench import (
    LINEAR_BYTES,
    TILED_BYTES,
    filled,
    linear_output,
    make_device,
    small_plan,
    tiled_input,
)


@attrs.define
class World:
    """A runtime, named here, with its buffers and a job under way; `queue` is its own."""

    runtime: Runtime
    source: Buffer
    target: Buffer
    shared: Buffer
    queue: Queue
    job: Job

    def state(self) -> tuple[object, ...]:
        """All that a refused call could have changed."""
        storages = [allocation.storage.tobytes() for allocation in self.runtime.allocator.living]
        holders = [allocation.holders for allocation in self.runtime.allocator.living]
        queues = [tuple(map(id, queue.unretired)) for queue in self.runtime.scheduler.queues]
        jobs = sorted(self.runtime.scheduler.live)
        return storages, holders, queues, jobs, self.runtime.now, self.job.state, self.queue.closed


def world(name: str) -> World:
    runtime = Runtime(make_device(), name=name)
    source, target = filled(runtime)
    busy = filled(runtime, 1)
    queue = runtime.queue(f"queue of {name}")
    return World(runtime, source, target, target.share(), queue, runtime.submit(small_plan(), [busy[0]], [busy[1]]))


def exported(there: World) -> Any:
    return there.runtime.export(there.source)


def one_node(backend: str) -> Graph:
    return Graph("one", [Node("n", small_plan(), backend, "x", "y")])


def execute(backend: str, home: World, x: Any, y: Any) -> object:
    return register(one_node(backend), home.runtime).execute({"x": x}, {"y": y})


def packet(home: World) -> bytes:
    template = prepare(small_plan()).packet
    assert template is not None
    return template.bind(home.source.address, home.target.address).raw


def submit(home: World, *inputs: Any, **options: Any) -> object:
    return home.runtime.submit(small_plan(), [home.source], [home.target], *inputs, **options)


# Each row gives to `home` something of `other`, in the place that its name says.
FOREIGN: dict[str, Callable[[World, World], object]] = {
    "run: input": lambda home, other: home.runtime.run(small_plan(), [other.source], [home.target]),
    "run: output": lambda home, other: home.runtime.run(small_plan(), [home.source], [other.target]),
    "submit: input view": lambda home, other: home.runtime.submit(small_plan(), [other.source.view()], [home.target]),
    "submit: output view": lambda home, other: home.runtime.submit(small_plan(), [home.source], [other.target.view()]),
    "submit: both": lambda home, other: home.runtime.submit(small_plan(), [other.source], [other.target]),
    "submit: shared handle": lambda home, other: home.runtime.run(small_plan(), [home.source], [other.shared]),
    "submit: workspace": lambda home, other: submit(home, workspace=[other.source]),
    "submit: empty plan, input": lambda home, other: home.runtime.submit(empty_plan(), [other.source], [None]),
    "submit: empty plan, output": lambda home, other: home.runtime.submit(empty_plan(), [None], [other.target]),
    "submit: queue": lambda home, other: submit(home, queue=other.queue),
    "submit: after": lambda home, other: submit(home, after=[other.job]),
    "submit: after, among others": lambda home, other: submit(home, after=[home.job, other.job]),
    "submit: empty plan, after": lambda home, other: home.runtime.submit(
        empty_plan(), [None], [None], after=[other.job]
    ),
    "submit: empty plan, queue": lambda home, other: home.runtime.submit(
        empty_plan(), [None], [None], queue=other.queue
    ),
    "packet: input": lambda home, other: home.runtime.submit_packet(packet(home), [other.source], [home.target]),
    "packet: output": lambda home, other: home.runtime.submit_packet(packet(home), [home.source], [other.target]),
    "packet: queue": lambda home, other: home.runtime.submit_packet(
        packet(home), [home.source], [home.target], queue=other.queue
    ),
    "packet: after": lambda home, other: home.runtime.submit_packet(
        packet(home), [home.source], [home.target], after=[other.job]
    ),
    "wait": lambda home, other: home.runtime.wait(other.job),
    "settle": lambda home, other: home.runtime.settle(other.job),
    "cancel": lambda home, other: home.runtime.cancel(other.job),
    "export": lambda home, other: home.runtime.export(other.source),
    "export of a view": lambda home, other: home.runtime.export(other.source.view(16, 16)),
    "coroutine: finished": lambda home, other: asyncio.run(AsyncioAdapter(home.runtime).finished(other.job)),
    "coroutine: over": lambda home, other: asyncio.run(AsyncioAdapter(home.runtime).over(other.job)),
    "coroutine: room": lambda home, other: asyncio.run(AsyncioAdapter(home.runtime).room(other.queue)),
    "client: queue": lambda home, other: Client(home.runtime, other.queue),
    "client: input": lambda home, other: Client(home.runtime, home.queue).submit(
        small_plan(), [other.source], [home.target]
    ),
    "client: after": lambda home, other: Client(home.runtime, home.queue).submit(
        small_plan(), [home.source], [home.target], after=[other.job]
    ),
    "graph on the device: input": lambda home, other: execute("ev74", home, other.source, home.target),
    "graph on the device: output": lambda home, other: execute("ev74", home, home.source, other.target),
    "graph on the CPU: input": lambda home, other: execute("a65", home, other.source, home.target),
    "graph on the CPU: output": lambda home, other: execute("a65", home, home.source, other.target),
}


@pytest.mark.parametrize("ended", [False, True], ids=["under way", "ended"])
@pytest.mark.parametrize("call", FOREIGN.values(), ids=FOREIGN.keys())
def test_an_object_of_another_runtime_is_refused_with_both_named(
    call: Callable[[World, World], object], ended: bool
) -> None:
    """The caller's error is named before a byte, a queue, a job or a tick of either runtime has changed."""
    home, other = world("here"), world("elsewhere")
    if ended:
        other.runtime.wait(other.job)
    before = home.state(), other.state()
    with pytest.raises((BindingError, SubmitError), match=r"runtime 'elsewhere'.*runtime 'here'") as caught:
        call(home, other)
    assert caught.value.code == "foreign"
    assert not isinstance(caught.value, GranuleConflict)
    assert (home.state(), other.state()) == before
    assert check_runtime(home.runtime) == check_runtime(other.runtime) == []
    assert home.runtime.run(small_plan(), [home.source], [home.target]).outcome == "ok"
    assert other.runtime.wait(other.job).outcome == "ok"


def test_runtimes_of_one_name_are_distinguished() -> None:
    """Equal names, and no names at all, still make a message that names two runtimes."""
    for name in ("same", ""):
        home, other = world(name), world(name)
        with pytest.raises(BindingError, match=r"belongs to (.*), wanted one of (.*); export") as caught:
            home.runtime.run(small_plan(), [other.source], [home.target])
        theirs, mine = caught.value.text.split("belongs to ")[1].split("; export")[0].split(", wanted one of ")
        assert theirs != mine


def empty_plan() -> Plan:
    tiled = TensorSpec((0, 17), DType.BF16, MlaTiled((-1, -1, 0, 1), (1, 1, 2, 16)))
    return detess.check_inference(detess.Request([tiled], [TensorSpec((0, 17), DType.BF16, Contiguous())]))


CLOSED: dict[str, Callable[[World], object]] = {
    "allocate": lambda home: home.runtime.allocate(64),
    "allocate from the allocator": lambda home: home.runtime.allocator.allocate(64),
    "client: allocate": lambda home: Client(home.runtime, home.queue).allocate(64),
    "run": lambda home: home.runtime.run(small_plan(), [home.source], [home.target]),
    "run of an empty plan": lambda home: home.runtime.run(empty_plan(), [None], [None]),
    "packet": lambda home: home.runtime.submit_packet(packet(home), [home.source], [home.target]),
    "queue": lambda home: home.runtime.queue("late"),
    "export": lambda home: home.runtime.export(home.source),
    "reset": lambda home: home.runtime.reset(),
    "register": lambda home: register(one_node("a65"), home.runtime),
    "client": lambda home: Client(home.runtime, home.queue),
    "with": lambda home: home.runtime.__enter__(),
    "heap": lambda home: home.runtime.allocator.add_heap("more", 1 << 44, 4096),
    "coroutine: room": lambda home: asyncio.run(AsyncioAdapter(home.runtime).room(home.queue)),
}


@pytest.mark.parametrize("call", CLOSED.values(), ids=CLOSED.keys())
def test_a_closed_runtime_takes_nothing_more(call: Callable[[World], object]) -> None:
    """Every call that would begin something says that the runtime is closed, and which."""
    home = world("shut")
    home.runtime.close()
    before = home.state()
    with pytest.raises(SubmitError, match=r"runtime 'shut' is closed") as caught:
        call(home)
    assert caught.value.code == "closed"
    assert home.state() == before


def test_a_closed_runtime_imports_and_executes_nothing() -> None:
    """A handle made elsewhere and a graph registered in time are refused as well; what has ended can be asked for."""
    maker, home = world("maker"), world("shut")
    handle, registered = maker.runtime.export(maker.source), register(one_node("a65"), home.runtime)
    home.runtime.close()
    for call in (
        lambda: home.runtime.adopt(handle),
        lambda: registered.execute({"x": home.source}, {"y": home.target}),
    ):
        with pytest.raises(SubmitError, match="runtime 'shut' is closed"):
            call()
    assert home.runtime.wait(home.job).outcome == "ok"


TYPES: dict[str, tuple[Callable[[World, Any], object], tuple[Any, ...]]] = {
    "input": (lambda home, it: home.runtime.run(small_plan(), [it], [home.target]), (3, "x", np.zeros(80, np.uint8))),
    "output": (lambda home, it: home.runtime.run(small_plan(), [home.source], [it]), (b"y", np.zeros(80, np.uint8))),
    "inputs": (lambda home, it: home.runtime.run(small_plan(), it, [home.target]), (None, 3, {})),
    "a lone buffer": (lambda home, _: home.runtime.run(small_plan(), home.source, [home.target]), (0,)),  # pyright: ignore[reportArgumentType]
    "empty plan's input": (lambda home, it: home.runtime.run(empty_plan(), [it], [None]), (3, "x")),
    "view of nothing": (lambda home, it: home.runtime.run(small_plan(), [View(it, 0, 80)], [home.target]), (None, 3)),
    "view beyond": (
        lambda home, it: home.runtime.run(small_plan(), [View(home.source, *it)], [home.target]),
        ((0, 81), (-16, 96), (16, 80), (0.0, 80), ("0", 80)),
    ),
    "part of a buffer": (lambda home, it: home.source.view(*it), ((1.5,), ("1",), (0, 1.5), (True,))),
    "packet's input": (
        lambda home, it: home.runtime.submit_packet(packet(home), [it], [home.target]),
        (None, 3, "x", b"abc"),
    ),
    "packet's view beyond": (
        lambda home, it: home.runtime.submit_packet(packet(home), [home.source], [View(home.target, *it)]),
        ((0, 5000), (-1, 10)),
    ),
    "packet": (lambda home, it: home.runtime.submit_packet(it, [home.source], [home.target]), (None, "raw", 7)),
    "workspace": (lambda home, it: submit(home, workspace=it), (None, [None], [3])),
    "queue": (lambda home, it: submit(home, queue=it), ("default", 3, Queue("of nobody"))),
    "after": (lambda home, it: submit(home, after=it), (None, "ab", 3, [None], [3])),
    "a lone job": (lambda home, _: submit(home, after=home.job), (0,)),
    "after a job never submitted": (
        lambda home, _: submit(home, after=[Job(9, "own", b"", JobFootprint(), home.queue)]),
        (0,),
    ),
    "wait for a job never submitted": (
        lambda home, _: home.runtime.wait(Job(1, "own", b"", JobFootprint(), home.queue)),
        (0,),
    ),
    "workers": (lambda home, it: submit(home, workers=it), (0, -1, 1.0, True, "2", 65, 2**31)),
    "timeout": (lambda home, it: submit(home, timeout_ticks=it), (-1, 1.5, "9", True)),
    "name": (lambda home, it: submit(home, name=it), (None, 3, b"x")),
    "wait": (lambda home, it: home.runtime.wait(it), (None, 1, "job")),
    "settle": (lambda home, it: home.runtime.settle(it), (None, 1)),
    "cancel": (lambda home, it: home.runtime.cancel(it), (None, 1)),
    "reset": (lambda home, it: home.runtime.reset(it), (1, -1, "0", None, 0.0)),
    "export": (lambda home, it: home.runtime.export(it), (None, 3)),
    "adopt": (lambda home, it: home.runtime.adopt(it), (None, 3, "h")),
    "adopt a view": (lambda home, _: home.runtime.adopt(home.source.view()), (0,)),  # pyright: ignore[reportArgumentType]
    "size": (lambda home, it: home.runtime.allocate(it), (-1, 1.5, "1", None, True)),
    "alignment": (lambda home, it: home.runtime.allocate(1, alignment=it), (0, 3, 1.5, "1", True)),
    "prefill": (lambda home, it: home.runtime.allocate(1, prefill=it), (-1, 256, 1.5, "a")),
    "heap": (lambda home, it: home.runtime.allocate(1, heap=it), (None, [], "gpu")),
    "policy": (lambda home, it: home.runtime.allocate(1, policy=it), (None, "cached", 1)),
    "queue's capacity": (lambda home, it: home.runtime.queue("q", capacity=it), (0, -1, 1.5, "2", None, True)),
    "queue's numbers": (lambda home, it: home.runtime.queue("q", **it), ({"priority": "1"}, {"grace_ticks": -1})),
    "queue's timeout": (lambda home, it: home.runtime.queue("q", timeout_ticks=it), (-1, 1.5, "1")),
    "coroutine: job": (lambda home, it: asyncio.run(AsyncioAdapter(home.runtime).finished(it)), (None, 3)),
    "coroutine: queue": (lambda home, it: asyncio.run(AsyncioAdapter(home.runtime).room(it)), (None, 3)),
    "client's runtime": (lambda home, it: Client(it, home.queue), (None, 3)),
    "client's queue": (lambda home, it: Client(home.runtime, it), (None, 3)),
    "graph": (lambda home, it: register(it, home.runtime), (None, [], small_plan())),
    "graph's runtime": (lambda home, it: register(one_node("a65"), it), (None, 3)),
    "graph's policy": (lambda home, it: register(one_node("a65"), home.runtime, policy=it), (None, "cached")),
    "graph's tensors": (lambda home, it: register(one_node("a65"), home.runtime).execute(it, it), (None, [], "x")),
    "graph's input": (lambda home, it: execute("a65", home, it, home.target), (None, 3, b"x")),
    "graph's output": (lambda home, it: execute("ev74", home, home.source, it), (None, 3, b"x")),
    "CPU's bytes": (lambda home, it: home.source.cpu.write(it), (b"", bytes(79), bytes(81), b"1", None, 3, "x" * 80)),
    "CPU's access": (lambda home, it: home.source.cpu.begin(it), (None, "read")),
    "runtime's name": (lambda home, it: Runtime(make_device(), name=it), (None, 3, b"x")),
    "queue's name": (lambda home, it: home.runtime.queue(it), (None, 3, b"x")),
    "buffer's name": (lambda home, it: home.runtime.allocate(1, name=it), (None, 3, b"x")),
    "import's name": (lambda home, it: home.runtime.adopt(exported(world("there")), name=it), (None, 3)),
    "heap's name": (lambda home, it: home.runtime.allocator.add_heap(it, 1 << 44, 4096), (None, 3)),
    "writable": (lambda home, it: home.runtime.allocate(1, writable=it), (None, "no", 1)),
    "coroutine: runtime": (lambda home, it: AsyncioAdapter(it), (None, 3, Queue)),
    "depth": (lambda home, it: Runtime(make_device(), depth=it), (0, -1, 1.5, "1", None)),
    "devices": (lambda home, it: Runtime(it), (None, 3, [], [None], ["device"])),
}


@pytest.mark.parametrize("case", TYPES.values(), ids=TYPES.keys())
def test_a_thing_of_the_wrong_type_is_refused_before_anything_happens(case: tuple) -> None:
    """No stranger's TypeError, no hang, and nothing has changed."""
    call, wrong = case
    home = world("here")
    before = home.state()
    for given in wrong:
        with pytest.raises((BindingError, SubmitError)):
            call(home, given)
        assert home.state() == before, given


@pytest.mark.parametrize("backend", ["ev74", "a65"])
def test_a_graph_looks_at_every_tensor_before_its_first_node(backend: str) -> None:
    """A last node whose output is too short leaves the output of the first one as it was."""
    home = world("here")
    graph = Graph("two", [Node("n", small_plan(), backend, "x", "y"), Node("m", small_plan(), backend, "x", "z")])
    registered, short = register(graph, home.runtime), home.runtime.allocate(LINEAR_BYTES - 1, name="short")
    before = home.state()
    with pytest.raises(BindingError, match=r"node 'm': outputs\[0\]: got 67 bytes, wanted 68"):
        registered.execute({"x": home.source}, {"y": home.target, "z": short})
    assert home.state() == before


@pytest.mark.parametrize("backend", ["ev74", "a65"])
def test_tensors_of_a_graph_do_not_share_bytes(backend: str) -> None:
    """Two outputs in the same bytes, or an output over an input, would lose one of them."""
    home = world("here")
    graph = Graph("two", [Node("n", small_plan(), backend, "x", "y"), Node("m", small_plan(), backend, "w", "z")])
    registered, room = register(graph, home.runtime), home.runtime.allocate(1024)
    inputs = {"x": home.source, "w": home.source}
    apart = {"y": room.view(0, 128), "z": room.view(128, 128)}
    overlaps = (
        (inputs, {"y": room.view(0, 128), "z": room.view(64, 128)}),
        (inputs, {"y": room, "z": room}),
        ({"x": room.view(0, TILED_BYTES), "w": home.source}, {"y": room.view(256), "z": room.view(0, 128)}),
    )
    for given, taken in overlaps:
        with pytest.raises(BindingError, match="share bytes"):
            registered.execute(given, taken)
    registered.execute(inputs, apart)
    assert room.cpu.read()[128 : 128 + LINEAR_BYTES].tobytes() == linear_output(tiled_input()).tobytes()


GRAPHS = {
    "two_names": [Node("n", small_plan(), "a65", "x", "y"), Node("n", small_plan(), "a65", "x", "z")],
    "type": ["node"],
    "type of a plan": [Node("n", prepare(small_plan()), "ev74", "x", "y")],  # pyright: ignore[reportArgumentType]
    "type of a name": [Node("n", small_plan(), "ev74", 1, "y")],  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("code", GRAPHS)
def test_a_graph_of_wrong_things_is_refused(code: str) -> None:
    """Two nodes of one name would run one kernel; a node that is none has no plan."""
    with pytest.raises(GraphError) as caught:
        Graph("g", GRAPHS[code])  # pyright: ignore[reportArgumentType]
    assert caught.value.code == code.split()[0]


def test_a_closed_graph_does_not_run() -> None:
    """With an arena or without, execution after close and a second close say where the first was."""
    home = world("here")
    registered = register(one_node("a65"), home.runtime)
    registered.close()
    with pytest.raises(
        LifetimeError, match=r"executed at test_storage_entry\.py:.* after close at test_storage_entry\.py:"
    ):
        registered.execute({"x": home.source}, {"y": home.target})
    with pytest.raises(LifetimeError, match="closed twice"):
        registered.close()


CPU_CALLS = ("read", "modify", "flush", "invalidate", "begin", "finish")


@pytest.mark.parametrize("policy", Policy, ids=lambda policy: policy.value)
@pytest.mark.parametrize("call", CPU_CALLS)
def test_the_cpus_side_ends_with_its_handle(call: str, policy: Policy) -> None:
    """A side that was taken before the handle was closed touches nothing afterwards."""
    runtime = Runtime(make_device())
    buffer = runtime.allocate(64, policy=policy)
    cpu = buffer.cpu
    buffer.close()
    with pytest.raises(LifetimeError, match="used at test_storage_entry"):
        getattr(cpu, call)()
    with pytest.raises(LifetimeError):
        cpu.write(bytes(64))


def test_a_closed_handle_is_not_imported() -> None:
    """Though others keep the storage alive; and closing it twice takes nobody else's reference."""
    home, other = world("here"), world("elsewhere")
    first, second = home.runtime.export(home.source), home.runtime.export(home.source)
    first.close()
    with pytest.raises(LifetimeError, match=r"imported at test_storage_entry\.py:.* after close"):
        other.runtime.adopt(first)
    with pytest.raises(LifetimeError, match="closed again"):
        first.close()
    assert home.source.allocation.references["export"] == 1
    assert other.runtime.adopt(second).cpu.read().tobytes() == tiled_input().tobytes()


def test_a_device_belongs_to_one_runtime() -> None:
    """A second runtime is refused with both named, whatever the first has allocated; after its close it is welcome."""
    device = make_device()
    first = Runtime(device, name="first")
    source, target = filled(first)
    for _ in range(2):
        with pytest.raises(SubmitError, match=r"runtime 'second' wants a device that runtime 'first' drives") as caught:
            Runtime(device, name="second")
        assert caught.value.code == "device_in_use"
        assert first.run(small_plan(), [source], [target]).outcome == "ok"
    assert len(device.delivery.listeners) == 1
    with pytest.raises(SubmitError, match="the same device twice"):
        Runtime([other := make_device(), other])
    kept = [buffer for buffer in (source, target) if not buffer.closed]
    first.close()
    with pytest.raises(SubmitError, match=r"buffers of runtime 'first', which is closed, still mapped \('source 0'"):
        Runtime(device, name="second")
    assert kept
    device = make_device()
    with Runtime(device, name="first"):
        pass
    second = Runtime(device, name="second")
    source, target = filled(second)
    assert second.run(small_plan(), [source], [target]).outcome == "ok"
    assert len(device.delivery.listeners) == 1


def test_a_refused_runtime_takes_none_of_its_devices() -> None:
    """Of two devices of which one is in use the other stays free."""
    env = Environment()
    free, taken = make_device(env), make_device(env)
    Runtime(taken, name="first")
    for devices in itertools.permutations((free, taken)):
        with pytest.raises(SubmitError, match="drives"):
            Runtime(devices)
    assert free.delivery.listeners == []
    assert Runtime(free).allocate(64).address
