"""A race, on purpose: rows of 40 bytes are dealt out to the workers, and the device writes granules of 64."""

import tessbed


@tessbed.kernel(inputs={"src": "uint8[rows, 40]"}, outputs={"dst": "uint8[rows, 40]"}, level="body", api=1)
def race(w, src, dst, *, rows=64):
    for number, row in enumerate(range(w.worker, rows, w.workers)):
        here = w.input.view(src[row])
        yield from w.gather(src[row], here)
        yield from w.pack(number % w.slots, same, [here], dst[row])
    yield from w.wait_drains()


def same(source, target):
    target[...] = source


@race.reference
def expected(src, *, rows):
    return src
