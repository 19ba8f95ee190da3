"""DMA probe: a kernel whose bands gather several regions at once and drain a chain, and compute nothing.

Each band reads `reads` regions of `rows` rows of `row_bytes`, `columns` apart, and writes `chain` strips. A strip is
`strip_bytes` long; `write_bytes` of it are written, `shift` bytes behind its start: with a shift, or with less than
whole write granules, the granules at the ends are partial, and read before they are written.
"""

import tessbed


@tessbed.kernel(
    inputs={"src": "uint8[bands * reads * rows, columns]"},
    outputs={"dst": "uint8[bands * chain, strip_bytes]"},
    scratch=("1 + reads * rows * row_bytes // (chain * write_bytes)", "1"),
    api=1,
)
def dma_probe(
    w,
    src,
    dst,
    *,
    bands=16,
    reads=8,
    rows=4,
    row_bytes=256,
    columns=512,
    chain=1,
    write_bytes=256,
    shift=0,
    strip_bytes=512,
):
    for band in range(w.worker * bands // w.workers, (w.worker + 1) * bands // w.workers):
        first = band * reads * rows
        gathered = [src[first + read * rows : first + (read + 1) * rows, :row_bytes] for read in range(reads)]
        strips = range(band * chain, (band + 1) * chain)
        drained = [dst[strip, shift : shift + write_bytes] for strip in strips]
        yield w.band(gathered, drained, mark, ticks=0)


def mark(*views):
    for view in views:
        if view.flags.writeable:
            view[...] = 0xA5
