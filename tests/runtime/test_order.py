"""Order between jobs: who may write what another reads, and who may read what two others share."""

import numpy as np
import pytest

from tessbed.runtime import GranuleConflict, Runtime
from tessbed.runtime.graph.graph import Graph, Node
from tessbed.runtime.graph.registration import register
from tests.runtime.bench import TILED_BYTES, filled, linear_output, make_device, small_plan, tiled_input
from tests.runtime.graph.test_graph import packs, unpacks, widens, words


@pytest.mark.parametrize("depth", [1, 2])
def test_a_write_after_a_read_waits_for_the_reader(depth: int) -> None:
    """A job that writes the input of another one is refused beside it; after it, the reader has seen the old bytes."""
    runtime = Runtime(make_device(), depth=depth)
    source, target = filled(runtime, 1)
    other, _ = filled(runtime, 2)
    reader = runtime.submit(small_plan(), [source], [target])
    over = source.view(0, TILED_BYTES)
    with pytest.raises(GranuleConflict, match="reads"):
        runtime.submit(small_plan(), [other], [over])
    writer = runtime.submit(small_plan(), [other], [over], after=[reader])
    assert runtime.wait(writer).outcome == "ok"
    assert reader.final_tick <= next(tick for tick, move, _ in writer.history if move.value == "start")
    assert target.host.tobytes() == linear_output(tiled_input(1)).tobytes()
    assert source.host[:68].tobytes() == linear_output(tiled_input(2)).tobytes()
    assert source.host[68:].tobytes() == tiled_input(1)[68:].tobytes()


@pytest.mark.parametrize("devices", [1, 2])
def test_two_nodes_read_one_intermediate(devices: int) -> None:
    """Two EV74 nodes that read what a third has written give right bytes, and nothing takes its place before both."""
    env = make_device().env
    runtime = Runtime([make_device(env=env) for _ in range(devices)])
    nodes = [
        Node("pack", packs(), "ev74", "x", "t"),
        Node("widen", widens(), "ev74", "t", "wide"),
        Node("unpack", unpacks(), "ev74", "t", "narrow"),
        Node("again", packs(), "ev74", "narrow", "u"),
        Node("last", unpacks(), "ev74", "u", "y"),
    ]
    source = runtime.allocate(words().nbytes, name="x")
    source.host[:] = words().view(np.uint8)
    ends = {"wide": runtime.allocate(words().nbytes * 2), "y": runtime.allocate(words().nbytes)}
    registered = register(Graph("fork", nodes), runtime)
    for _ in range(2):
        results = registered.execute({"x": source}, ends)
        assert {result.outcome for result in results.values() if result} == {"ok"}
        assert ends["y"].host.tobytes() == words().tobytes()
        assert ends["wide"].host.tobytes() == (words().astype(np.uint32) << 16).tobytes()
        for end in ends.values():
            end.host[:] = 0
