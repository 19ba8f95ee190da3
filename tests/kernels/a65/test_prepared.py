"""What a call promises beyond its bytes: exact capacities, reuse, sharing, no allocation, no thread, no float state."""

import ctypes
import os
import platform
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from tessbed.kernels import BindingError, ContractError
from tessbed.kernels.a65 import detess, detesscast, row_engine, tess
from tessbed.kernels.a65.prepared import PreparedExecution
from tests.kernels.a65.running import assert_right, backend_of, engines, guarded, noise, outcome, using
from tests.oracle import Geometry, expected_output, input_bytes, linear_strides
from tests.requests import request_of

GEOMETRIES = {
    "tess int8": Geometry("tess", (9, 20, 21), "int8", (-1, 0, 1, 2), (1, 4, 16, 16), True, fill=-1),
    "tess bf16": Geometry("tess", (9, 20, 21), "bf16", (-1, 0, 1, 2), (1, 4, 16, 16)),
    "detess int8": Geometry("detess", (9, 20, 21), "int8", (-1, 0, 1, 2), (1, 4, 16, 16)),
    "detess bf16": Geometry("detess", (9, 20, 21), "bf16", (-1, 0, 1, 2), (1, 4, 16, 16), True),
    "detesscast": Geometry("detesscast", (9, 20, 21), "bf16", (-1, 0, 1, 2), (1, 4, 16, 16), to="fp32"),
    "detesscast blocks": Geometry("detesscast", (9, 20, 21), "bf16", cblocked=(4, 16, 32), to="fp32"),
    "channel-first": Geometry(
        "detesscast", (9, 20, 21), "bf16", (-1, 0, 1, 2), (1, 4, 16, 16), to="fp32", strides_bytes=(80, 4, 720)
    ),
}
by_geometry = pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES.keys())
by_engine = pytest.mark.parametrize("name", engines())


def prepared_for(geometry: Geometry) -> PreparedExecution:
    """The prepared execution of a geometry."""
    return backend_of(geometry.op).check_inference(request_of(geometry))


@by_geometry
@by_engine
def test_exact_capacity(geometry: Geometry, name: str) -> None:
    """Exactly the required bytes are enough; one less on either side is refused and nothing is written."""
    with using(name):
        prepared = prepared_for(geometry)
        backend = backend_of(geometry.op)
        _, source = guarded(prepared.plan.input.required_bytes)
        _, target = guarded(prepared.plan.output.required_bytes)
        target[:] = 0xC3
        for inputs, outputs in (([source[:-1]], [target]), ([source], [target[:-1]])):
            with pytest.raises(BindingError) as caught:
                backend.execute(prepared, inputs, outputs)
            assert caught.value.code == "capacity"
        assert (target == 0xC3).all()
        backend.execute(prepared, [source], [target])


@by_geometry
@by_engine
def test_dirty_reuse(geometry: Geometry, name: str) -> None:
    """A prepared execution and a dirty output buffer serve one input after another."""
    with using(name):
        prepared = prepared_for(geometry)
        _, source = guarded(prepared.plan.input.required_bytes)
        _, target = guarded(prepared.plan.output.required_bytes)
        for dirt in (0x00, 0xC3, 0xFF):
            content = noise(source.size + dirt)[: source.size]
            source[:], target[:] = np.frombuffer(content, np.uint8), dirt
            backend_of(geometry.op).execute(prepared, [source], [target])
            assert target.tobytes() == expected_output(geometry, content, dirt)


