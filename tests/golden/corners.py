"""Corners that small random tensors do not reach: what outgrows 16-bit DMA fields, scratch, or one vector.

Only geometries; the bytes come from the literal oracle.
"""

from tests.oracle import Geometry

WC = (-1, -1, 0, 1)
HWC = (-1, 0, 1, 2)

CORNERS = {
    "one scalar": Geometry("tess", (1,), "bf16", (-1, -1, -1, 0), (1, 1, 1, 1)),
    "input pitch of 65,535 bytes": Geometry("tess", (5, 9), "int8", WC, (1, 1, 3, 4), strides_bytes=(65535, 1)),
    "input pitch of 65,536 bytes": Geometry("tess", (5, 9), "int8", WC, (1, 1, 3, 4), strides_bytes=(65536, 1)),
    "input pitch of 70,000 bytes, BF16": Geometry(
        "tess", (2, 9, 17), "bf16", HWC, (1, 2, 5, 17), True, strides_bytes=(140000, 34, 2)
    ),
    "output pitch of 65,534 bytes": Geometry("detess", (5, 9), "bf16", WC, (1, 1, 3, 4), strides_bytes=(65534, 2)),
    "output pitch of 65,536 bytes": Geometry("detess", (5, 9), "bf16", WC, (1, 1, 3, 4), strides_bytes=(65536, 2)),
    "output pitch of 70,000 bytes, FP32, channel blocks": Geometry(
        "detesscast", (3, 4, 20), "bf16", cblocked=(2, 3, 20), strides_bytes=(70000, 80, 4), to="fp32"
    ),
    "pitches beyond 16 bits on two axes": Geometry(
        "detess", (2, 3, 5), "int8", HWC, (1, 1, 2, 5), strides_bytes=(400000, 90000, 2)
    ),
    "channel stride beyond 16 bits": Geometry(
        "detesscast", (4, 3), "bf16", WC, (1, 1, 2, 2), strides_bytes=(4, 80004), to="fp32"
    ),
    "a row of 70,000 bytes": Geometry("tess", (1, 70000), "int8", WC, (1, 1, 1, 70000)),
    "70,000 rows of one byte": Geometry("detess", (70000, 1), "int8", WC, (1, 1, 70000, 1)),
    "7,000 tiles of one byte along channels": Geometry("tess", (7000,), "int8", (-1, -1, -1, 0), (1, 1, 1, 1)),
    "a tile larger than scratch": Geometry("tess", (300, 300, 3), "bf16", HWC, (1, 300, 300, 3)),
    "a channel run larger than scratch": Geometry("detess", (1, 150000), "bf16", WC, (1, 1, 1, 150000)),
    "two-channel INT8 into Pad16": Geometry("tess", (5, 37, 2), "int8", HWC, (1, 2, 19, 2), True, fill=-3),
    "two-channel INT8 into Pad16, pitched": Geometry(
        "tess", (5, 37, 2), "int8", HWC, (1, 2, 19, 2), True, strides_bytes=(77, 2, 1), fill=9
    ),
    "three-channel image": Geometry("tess", (33, 65, 3), "bf16", HWC, (1, 8, 16, 3)),
    "full planes": Geometry("tess", (7, 9, 32), "bf16", HWC, (1, 4, 4, 16), True),
    "partial planes": Geometry("tess", (7, 9, 33), "bf16", HWC, (1, 4, 4, 20), True),
    "planar output": Geometry("detess", (48, 11, 13), "bf16", (-1, 1, 2, 0), (1, 4, 5, 16)),
    "planar output, widened from channel blocks": Geometry(
        "detesscast", (11, 13, 48), "bf16", cblocked=(4, 5, 32), strides_bytes=(52, 4, 572), to="fp32"
    ),
    "channel concatenation: another tensor's channels in the gaps": Geometry(
        "detess", (9, 10, 16), "int8", HWC, (1, 3, 4, 16), strides_bytes=(480, 48, 1)
    ),
    "six axes, two of them outer": Geometry("detess", (2, 2, 3, 4, 5, 18), "bf16", (2, 3, 4, 5), (2, 3, 2, 16), True),
}
