"""Runs a geometry on one engine of the A65, between guard bytes, and judges it by the literal oracle."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from random import Random

import numpy as np

from tessbed.kernels import OPERATIONS
from tessbed.kernels.a65 import native_rows, row_engine
from tessbed.kernels.a65.executor import Executor, executor_of
from tests.geometries import name_of
from tests.oracle import PREFILL, Geometry, expected_output, input_bytes, packs
from tests.requests import request_of

GUARD = 0x5A
GUARD_BYTES = 64


def engines() -> tuple[str, ...]:
    """numpy, the native rows for each kind of vectors that this machine can run, and for the last with streaming.

    Streaming stores are for large outputs; here every output gets them, since the literal oracle is for small ones.
    """
    if native_rows.missing:
        return ("numpy",)
    rows = import_module("tessbed.kernels.a65._rows")
    return ("numpy", *(f"native {vectors}" for vectors in rows.VECTORS), f"native {rows.VECTORS[-1]} streaming")


@contextmanager
def using(name: str, stream_bytes: int | None = None) -> Iterator[None]:
    """Makes `prepare` choose this engine; native rows then stream outputs of so many bytes, if it is given."""
    kind, vectors, streaming, *_ = (*name.split(), "", "")
    threshold = [0] if streaming else [] if stream_bytes is None else [stream_bytes]
    before, selected = os.environ.get(row_engine.VARIABLE), native_rows.vectors()
    os.environ[row_engine.VARIABLE] = kind
    try:
        if vectors:
            import_module("tessbed.kernels.a65._rows").select(vectors, *threshold)
        yield
    finally:
        if vectors:
            import_module("tessbed.kernels.a65._rows").select(selected)
        if before is None:
            del os.environ[row_engine.VARIABLE]
        else:
            os.environ[row_engine.VARIABLE] = before


def backend_of(op: str) -> Executor:
    """The A65 executor of an operation."""
    return executor_of(OPERATIONS[op])


def guarded(count: int, phase: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Storage with guard bytes on both ends, and `count` bytes of it at a multiple of 16, plus `phase`."""
    storage = np.full(count + 2 * GUARD_BYTES + 32, GUARD, np.uint8)
    first = GUARD_BYTES + -(storage.ctypes.data + GUARD_BYTES) % 16 + phase
    return storage, storage[first : first + count]


def outcome(geometry: Geometry, source: bytes, phase: int = 0, prefill: int = PREFILL) -> bytes:
    """What one call writes over the output's span; fails where it writes, or changes the input, outside of it.

    `phase` moves the linear side off a multiple of 16 by that many bytes.
    """
    backend = backend_of(geometry.op)
    prepared = backend.check_inference(request_of(geometry))
    packing = packs(geometry)
    around_source, view = guarded(len(source), phase if packing else 0)
    around_target, target = guarded(prepared.plan.output.required_bytes, 0 if packing else phase)
    view[:], target[:] = np.frombuffer(source, np.uint8), prefill
    before, view.flags.writeable = around_source.copy(), False
    backend.execute(prepared, [view], [target])
    assert np.array_equal(around_source, before), "the input changed"
    result = target.tobytes()
    target[:] = GUARD
    assert (around_target == GUARD).all(), "bytes outside the output changed"
    return result


@cache
def noise(count: int) -> bytes:
    """Seeded random bytes: paddings that are read as data show."""
    return Random(count).randbytes(count)


def assert_right(geometry: Geometry, source: bytes | None = None, phase: int = 0) -> None:
    """Every engine writes what the oracle says."""
    source = noise(input_bytes(geometry)) if source is None else source
    expected = expected_output(geometry, source)
    for name in engines():
        with using(name):
            got = outcome(geometry, source, phase)
        assert got == expected, f"{name}: {name_of(geometry)} differs at byte {first_difference(got, expected)}"


def first_difference(got: bytes, expected: bytes) -> int:
    """Where two byte strings part."""
    return next(
        (at for at, pair in enumerate(zip(got, expected, strict=False)) if pair[0] != pair[1]),
        min(len(got), len(expected)),
    )
