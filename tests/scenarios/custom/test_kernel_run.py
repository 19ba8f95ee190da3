"""Kernels of one's own on a simulated EV74: bytes against numpy, ticks against the exact engine."""

import numpy as np
import pytest

import tessbed
from tessbed.firmware_models.custom.outline import kernel_outline
from tessbed.firmware_models.planning.launch_program import exact_program
from tessbed.kernels.custom.codec import decode_call
from tessbed.scenarios.custom.kernel_run import run_kernel
from tessbed.sim.exact.engine import simulate
from tessbed.sim.spec.device_spec import DeviceSpec


def same(source, target):
    target[...] = source


@tessbed.kernel(inputs={"src": "int16[rows, columns]"}, outputs={"dst": "int16[columns, rows]"})
def turn(w, src, dst, *, rows=8, columns=5):
    for box in w.own(dst):
        yield w.band(src.T[box], dst[box], same)


@tessbed.kernel(outputs=["low", "high"], scratch=(1, 2))
def clip(w, src, low, high, *, limit=100.0):
    def parts(source, under, over):
        under[...] = np.minimum(source, np.float32(limit))
        over[...] = np.maximum(source, np.float32(limit))

    for box in w.own(low):
        yield w.band(src[box], [low[box], high[box]], parts)


@pytest.mark.parametrize("shape", [(1, 1), (8, 5), (300, 211), (1, 70000), (70000, 1)], ids=str)
@pytest.mark.parametrize("workers", [1, 4])
def test_a_transpose_is_one(shape, workers):
    """A transpose of any shape equals numpy's, with the argument sizes taken from the array."""
    source = np.random.default_rng(1).integers(-999, 999, shape).astype(np.int16)
    ran = run_kernel(turn, {"src": source}, workers=workers)
    assert np.array_equal(ran.outputs["dst"], source.T)
    assert ran.plan.arguments == (("rows", shape[0]), ("columns", shape[1]))


def test_two_outputs_and_a_real_argument():
    """A band drains two outputs; a float argument reaches the kernel; prefilled arrays are filled in place."""
    source = np.linspace(-200, 200, 30000, dtype=np.float32)
    low = np.full_like(source, 7)
    ran = run_kernel(clip, {"src": source}, {"low": low}, arguments={"limit": 12.5})
    assert np.array_equal(low, np.minimum(source, np.float32(12.5)))
    assert np.array_equal(ran.outputs["high"], np.maximum(source, np.float32(12.5)))
    assert not ran.judged


@pytest.mark.parametrize("columns", [5, 64, 1000])
def test_both_engines_count_the_same(columns):
    """The exact engine counts the ticks, the traffic and the statistics of the event engine."""
    source = np.zeros((77, columns), np.int16)
    ran = run_kernel(turn, {"src": source})
    spec = DeviceSpec()
    outline = kernel_outline(turn, decode_call(ran.result.packet), spec, 4)
    stats = ran.result.stats
    assert stats is not None
    assert simulate(spec, exact_program(outline, spec)).device_ticks == ran.result.device_ticks
    assert (outline.reads, outline.writes, dict(outline.counts)) == (stats.reads, stats.writes, stats.counts)


def filling(value: int):
    """A kernel of a closure."""

    @tessbed.kernel(outputs=["dst"])
    def fill(w, src, dst):
        def store(source, target):
            target[...] = value

        for box in w.own(dst):
            yield w.band(src[box], dst[box], store)

    return fill


def test_kernels_of_one_source_are_kept_apart():
    """Bands that were planned for one closure are not those of another."""
    source = np.zeros(1000, np.uint8)
    for value in (3, 4, 3):
        made = run_kernel(filling(value), {"src": source}).outputs["dst"]
        assert np.array_equal(made, np.full_like(source, value))


@tessbed.kernel(outputs=["dst"])
def seeing(w, src, dst):
    for box in w.own(dst):
        seen = {"granule": w.granule_bytes, "room": w.gather_bytes, "slot": w.slot_bytes, "slots": w.slots}
        yield w.band(src[box], dst[box], same, counts=seen)


def test_a_worker_sees_what_plans_a_launch():
    """The granule and the areas of the scratch that a kernel sees are those of the device."""
    spec = DeviceSpec(workers=1, cores=1, write_granule_bytes=128, slots=3)
    source = np.zeros(10, np.uint8)
    stats = run_kernel(seeing, {"src": source}, spec=spec).result.stats
    assert stats is not None
    assert (stats.counts["granule"], stats.counts["slots"]) == (128, 3)
    assert stats.counts["room"] + 3 * stats.counts["slot"] <= spec.usable_scratch_bytes
    assert min(stats.counts["room"], stats.counts["slot"]) > spec.usable_scratch_bytes // 5