@by_geometry
@by_engine
def test_spare_capacity(geometry: Geometry, name: str) -> None:
    """Capacity beyond the span may belong to somebody else, even to the other side, and keeps its bytes."""
    with using(name):
        prepared = prepared_for(geometry)
        required_in, required_out = prepared.plan.input.required_bytes, prepared.plan.output.required_bytes
        start = -(-required_in // 16) * 16
        _, storage = guarded(start + required_out + 48)
        storage[:] = np.frombuffer(noise(storage.size), np.uint8)
        before, content = storage.copy(), storage[:required_in].tobytes()
        backend_of(geometry.op).execute(prepared, [storage], [storage[start:]])
        expected = expected_output(geometry, content, 0xC3)
        written = np.frombuffer(expected_output(geometry, content, 0x3C), np.uint8)
        gaps = np.frombuffer(expected, np.uint8) != written
        target = storage[start : start + required_out]
        assert np.array_equal(target[~gaps], written[~gaps])
        storage[start : start + required_out][~gaps] = before[start : start + required_out][~gaps]
        assert np.array_equal(storage, before)


@by_geometry
@by_engine
def test_shared_by_threads(geometry: Geometry, name: str) -> None:
    """One prepared execution serves eight threads at once, each with an output of its own."""
    with using(name):
        prepared = prepared_for(geometry)
        content = noise(prepared.plan.input.required_bytes)
        _, source = guarded(len(content))
        source[:] = np.frombuffer(content, np.uint8)
        expected = expected_output(geometry, content, 0xC3)

        def work(_: int) -> bool:
            _, target = guarded(len(expected))
            target[:] = 0xC3
            for _ in range(20):
                backend_of(geometry.op).execute(prepared, [source], [target])
            return target.tobytes() == expected

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))


@pytest.mark.parametrize("order", ["dense", "pitched", "channel-first"])
@pytest.mark.parametrize("op", ["tess", "detess", "detesscast"])
@by_engine
def test_allocates_nothing_that_grows(op: str, order: str, name: str) -> None:
    """A call allocates the same few bytes for a tensor of 100 times the size."""
    peaks = []
    with using(name):
        for height in (80, 8000):  # both are too large for the ways of small tensors
            shape, width = (height, 40, 21), 4 if op == "detesscast" else 2
            strides = {
                "dense": None,
                "pitched": (21 * 40 * width + 64, 21 * width, width),
                "channel-first": (40 * width, width, 40 * height * width),
            }[order]
            to = "fp32" if op == "detesscast" else None
            geometry = Geometry(op, shape, "bf16", (-1, 0, 1, 2), (1, 8, 16, 16), True, strides_bytes=strides, to=to)
            peaks.append(peak_of_a_call(prepared_for(geometry), op))
    assert max(peaks) < 64 * 1024
    assert abs(peaks[1] - peaks[0]) < 8192


def peak_of_a_call(prepared: PreparedExecution, op: str) -> int:
    """Bytes that one call holds at most, beyond those that were there before."""
    source = guarded(prepared.plan.input.required_bytes)[1]
    target = guarded(prepared.plan.output.required_bytes)[1]
    execute = backend_of(op).execute
    for _ in range(2):  # scratch grows in the first call, and is seen from its views in the second
        execute(prepared, [source], [target])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        execute(prepared, [source], [target])
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@by_engine
def test_starts_no_thread(name: str) -> None:
    """No thread exists after a large call that did not exist before it."""
    with using(name):
        prepared = prepared_for(Geometry("tess", (256, 256, 16), "bf16", (-1, 0, 1, 2), (1, 16, 16, 16)))
        source = guarded(prepared.plan.input.required_bytes)[1]
        target = guarded(prepared.plan.output.required_bytes)[1]
        before = threads()
        tess.execute(prepared, [source], [target])
        assert threads() == before


def threads() -> tuple[int, int]:
    """Python's threads, and the operating system's where it reports them."""
    tasks = "/proc/self/task"
    return threading.active_count(), len(os.listdir(tasks)) if os.path.exists(tasks) else 0


FLAGS = {"x86_64": (0x01, 0x04, 0x08, 0x10, 0x20), "aarch64": (0x01, 0x02, 0x04, 0x08, 0x10)}
ROUNDINGS = {"x86_64": (0, 0x400, 0x800, 0xC00), "aarch64": (0, 0x400000, 0x800000, 0xC00000)}


