"""A sum with a scalar output, as a body: one worker gathers chunk after chunk and keeps the sum in its scratch.

`partials` is the part of it that many workers can do: the sum of each chunk, every one in granules of its own.
"""

import numpy as np

import tessbed

CHUNK = 4096


@tessbed.kernel(inputs={"values": "int32[n]"}, outputs={"total": "int64[1]"}, level="body", api=1)
def reduce(w, values, total, *, n=50_000):
    if w.worker > 0:
        return  # a sum has one owner: no two workers can add to it
    room, kept = w.areas(4 * CHUNK, 64)
    sum_so_far = kept.array(1, np.int64)
    yield from w.compute(clear, [], [sum_so_far], ticks=1)
    for first in range(0, n, CHUNK):
        chunk = values[first : min(first + CHUNK, n)]
        here = room.view(chunk)
        yield from w.gather(chunk, here)
        yield from w.compute(add, [here, sum_so_far], [sum_so_far], ticks=w.cost(nbytes=chunk.nbytes))
    yield from w.drain(0, total[:], sum_so_far)
    yield from w.wait_drains()


def clear(sum_so_far):
    sum_so_far[...] = 0


def add(chunk, before, after):
    after[...] = before + chunk.sum(dtype=np.int64)


@reduce.reference
def expected(values, *, n):
    return values.sum(dtype=np.int64)


@tessbed.kernel(
    inputs={"values": "int32[n]"},
    outputs={"sums": "int64[(n + 4095) // 4096, 8]"},  # 64 bytes for each: a granule of its own
    scratch=(256, 1),  # a chunk of 16,384 bytes for the 64 bytes of its sum
    api=1,
)
def partials(w, values, sums, *, n=50_000):
    for box in w.own(sums, most=8):
        chunk, column = box[0].start, box[1].start
        part = values[chunk * CHUNK : min((chunk + 1) * CHUNK, n)]
        fill = one_sum if column == 0 else nothing  # where granules are smaller, two workers may share a row
        yield w.band(part, sums[box], fill, ticks=w.cost(nbytes=part.nbytes))


def one_sum(chunk, sums):
    sums[...] = 0
    sums[0, 0] = chunk.sum(dtype=np.int64)


def nothing(chunk, sums):
    sums[...] = 0


@partials.reference
def expected_partials(values, *, n):
    sums = np.zeros(((n + 4095) // 4096, 8), np.int64)
    for chunk in range(len(sums)):
        sums[chunk, 0] = values[chunk * CHUNK : (chunk + 1) * CHUNK].sum(dtype=np.int64)
    return sums
