"""Kernels as users write them, each with one bug; a line that the check must name ends in a comment."""

from typing import Any

import numpy as np

import tessbed

CHUNK = 2048
ROWS: Any = {"inputs": {"src": "uint8[n]"}, "outputs": {"dst": "uint8[n]"}, "level": "body"}
BANDS: Any = {**ROWS, "level": "bands"}


def same(source, target):
    target[...] = source


def judged(kernel):
    """With a copy as its reference."""
    kernel.reference(lambda src, n: src)
    return kernel


def chunks(w, dst):
    """The parts of the output that a worker owns, of a chunk at the most."""
    return enumerate(w.own(dst, CHUNK))


@judged
@tessbed.kernel(**ROWS)
def right(w, src, dst, *, n=40_000):
    for number, box in chunks(w, dst):
        here, slot = w.input.view(src[box]), number % w.slots
        there = w.slot(slot).view(dst[box])
        yield from w.gather(src[box], here)
        yield from w.wait_slot(slot)
        yield from w.compute(same, [here], [there], ticks=100)
        yield from w.drain(slot, dst[box], there)
    yield from w.wait_drains()


@judged
@tessbed.kernel(**ROWS)
def one_needless_wait(w, src, dst, *, n=40_000):
    for number, box in chunks(w, dst):
        here, slot = w.input.view(src[box]), number % w.slots
        there = w.slot(slot).view(dst[box])
        yield from w.gather(src[box], here)
        yield from w.wait_slot(slot)
        yield from w.compute(same, [here], [there], ticks=100)
        yield from w.drain(slot, dst[box], there)
        yield from w.wait_drains()  # needless
    yield from w.wait_drains()


@judged
@tessbed.kernel(**ROWS)
def never_exercised(w, src, dst, *, n=40_000):
    yield from w.wait_slot(0)  # never exercised
    for number, box in chunks(w, dst):
        here, slot = w.input.view(src[box]), number % w.slots
        yield from w.gather(src[box], here)
        yield from w.pack(slot, same, [here], dst[box], ticks=100)
    yield from w.wait_drains()


@judged
@tessbed.kernel(**ROWS)
def no_wait_for_gather(w, src, dst, *, n=40_000):
    for _, box in chunks(w, dst):
        here, there = w.input.view(src[box]), w.slot(0).view(dst[box])
        yield from w.prefetch(src[box], here)  # gather: asked for
        yield from w.compute(same, [here], [there], ticks=100)  # gather: used
        yield from w.drain(0, dst[box], there)
        yield from w.wait_drains()


@judged
@tessbed.kernel(**ROWS)
def no_wait_for_slot(w, src, dst, *, n=40_000):
    for _, box in enumerate(w.own(dst, CHUNK)):
        here, there = w.input.view(src[box]), w.slot(0).view(dst[box])
        yield from w.gather(src[box], here)
        yield from w.compute(same, [here], [there], ticks=10)  # slot: packed
        yield from w.drain(0, dst[box], there)  # slot: drained
    yield from w.wait_drains()


@judged
@tessbed.kernel(**ROWS)
def no_wait_for_drain(w, src, dst, *, n=40_000):
    for number, box in chunks(w, dst):
        here, slot = w.input.view(src[box]), number % w.slots
        there = w.slot(slot).view(dst[box])
        yield from w.gather(src[box], here)
        yield from w.wait_drains()
        yield from w.compute(same, [here], [there], ticks=100)
        yield from w.drain(slot, dst[box], there)  # drain: never waited for


