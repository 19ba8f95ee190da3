"""Scenario texts that the tests of this package start from."""

SMALL = """\
name = "small"
[[jobs]]
name = "pack"
op = "tess"
dtype = "int8"
shape = [3, 5, 4]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 2, 16], channels = "pad16" }
int8_channel_padding = -3
input = { pattern = "golden" }
[[jobs]]
name = "unpack"
op = "detesscast"
dtype = "bf16"
shape = [3, 5, 4]
cblocked = { tile = [2, 2, 4] }
linear = { strides_bytes = [100, 20, 4] }
to = "fp32"
input = { pattern = "random" }
"""
COPY = """\
import tessbed

@tessbed.kernel(inputs={"src": "uint8[rows, 64]"}, outputs={"dst": "uint8[rows, 64]"}, api=1)
def copy(w, src, dst, *, rows=32):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same)

def same(source, target):
    target[...] = source
"""
"""A kernel without a reference."""
