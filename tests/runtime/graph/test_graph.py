"""Graphs: checked as a whole, run on both backends, intermediates shared as views, nothing left behind on failure."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest

from tessbed.firmware_models.image import Composition
from tessbed.kernels import (
    ChannelStorage,
    DType,
    MlaCBlocked,
    MlaTiled,
    NotRepresentable,
    Strided,
    TensorSpec,
)
from tessbed.kernels.errors import BindingError
from tessbed.kernels.ops import detess, detesscast, tess
from tessbed.kernels.plan import Plan
from tessbed.runtime import Buffer, CapabilityError, HeapExhausted, Runtime
from tessbed.runtime.graph.arena import lay_out
from tessbed.runtime.graph.graph import Graph, GraphError, Node
from tessbed.runtime.graph.registration import register
from tessbed.runtime.memory.coherency import Access, Policy
from tessbed.runtime.memory.cpu_access import CpuSide
from tests.runtime.bench import make_device

SHAPE = (6, 5, 18)
TILED = MlaTiled((-1, 0, 1, 2), (1, 4, 2, 16), ChannelStorage.PAD16)
LINEAR = TensorSpec(SHAPE, DType.BF16)


def packs(layout: MlaTiled = TILED, dtype: DType = DType.BF16) -> Plan:
    return tess.check_inference(tess.Request([TensorSpec(SHAPE, dtype)], [TensorSpec(SHAPE, dtype, layout)]))


def unpacks(layout: MlaTiled = TILED) -> Plan:
    return detess.check_inference(detess.Request([TensorSpec(SHAPE, DType.BF16, layout)], [LINEAR]))


def widens(layout: MlaTiled | MlaCBlocked = TILED, to: DType = DType.FP32) -> Plan:
    source, target = TensorSpec(SHAPE, DType.BF16, layout), TensorSpec(SHAPE, to)
    return detesscast.check_inference(detesscast.Request([source], [target]))


def chain(*backends: str) -> Graph:
    """Pack, unpack, pack again, and widen: the words must come through all of it."""
    steps = (packs(), unpacks(), packs(), widens())
    names = ("x", "t1", "l1", "t2", "y")
    return Graph("chain", [Node(f"n{i}", steps[i], backends[i], names[i], names[i + 1]) for i in range(4)])


def words() -> np.ndarray:
    return ((np.arange(6 * 5 * 18) * 257 + 3) % 65521).astype(np.uint16)


MIXES = {
    "all on the device": ("ev74",) * 4,
    "all on the CPU": ("a65",) * 4,
    "alternating": ("ev74", "a65", "ev74", "a65"),
    "before and after": ("a65", "ev74", "ev74", "a65"),
}


@pytest.mark.parametrize("policy", Policy, ids=lambda policy: policy.value)
@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES.keys())
def test_a_chain_gives_the_same_bytes_on_every_mix_and_policy(mix: tuple[str, ...], policy: Policy) -> None:
    """FP32 output is the input words shifted up by 16, with the strict coherency checker watching."""
    runtime = Runtime(make_device())
    source = runtime.allocate(words().nbytes, name="x", policy=policy)
    target = runtime.allocate(words().nbytes * 2, name="y", policy=policy)
    with source.cpu.access(Access.WRITE) if policy is Policy.CACHED else _flushing(source) as cpu:
        cpu.write(words().tobytes())
    registered = register(chain(*mix), runtime, policy=policy)
    results = registered.execute({"x": source}, {"y": target})
    if policy is Policy.CACHED:
        target.cpu.begin(Access.READ)
    else:
        target.cpu.invalidate()
    assert target.cpu.read().tobytes() == (words().astype(np.uint32) << 16).tobytes()
    assert [result is not None for result in results.values()] == [backend == "ev74" for backend in mix]
    registered.close()
    source.close()
    target.close()
    assert runtime.close() == ()


@contextmanager
def _flushing(buffer: Buffer) -> Iterator[CpuSide]:
    """Write by hand: flush at the end."""
    yield buffer.cpu
    buffer.cpu.flush()


def test_intermediates_are_views_of_one_arena_and_reuse_it() -> None:
    """Tensors whose lives meet are disjoint, others share bytes, and every place starts at a line and a granule."""
    graph = chain(*MIXES["all on the device"])
    places = {place.tensor: place for place in lay_out(graph, 128)}
    assert set(places) == {"t1", "l1", "t2"}
    assert places["t1"].offset == places["t2"].offset
    assert all(place.offset % 128 == 0 and place.nbytes % 128 == 0 for place in places.values())
    l1, t2 = places["l1"], places["t2"]
    assert l1.offset + l1.nbytes <= t2.offset or t2.offset + t2.nbytes <= l1.offset


def test_an_intermediate_lives_to_its_last_reader() -> None:
    """What is written between two readers of a tensor lies elsewhere, and both readers on the device see its words."""
    nodes = [
        Node("pack", packs(), "ev74", "x", "t"),
        Node("first", unpacks(), "ev74", "t", "u"),
        Node("again", packs(), "ev74", "u", "v"),
        Node("second", unpacks(), "ev74", "t", "back"),
        Node("floats", widens(), "ev74", "v", "wide"),
    ]
    graph = Graph("two readers", nodes)
    places = {place.tensor: place for place in lay_out(graph, 128)}
    assert {tensor: (place.born, place.dies) for tensor, place in places.items()} == {
        "t": (0, 3), "u": (1, 2), "v": (2, 4)
    }  # fmt: skip
    spans = sorted((place.offset, place.offset + place.nbytes) for place in places.values())
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    runtime = Runtime(make_device())
    source, back, wide = (runtime.allocate(words().nbytes * scale) for scale in (1, 1, 2))
    source.host[:] = words().view(np.uint8)
    register(graph, runtime).execute({"x": source}, {"back": back, "wide": wide})
    assert back.host.tobytes() == words().tobytes()
    assert wide.host.tobytes() == (words().astype(np.uint32) << 16).tobytes()


def test_branches_read_one_intermediate() -> None:
    """One tiled tensor feeds two readers on the two backends."""
    nodes = [
        Node("pack", packs(), "ev74", "x", "t"),
        Node("words", unpacks(), "a65", "t", "back"),
        Node("floats", widens(), "ev74", "t", "wide"),
    ]
    graph = Graph("fork", nodes)
    assert (graph.inputs, graph.intermediates, graph.outputs) == (("x",), ("t",), ("back", "wide"))
    runtime = Runtime(make_device())
    source, back, wide = (runtime.allocate(words().nbytes * scale) for scale in (1, 1, 2))
    source.host[:] = words().view(np.uint8)
    register(graph, runtime).execute({"x": source}, {"back": back, "wide": wide})
    assert back.host.tobytes() == words().tobytes()
    assert wide.host.tobytes() == (words().astype(np.uint32) << 16).tobytes()


def test_registration_names_what_the_image_lacks() -> None:
    """All differences at once; the nodes that could run anywhere do not move to the other backend."""
    runtime = Runtime(make_device(composition=Composition(ops=("detess",), dtypes=("int8",))))
    with pytest.raises(CapabilityError) as caught:
        register(chain(*MIXES["all on the device"]), runtime)
    assert caught.value.missing == (
        "operation: the job needs tess, the image holds detess",
        "dtype: the job needs bf16, the image holds int8",
        "operation: the job needs detesscast, the image holds detess",
    )
    assert caught.value.needed == (
        "tess bf16 pad16 packet version 1.0, detess bf16 pad16 packet version 1.0, "
        "detesscast bf16 pad16 packet version 1.0"
    )
    assert runtime.allocator.leaks == ()
    assert chain(*MIXES["all on the CPU"]).needs == ()


def oversized() -> Plan:
    """A plan that no packet can hold: an extent beyond 32 bits."""
    shape = (2**33, 1)
    tiled = TensorSpec(shape, DType.INT8, MlaTiled((-1, -1, 0, 1), (1, 1, 2**20, 1)))
    return detess.check_inference(detess.Request([tiled], [TensorSpec(shape, DType.INT8)]))


def test_a_failed_registration_leaves_nothing() -> None:
    """A node that can not be encoded, or an arena that does not fit, gives everything back."""
    runtime = Runtime(make_device())
    unencodable = Graph(
        "unencodable", [*chain(*MIXES["alternating"]).nodes, Node("huge", oversized(), "ev74", "a", "b")]
    )
    with pytest.raises(NotRepresentable):
        register(unencodable, runtime)
    assert runtime.allocator.leaks == ()
    full = Runtime(make_device(memory={"window_bytes": 4096}))
    with full.allocate(1), pytest.raises(HeapExhausted):
        register(chain(*MIXES["all on the device"]), full)
    assert full.allocator.leaks == ()


WIDE = Strided((5 * 64, 64, 2))
MISFITS = {
    "padded HWC read as CBlock": (packs(), widens(MlaCBlocked(4, 2, 16)), "layout", "pad16 bf16.*cblocked bf16"),
    "another tile": (packs(), unpacks(MlaTiled((-1, 0, 1, 2), (1, 2, 2, 16), ChannelStorage.PAD16)), "layout", "tile"),
    "compact read as padded": (packs(MlaTiled((-1, 0, 1, 2), (1, 4, 2, 16))), unpacks(), "layout", "compact.*pad16"),
    "axes swapped": (packs(MlaTiled((-1, 1, 0, 2), (1, 4, 2, 16), ChannelStorage.PAD16)), unpacks(), "layout", "tile"),
}


@pytest.mark.parametrize("case", MISFITS.values(), ids=MISFITS.keys())
def test_a_layout_that_does_not_fit_its_writer_is_refused(case: tuple[Plan, Plan, str, str]) -> None:
    """Equal shape, and even equal capacity, do not make two layouts the same."""
    first, second, code, words = case
    with pytest.raises(GraphError, match=rf"(?s)n2: 't' is written by n1 as .*{words}") as caught:
        Graph("g", [Node("n1", first, "ev74", "x", "t"), Node("n2", second, "ev74", "t", "y")])
    assert caught.value.code == code


def test_strides_are_part_of_a_linear_layout() -> None:
    """A pitched tensor is not a dense one."""
    pitched = detess.check_inference(
        detess.Request([TensorSpec(SHAPE, DType.BF16, TILED)], [TensorSpec(SHAPE, DType.BF16, WIDE)])
    )
    with pytest.raises(GraphError, match="linear bf16"):
        Graph("g", [Node("n1", pitched, "a65", "t", "l"), Node("n2", packs(), "a65", "l", "u")])


SHAPES = {
    "backend": ([Node("n", packs(), "gpu", "x", "y")], "wanted one of a65, ev74"),
    "two_writers": ([Node("n", packs(), "a65", "x", "y"), Node("m", packs(), "a65", "x", "y")], "written by n already"),
    "order": ([Node("n", unpacks(), "a65", "y", "z"), Node("m", packs(), "a65", "x", "y")], "put that later"),
    "in_place": ([Node("n", packs(), "a65", "x", "x")], "there is no in-place operation"),
}


@pytest.mark.parametrize("code", SHAPES)
def test_a_graph_that_can_not_be_is_refused(code: str) -> None:
    """Each structural error has its code and names the node."""
    nodes, words = SHAPES[code]
    with pytest.raises(GraphError, match=words) as caught:
        Graph("g", nodes)
    assert caught.value.code == code


def test_missing_and_unknown_tensors_are_refused() -> None:
    """Execution wants exactly the graph's own inputs and outputs."""
    runtime = Runtime(make_device())
    registered = register(chain(*MIXES["all on the CPU"]), runtime)
    with pytest.raises(BindingError, match=r"inputs: got \['z'\], wanted \['x'\]"):
        registered.execute({"z": runtime.allocate(16)}, {"y": runtime.allocate(16)})