@judged
@tessbed.kernel(**ROWS)
def two_in_a_granule(w, src, dst, *, n=40_000):
    part = -(-n // w.workers)
    first, last = w.worker * part, min((w.worker + 1) * part, n)
    for number, start in enumerate(range(first, last, CHUNK)):
        box = slice(start, min(start + CHUNK, last))
        yield from w.gather(src[box], w.input.view(src[box]))
        yield from w.wait_drains()
        yield from w.pack(number % w.slots, same, [w.input.view(src[box])], dst[box])  # granule
    yield from w.wait_drains()


@judged
@tessbed.kernel(**ROWS)
def packed_twice(w, src, dst, *, n=40_000):
    for _, box in chunks(w, dst):
        here, there = w.input.view(src[box]), w.slot(0).view(dst[box])
        yield from w.gather(src[box], here)
        yield from w.wait_drains()
        yield from w.compute(same, [here], [there], ticks=10)  # twice: first
        yield from w.compute(same, [here], [there], ticks=10)  # twice: second
        yield from w.drain(0, dst[box], there)
    yield from w.wait_drains()


@judged
@tessbed.kernel(inputs={"src": "uint8[n]"}, outputs={"dst": "uint8[n]"}, level="bands")
def wrong_stride(w, src, dst, *, n=40_000):
    for box in w.own(dst, CHUNK):
        start, stop = box[0].start, box[0].stop
        yield w.band(src[max(0, start - 1) : stop - min(1, start)], dst[box], same)  # stride


@judged
@tessbed.kernel(**ROWS)
def wrong_tail(w, src, dst, *, n=40_000):
    for number, box in chunks(w, dst):
        start, stop = box[0].start, box[0].stop
        whole = slice(start, stop - (stop - start) % 2 if stop == n else stop)
        if whole.start < whole.stop:
            yield from w.gather(src[whole], w.input)
            yield from w.wait_drains()
            yield from w.pack(number % w.slots, same, [w.input.view(src[whole])], dst[whole])  # tail
    yield from w.wait_drains()


@judged
@tessbed.kernel(**ROWS)
def scratch_overrun(w, src, dst, *, n=40_000):
    for number, box in chunks(w, dst):
        here = w.input.view(src[box], offset=w.input.nbytes - 1024)  # overrun
        yield from w.gather(src[box], here)
        yield from w.wait_drains()
        yield from w.pack(number % w.slots, same, [here], dst[box])
    yield from w.wait_drains()


@judged
@tessbed.kernel(**ROWS)
def oversized_group(w, src, dst, *, n=40_000):
    for _, box in chunks(w, dst):
        start, stop = box[0].start, box[0].stop
        size = -(-(stop - start) // 32)
        parts = [(src.address + at, at - start, 1, min(size, stop - at), 0, 0) for at in range(start, stop, size)]
        yield from w.gather(parts)  # group
        yield from w.wait_drains()
        yield from w.drain(0, dst[box], w.input.view(src[box]))
    yield from w.wait_drains()


@tessbed.kernel(inputs={"src": "uint8[5, 70_000]"}, outputs={"dst": "uint8[5, 64]"}, level="body")
def oversized_rows(w, src, dst):
    if w.worker == 0:
        rows = [(src.address + 70_000 * row, 64 * row, 1, 64, 0, 0) for row in range(5)]
        yield from w.gather(rows)  # five rows
        yield from w.drain(0, dst[:], w.input.view(dst[:]))
        yield from w.wait_drains()


@judged
@tessbed.kernel(**BANDS)
def late_bound(w, src, dst, *, n=40_000):
    for number, box in enumerate(w.own(dst, CHUNK)):

        def shifted(source, target):
            target[...] = source + 0 * number  # noqa: B023

        yield w.band(src[box], dst[box], shifted)  # late


@judged
@tessbed.kernel(**ROWS)
def forgotten(w, src, dst, *, n=40_000):
    for number, box in chunks(w, dst):
        here, slot = w.input.view(src[box]), number % w.slots
        there = w.slot(slot).view(dst[box])
        yield from w.gather(src[box], here)
        w.wait_slot(slot)  # forgotten
        yield from w.compute(same, [here], [there], ticks=100)
        yield from w.drain(slot, dst[box], there)
    yield from w.wait_drains()


TURN = {"next": 0}


@judged
@tessbed.kernel(**BANDS)
def shared_state(w, src, dst, *, n=40_000):
    for box in w.own(dst, CHUNK):
        TURN["next"] += 1
        yield w.band(src[box], dst[box], same, ticks=100 + TURN["next"] % 7)  # shared


@judged
@tessbed.kernel(**ROWS)
def raises(w, src, dst, *, n=40_000):
    for _, box in chunks(w, dst):
        yield from w.gather(src[box], w.input)
        np.zeros(3)[w.worker + 3]  # raises


@judged
@tessbed.kernel(**ROWS)
def without_end(w, src, dst, *, n=40_000):
    while True:
        yield from w.wait_slot(0)  # without end


SEEN = []


@tessbed.kernel(**ROWS)
def left_over(w, src, dst, *, n=40_000):
    SEEN.append(w.worker)
    yield from w.compute(same, [w.input.array(4)], [w.slot(0).array(4)], ticks=100 + len(SEEN))


@judged
@tessbed.kernel(inputs={"src": tessbed.Port("uint8[n]", 64)}, outputs={"dst": tessbed.Port("uint8[n]", 64)})
def aligned(w, src, dst, *, n=40_000):
    for box in w.own(dst, CHUNK):
        yield w.band(src[box], dst[box], same)


@tessbed.kernel(**BANDS)
def unjudged(w, src, dst, *, n=40_000):
    for box in w.own(dst, CHUNK):
        yield w.band(src[box], dst[box], same)


def line_of(mark):
    """The line of this file that ends in a comment."""
    with open(__file__, encoding="utf-8") as file:
        (number,) = (number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}"))
    return number
