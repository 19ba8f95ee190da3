"""A transpose of a matrix: each worker makes whole rows of the output, and so gathers columns of the input."""

import tessbed


@tessbed.kernel(inputs={"src": "int16[rows, columns]"}, outputs={"dst": "int16[columns, rows]"}, api=1)
def transpose(w, src, dst, *, rows=256, columns=192):
    for box in w.own(dst):
        yield w.band(src.T[box], dst[box], same, ticks=w.cost(scalars=dst[box].size))


def same(source, target):
    target[...] = source


@transpose.reference
def expected(src, *, rows, columns):
    return src.T
