"""Read batches: reads that are waited for together have the ticks and the bytes of single ones; by hand."""

import numpy as np
import pytest

from tessbed.sim.errors import HazardError
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor
from tests.sim.dma.test_channel_pool import device, grants
from tests.sim.rig import DATA, OUT, build, read, write

SCRATCH = DeviceSpec().scratch_bytes - DeviceSpec().scratch_reserved_bytes


def gathers(*descriptors):
    """A body that reads a wait group."""

    def body(ctx):
        yield from ctx.gather(descriptors)

    return body


def test_three_reads_on_two_channels() -> None:
    """Two are granted at once and share the port; the third gets the first channel at E. The worker goes on then.

    s 3, m 4, c 4, l 5: P 3 and 7; the third is granted at 7, set up at 10, and has the port at 11.
    """
    group = [read(256 * n, 256 * n, 256) for n in range(3)]
    stats = build(gathers(*group), device({"workers": 1}, {"read_channels": 2}), trace=True).run()
    assert grants(stats) == [(0, 0, 0, 3, 7, 12), (0, 1, 0, 7, 11, 16), (0, 2, 7, 11, 15, 20)]
    assert stats.workers[0].finish_ticks == 20
    assert stats.workers[0].stalls["gather"] == 20


def test_a_batch_counts_as_its_reads() -> None:
    """Bytes, transfers and the most in flight are those of single reads."""
    group = [read(256 * n, 256 * n, 256) for n in range(5)]
    stats = build(gathers(*group), device({"workers": 1}, {"read_channels": 3})).run()
    assert (stats.reads.transfers, stats.reads.payload_bytes) == (5, 5 * 256)
    assert (
        stats.pools[0].peak_in_flight == 5
    )  # a credit is back at C, five ticks behind E, and nothing else limits them


def test_rows_land_at_their_pitches() -> None:
    """Three rows of four bytes, ten apart in memory and six apart in scratch; what is between stays as it was."""
    seen = []

    def body(ctx):
        ctx.scratch[:64] = 0xEE
        yield from ctx.gather([Descriptor(DATA + 5, 2, 3, 4, 10, 6), read(100, 40, 3)])
        seen.append(ctx.scratch[:44].copy())

    rig = build(body, {"workers": 1})
    rig.run()
    wanted = np.full(44, 0xEE, np.uint8)
    for row in range(3):
        wanted[2 + 6 * row : 6 + 6 * row] = rig.data[5 + 10 * row : 9 + 10 * row]
    wanted[40:43] = rig.data[100:103]
    assert seen[0].tolist() == wanted.tolist()


@pytest.mark.parametrize("moved", ["at_issue", "at_completion", "seeded"])
def test_the_last_byte_of_the_scratch_is_the_last(moved: str) -> None:
    """A group may end where the scratch ends; one byte more is the firmware's bug, in a batch as in a single read."""
    changes = {"workers": 1, "data_movement": moved}
    build(gathers(read(0, 0, 64), read(64, SCRATCH - 64, 64)), changes).run()
    for group in ([read(0, 0, 64), read(64, SCRATCH - 63, 64)], [read(64, SCRATCH - 63, 64)]):
        with pytest.raises(HazardError, match="scratch"):
            build(gathers(*group), changes).run()


def test_bytes_are_those_of_the_completion() -> None:
    """A read takes what memory holds at its C: it sees a drain of another worker that ended before, and no later one.

    The drain has s 3, m 1, l 4: asked for at 20, it ends at 28. A read of 64 bytes asked for at 0 ends at 9, one asked
    for at 20 has the port at 24 and ends at 30.
    """
    seen = {}

    def body(ctx):
        yield from ctx.compute(0 if ctx.worker == 1 else 20, lambda: None)
        if ctx.worker == 0:
            ctx.scratch[:64] = 9
            yield from ctx.drain(0, [write(OUT, 0, 64)])
            yield from ctx.wait_drains()
        else:
            yield from ctx.gather([read(OUT, 0, 64), read(0, 64, 64)])
            seen[ctx.worker] = int(ctx.scratch[0])

    changes = device({"workers": 3, "cores": 3, "data_movement": "at_completion"}, None, {"split_port": False})
    stats = build(body, changes, fill=1, trace=True).run()
    assert {row[:2]: row[5] for row in grants(stats)} == {(1, 0): 9, (1, 1): 10, (0, 0): 28, (2, 0): 30, (2, 1): 31}
    assert seen == {1: 1, 2: 9}