@pytest.mark.skipif(platform.system() != "Linux" or platform.machine() not in FLAGS, reason="fenv constants unknown")
@by_geometry
@by_engine
def test_float_environment(geometry: Geometry, name: str) -> None:
    """Rounding mode and all five exception flags are as before, clear or raised, after every BF16 pattern was moved."""
    libm, flags, roundings = ctypes.CDLL("libm.so.6"), FLAGS[platform.machine()], ROUNDINGS[platform.machine()]
    every = sum(flags)
    with using(name):
        prepared = prepared_for(geometry)
        words = np.arange(prepared.plan.input.required_bytes // 2 + 1, dtype=np.uint16) + np.uint16(0x7F80)
        source = guarded(prepared.plan.input.required_bytes)[1]
        source[:] = words.view(np.uint8)[: source.size]
        target = guarded(prepared.plan.output.required_bytes)[1]
        execute, rounding = backend_of(geometry.op).execute, libm.fegetround()
        seen = set()
        try:
            for mode, wanted in product(roundings, (0, *flags, every, *(every - flag for flag in flags))):
                libm.fesetround(mode)
                libm.feclearexcept(every)
                libm.feraiseexcept(wanted)
                raised = libm.fetestexcept(every)
                execute(prepared, [source], [target])
                assert libm.fetestexcept(every) == raised
                assert libm.fegetround() == mode
                seen.add(raised)
        finally:
            libm.feclearexcept(every)
            libm.fesetround(rounding)
        assert {0, every} < seen
        assert all(any(raised & flag for raised in seen - {every}) for flag in flags)


@by_engine
def test_empty(name: str) -> None:
    """An empty tensor needs no storage, takes None or any view, and writes nothing."""
    with using(name):
        prepared = prepared_for(Geometry("detess", (3, 0, 16), "bf16", (-1, 0, 1, 2), (1, 2, 2, 16)))
        kept = np.full(16, 0xC3, np.uint8)
        for views in ([None], (None,), [kept], [bytearray(b"\xc3")]):
            detess.execute(prepared, views, views)
        assert (kept == 0xC3).all()


def test_prepare_takes_its_own_plans() -> None:
    """A plan of another operation, or no plan, is refused."""
    plan = prepared_for(GEOMETRIES["detess bf16"]).plan
    for module, argument, code in ((tess, plan, "plan_op"), (detesscast, plan, "plan_op"), (detess, None, "plan_type")):
        with pytest.raises(ContractError) as caught:
            module.prepare(argument)
        assert caught.value.code == code


@pytest.mark.parametrize(("asked", "wanted"), [("fast", "numpy or native"), ("Native", "numpy or native")])
def test_unknown_engine(asked: str, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """TESSBED_ROWS takes two values; another is refused at preparation."""
    monkeypatch.setenv(row_engine.VARIABLE, asked)
    with pytest.raises(ContractError, match=wanted) as caught:
        row_engine.engine_report()
    assert caught.value.code == "rows_engine"


def test_engine_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report names the engine in use; a missing native one is named with its reason, and refused when asked for."""
    monkeypatch.setenv(row_engine.VARIABLE, "numpy")
    assert row_engine.engine_report().engine == "numpy"
    monkeypatch.delenv(row_engine.VARIABLE)
    assert row_engine.engine_report().engine == engines()[-1].partition(" ")[0]
    monkeypatch.setattr(row_engine.native_rows, "missing", "it was not built")
    assert row_engine.engine_report() == row_engine.EngineReport("numpy", "none", "it was not built")
    monkeypatch.setenv(row_engine.VARIABLE, "native")
    with pytest.raises(ContractError, match="it was not built"):
        row_engine.engine_report()


@by_engine
def test_large_outputs(name: str) -> None:
    """A tensor past the size that native rows stream out is right, in one direction and the other."""
    shape = (256, 256, 32)
    for op in ("tess", "detess"):
        geometry = Geometry(op, shape, "bf16", (-1, 0, 1, 2), (1, 16, 256, 32))
        with using(name):
            prepared = prepared_for(geometry)
        words = np.arange(shape[0] * shape[1] * shape[2], dtype=np.uint32).astype(np.uint16).reshape(shape)
        planes = np.stack([words & 0xFF, words >> 8], axis=2).astype(np.uint8)
        linear, tiled = words.reshape(-1).view(np.uint8), planes.reshape(-1)
        source, expected = (linear, tiled) if op == "tess" else (tiled, linear)
        aligned, target = guarded(source.size)[1], guarded(expected.size)[1]
        aligned[:] = source
        backend_of(op).execute(prepared, [aligned], [target])
        assert np.array_equal(target, expected)


def test_outcome_sees_stray_writes() -> None:
    """The harness is not blind: a geometry judged against another's oracle is wrong."""
    geometry = GEOMETRIES["tess bf16"]
    other = Geometry("tess", (9, 20, 21), "bf16", (-1, 0, 1, 2), (1, 4, 15, 16))
    content = noise(input_bytes(geometry))
    assert outcome(geometry, content) != expected_output(other, content)
    assert linear_strides(geometry) == (840, 42, 2)
    assert_right(other)
