"""Kernels without an end: how many steps a job may take."""

import numpy as np
import pytest

import tessbed
from tessbed.firmware_models.custom import step_limit
from tessbed.firmware_models.custom.kernel_body import user_code
from tessbed.firmware_models.custom.outline import kernel_outline
from tessbed.firmware_models.custom.planning import KernelFailure
from tessbed.firmware_models.custom.step_limit import most_steps
from tessbed.kernels.custom.codec import KernelCall, decode_call
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.encode import encode_kernel
from tessbed.runtime.errors import JobFault
from tessbed.scenarios.custom.kernel_run import plan_for_arrays
from tessbed.sim.spec.device_spec import DeviceSpec


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


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are endless after fewer steps than otherwise."""
    monkeypatch.setattr(step_limit, "FREE_STEPS", 1000)


@pytest.mark.parametrize("kernel", [gathers, bands], ids=lambda kernel: kernel.name)
def test_no_end(kernel: Kernel, few: None) -> None:
    """A kernel that goes on and on ends its job after the steps that its buffers can need, and the device goes on."""
    ev74, source = tessbed.Ev74(workers=1), np.arange(64, dtype=np.uint8)
    with pytest.raises(JobFault, match=r"taken 1,512 steps and has not ended"):
        ev74.run(kernel, source, out=np.empty_like(source))
    tiles, job = ev74.tess(source.astype(np.int8).reshape(4, 4, 4), tile=(4, 4, 4), axes="HWC")
    assert job.verified
    assert tiles.tobytes() == source.tobytes()


@tessbed.kernel(inputs={"src": "uint8[n]"}, outputs={"dst": "uint8[n]"}, api=1)
def counted(w, src, dst, *, n=64, turns=1):
    for _ in range(turns):
        for box in w.own(dst):
            yield w.band(src[box], dst[box], lambda source, target: None, ticks=1)


def call_of(kernel: Kernel, **arguments: int) -> KernelCall:
    """A call of the kernel on buffers of 64 bytes."""
    plan = plan_for_arrays(kernel, {"src": np.zeros(64, np.uint8)}, arguments)
    return decode_call(encode_kernel(plan).bind([0x8000_1000, 0x8000_8000]).raw)


def test_no_end_on_the_exact_engine(few: None) -> None:
    """The exact engine ends it after as many steps, with the same words."""
    with pytest.raises(KernelFailure, match=r"endless_loop: .*taken 1,512 steps and has not ended"):
        kernel_outline(bands, call_of(bands), DeviceSpec(), 1)


def test_both_engines_end_a_kernel_at_the_same_step(few: None) -> None:
    """All workers together: a kernel that takes the last step allowed runs on both engines, and with a band more on
    none. A band takes two steps, and each worker waits once for its last drains."""
    workers, most = 2, user_code(call_of(counted)).most_steps
    spec = DeviceSpec(workers=workers, write_granule_bytes=32)
    turns = (most - workers) // (2 * workers)
    ev74, source = tessbed.Ev74(spec), np.zeros(64, np.uint8)
    for extra, ends in ((0, True), (1, False)):
        wanted = call_of(counted, turns=turns + extra)
        if ends:
            assert kernel_outline(counted, wanted, spec, workers).counts["bands"] == turns * workers
            ev74.run(counted, source, out=np.empty_like(source), turns=turns)
        else:
            with pytest.raises(KernelFailure, match="has not ended"):
                kernel_outline(counted, wanted, spec, workers)
            with pytest.raises(JobFault, match="has not ended"):
                ev74.run(counted, source, out=np.empty_like(source), turns=turns + 1)
