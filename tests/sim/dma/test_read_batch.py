"""Read batches: reads that are waited for together have the ticks and the bytes of single ones; by hand.

Reads are batched where nothing looks at them one by one, and once a worker has read from a mapping before.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tessbed.sim.dma import engine
from tessbed.sim.errors import HazardError
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor
from tests.sim.dma.test_channel_pool import device
from tests.sim.rig import DATA, OUT, build, read, write

SCRATCH = DeviceSpec().scratch_bytes - DeviceSpec().scratch_reserved_bytes
BATCH_OF = engine.batch_of


@pytest.fixture(params=["batched", "one by one"])
def batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The sizes of the batches that are made; in the other half of the runs none is allowed to be."""
    sizes: list[int] = []

    def batch_of(*arguments: Any) -> Any:
        batch = BATCH_OF(*arguments) if request.param == "batched" else None
        sizes.extend([batch.transfers] if batch else [])
        return batch

    monkeypatch.setattr(engine, "batch_of", batch_of)
    yield sizes
    assert bool(sizes) == (request.param == "batched")


def gathers(*descriptors: Descriptor) -> Callable[[Any], Any]:
    """A body that reads one byte, and then a wait group."""

    def body(ctx: Any) -> Any:
        yield from ctx.gather([read(0, 0, 1)])
        yield from ctx.gather(descriptors)

    return body


# A read of 1 byte costs s 3, m 1, c 1, l 5: C 9. One of 256 bytes costs s 3, m 4, c 4, l 5.
def test_three_reads_on_two_channels(batches: list[int]) -> None:
    """Two are granted at 9 and share the port, P 12 and 16; the third gets the first channel at 16, and the port at 20.

    It ends at 24 and is there at 29, 20 ticks after the group was asked for; then the worker goes on.
    """
    group = [read(256 * n, 256 * n, 256) for n in range(3)]
    stats = build(gathers(*group), device({"workers": 1}, {"read_channels": 2})).run()
    assert (stats.workers[0].finish_ticks, stats.workers[0].stalls["gather"]) == (29, 29)
    assert (stats.reads.transfers, stats.reads.payload_bytes) == (4, 3 * 256 + 1)
    assert batches in ([3], [])


@pytest.mark.parametrize(("allowed", "finish"), [(1, 45), (2, 33), (16, 29)])
def test_credits_bound_a_batch(batches: list[int], allowed: int, finish: int) -> None:
    """With one credit a read is granted at the C before, 12 ticks apart; with two, the third at 21, the first's C."""
    group = [read(256 * n, 256 * n, 256) for n in range(3)]
    stats = build(gathers(*group), device({"workers": 1}, {"read_channels": 2, "outstanding": allowed})).run()
    assert stats.workers[0].finish_ticks == finish
    assert stats.pools[0].peak_in_flight == min(allowed, 3)
    assert batches in ([3], [])


def test_a_drain_between_two_reads_of_a_batch(batches: list[int]) -> None:
    """A drain that is asked for before the second read of the one channel takes the port first, and may delay the read.

    Reads: G 9, P 12, E 16; G 16, set up at 19. The drain of 128 bytes, s 3, m 2, asked for at 14: P 17, E 19: the read
    has the
    port then. One that is asked for at 15 has it from 18 to 20, and the read ends a tick later.
    """
    finished = []
    for tick in (14, 15):

        def body(ctx: Any, tick: int = tick) -> Any:
            if ctx.worker == 0:
                yield from gathers(read(0, 0, 256), read(256, 256, 256))(ctx)
            else:
                yield from ctx.compute(tick, lambda: None)
                yield from ctx.drain(0, [write(OUT, 0, 128)])
                yield from ctx.wait_drains()

        changes = device({"workers": 2, "cores": 2}, {"read_channels": 1}, {"split_port": False})
        finished.append([worker.finish_ticks for worker in build(body, changes).run().workers])
    assert finished == [[28, 23], [29, 24]]
    assert batches in ([2, 2], [])


def test_rows_land_at_their_pitches(batches: list[int]) -> None:
    """Three rows of four bytes, ten apart in memory and six apart in scratch; what is between stays as it was."""
    seen = []

    def body(ctx: Any) -> Any:
        ctx.scratch[:64] = 0xEE
        yield from ctx.gather([read(0, 60, 1)])
        yield from ctx.gather([Descriptor(DATA + 5, 2, 3, 4, 10, 6), read(100, 40, 3)])
        seen.append(ctx.scratch[:44].copy())

    rig = build(body, {"workers": 1})
    rig.run()
    wanted = np.full(44, 0xEE, np.uint8)
    for row in range(3):
        wanted[2 + 6 * row : 6 + 6 * row] = rig.data[5 + 10 * row : 9 + 10 * row]
    wanted[40:43] = rig.data[100:103]
    assert seen[0].tolist() == wanted.tolist()
    assert batches in ([2], [])


def test_the_last_byte_of_the_scratch_is_the_last(batches: list[int]) -> None:
    """A group may end where the scratch ends; one byte more is the firmware's bug, and moves nothing first."""
    build(gathers(read(0, 0, 64), read(64, SCRATCH - 64, 64)), {"workers": 1}).run()
    assert batches in ([2], [])
    with pytest.raises(HazardError, match=f"a transfer of 1 x 64 bytes leaves the scratch at {SCRATCH - 63}"):
        build(gathers(read(0, 0, 64), read(64, SCRATCH - 63, 64)), {"workers": 1}).run()
    assert batches in ([2], [])


def test_bytes_are_those_of_the_completion(batches: list[int]) -> None:
    """A read takes what memory holds at its C: it sees a drain of another worker that ended before, and no later one.

    Worker 1 reads at once, worker 0 drains 20 ticks later, and worker 2 reads then, behind the drain on the port and
    with
    a tick more of latency.
    """
    seen = {}

    def body(ctx: Any) -> Any:
        yield from ctx.gather([read(0, 200, 1)])
        yield from ctx.compute(0 if ctx.worker == 1 else 20, lambda: None)
        if ctx.worker == 0:
            ctx.scratch[:64] = 9
            yield from ctx.drain(0, [write(OUT, 0, 64)])
            yield from ctx.wait_drains()
        else:
            yield from ctx.gather([read(OUT, 0, 64), read(0, 64, 64)])
            seen[ctx.worker] = int(ctx.scratch[0])

    build(body, device({"workers": 3, "cores": 3}, None, {"split_port": False}), fill=1).run()
    assert seen == {1: 1, 2: 9}
    assert batches in ([2, 2], [])
