"""The backends under contract: each runs one request on a source and returns the output's required span.

A backend is one function and one line of `BACKENDS`; every test of this folder then runs on it.
"""

from collections.abc import Callable

import numpy as np

from tessbed.kernels import Plan
from tessbed.kernels.a65.executor import executor_of
from tessbed.kernels.ops import OPERATIONS, AnyRequest, OperationRequests, requests_of
from tessbed.scenarios import backends
from tessbed.sim.spec.device_spec import DeviceSpec

Run = Callable[[AnyRequest, bytes, int], bytes]

GUARD_BYTES = 64
GUARD = 0x5A


def plan_of(request: AnyRequest) -> Plan:
    """The admitted plan."""
    return _requests(request).check_inference(request)


def _requests(request: AnyRequest) -> OperationRequests:
    (found,) = (known for known in map(requests_of, OPERATIONS.values()) if type(request) is known.Request)
    return found


def run_a65(request: AnyRequest, source: bytes, prefill: int) -> bytes:
    """Exact-capacity views between guard bytes, the source read-only: a stray access of either side shows."""
    backend, plan = executor_of(_requests(request).operation), plan_of(request)
    assert len(source) == plan.input.required_bytes
    input_buffer, taken = guarded(len(source)), guarded(plan.output.required_bytes)
    input_buffer[1][:], taken[1][:] = np.frombuffer(source, np.uint8), prefill
    input_buffer[1].flags.writeable = False
    backend.execute(backend.prepare(plan), [input_buffer[1]], [taken[1]])
    assert_guards_intact(input_buffer[0])
    assert_guards_intact(taken[0])
    assert input_buffer[1].tobytes() == source
    return taken[1].tobytes()


def guarded(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Storage with guard bytes on both ends, and the 16-byte-aligned view of `count` bytes between them."""
    storage = np.full(count + 2 * GUARD_BYTES + 16, GUARD, np.uint8)
    start = GUARD_BYTES + -(storage.ctypes.data + GUARD_BYTES) % 16
    storage = storage[start - GUARD_BYTES : start + count + GUARD_BYTES]
    return storage, storage[GUARD_BYTES : GUARD_BYTES + count]


def assert_guards_intact(storage: np.ndarray) -> None:
    """Nothing was written on either side of the view."""
    assert (storage[:GUARD_BYTES] == GUARD).all()
    assert (storage[-GUARD_BYTES:] == GUARD).all()


def run_ev74(request: AnyRequest, source: bytes, prefill: int) -> bytes:
    """A fresh default device: packet, runtime, firmware, DMA."""
    return on_ev74(plan_of(request), source, prefill, DeviceSpec()).output.tobytes()


def on_ev74(plan: Plan, source: bytes, prefill: int, spec: DeviceSpec, seed: int = 0) -> backends.BackendRun:
    """The same on a device of that spec, with the ticks."""
    with (
        backends.ev74(spec, seed=seed) as runtime,
        backends.input_buffer(runtime, plan) as input_buffer,
        backends.output_buffer(runtime, plan, prefill) as taken,
    ):
        input_buffer.host[:] = np.frombuffer(source, np.uint8)
        job = backends.submit(runtime, plan, input_buffer, taken)
        runtime.wait(job)
        return backends.run_result(job, taken.host.copy())


BACKENDS: dict[str, Run] = {
    "a65": run_a65,
    "ev74": run_ev74,
}
