"""Kernels without an end: how many steps a job may take."""

import numpy as np
import pytest

import tessbed
from tessbed.firmware_models.custom.kernel_body import most_steps
from tessbed.kernels.custom.declaration import Kernel
from tessbed.runtime.errors import JobFault


@tessbed.kernel(inputs={"src": "uint8[n]"}, outputs={"dst": "uint8[n]"}, level="body", api=1)
def gathers(w, src, dst, *, n=64):
    here = w.input.view(src[0:16])
    while n:
        yield from w.gather(src[0:16], here)


@tessbed.kernel(inputs={"src": "uint8[n]"}, outputs={"dst": "uint8[n]"}, api=1)
def bands(w, src, dst, *, n=64):
    while n:
        for box in w.own(dst):
            yield w.band(src[box], dst[box], lambda source, target: None)


@pytest.mark.parametrize(
    ("nbytes", "steps"), [(0, 100_000), (32, 100_128), (225_000, 1_000_000), (1 << 40, 1_000_000)], ids=str
)
def test_most_steps(nbytes: int, steps: int) -> None:
    """Some for each byte, a million at most."""
    assert most_steps(nbytes) == steps


@pytest.mark.parametrize("kernel", [gathers, bands], ids=lambda kernel: kernel.name)
def test_no_end(kernel: Kernel) -> None:
    """A kernel that goes on and on ends its job after the steps that its buffers can need, and the device goes on."""
    ev74, source = tessbed.Ev74(workers=1), np.arange(64, dtype=np.uint8)
    with pytest.raises(JobFault, match=r"taken 100,512 steps and has not ended"):
        ev74.run(kernel, source, out=np.empty_like(source))
    tiles, job = ev74.tess(source.astype(np.int8).reshape(4, 4, 4), tile=(4, 4, 4), axes="HWC")
    assert job.verified
    assert tiles.tobytes() == source.tobytes()
