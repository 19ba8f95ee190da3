"""Interleaved measurements: in every round each contender takes turns, and ratios are medians over all turns.

A turn is short, since what disturbs a machine comes and goes; a contender that is measured beside itself then has 1.00
to a hundredth or two. Times are processor time of this thread: what else runs on the machine takes caches from it, but
no time.
"""

from collections.abc import Callable, Mapping
from statistics import median
from time import thread_time_ns

import attrs
import numpy as np

from tessbed.bench.cases import BenchCase
from tessbed.bench.competitors import NARROWING, Competitor, competitors
from tessbed.kernels import OPERATIONS
from tessbed.kernels.a65.executor import executor_of
from tessbed.kernels.a65.prepared import PreparedExecution

ROUND_NS = 2_000_000
TURNS = 4
"""In a round, where every contender is quick enough."""


@attrs.frozen
class BenchMeasurement:
    """One case. Times are medians in nanoseconds; ratios are medians of each turn's ratio.

    `copy_ratio` is np.copyto's time over the call's, for the same physical traffic (half of the bytes read and
    written); `user_ratio` the strongest rival's time over the call's, `rival` being its name. `check_ns` is admission,
    `prepare_ns` the preparation alone.
    """

    name: str
    op: str
    dtype: str
    family: str
    engine: str
    traffic_bytes: int
    call_ns: float
    copy_ns: float
    user_ns: float
    rival: str
    check_ns: float
    prepare_ns: float
    copy_ratio: float
    user_ratio: float


def measure_case(case: BenchCase, rounds: int) -> BenchMeasurement:
    """Runs the contenders of `case`; ArithmeticError where a rival's bytes differ, which would void the comparison."""
    backend, request = executor_of(OPERATIONS[case.op]), case.request()
    prepared = backend.check_inference(request)
    plan = prepared.plan
    times = time_in_turns(contenders(case), rounds)
    call, copy = times.pop("call"), times.pop("copy")
    best = min(times, key=lambda name: ratio(times[name], call))
    both = median(_time(lambda: backend.check_inference(request), 20) for _ in range(5))
    prepare = median(_time(lambda: backend.prepare(plan), 20) for _ in range(5))
    return BenchMeasurement(
        name=case.name,
        op=case.op,
        dtype=case.dtype,
        family=case.family,
        engine=prepared.engine.name,
        traffic_bytes=plan.input.required_bytes + plan.output.required_bytes,
        call_ns=median(call),
        copy_ns=median(copy),
        user_ns=median(times[best]),
        rival=best,
        check_ns=max(both - prepare, 0),
        prepare_ns=prepare,
        copy_ratio=ratio(copy, call),
        user_ratio=ratio(times[best], call),
    )


def contenders(case: BenchCase) -> dict[str, Callable[[], None]]:
    """The checked call, the plain copy of the same traffic, and every rival; their results were compared."""
    prepared: PreparedExecution = executor_of(OPERATIONS[case.op]).check_inference(case.request())
    plan = prepared.plan
    source, target = _storage(plan.input.required_bytes), _storage(plan.output.required_bytes)
    source[:] = np.arange(source.size, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(24)
    if plan.conversion in NARROWING:  # an image's values, not any words: numpy is slow on subnormal ones
        source.view(np.float32)[:] = source.view(np.uint32) / np.float32(2**31) - np.float32(1)
    linear, tiled = (source, target) if plan.packs else (target, source)
    array = np.ndarray(case.array_shape, case.numpy_dtype(), linear, 0, case.strides())  # pyright: ignore[reportCallIssue, reportArgumentType]
    half = (source.size + target.size) // 2
    copy_from, copy_to = _storage(half), _storage(half)
    copy_from.fill(1)  # pages never written would all be the one zero page, and cost nothing to read
    execute, inputs, outputs = executor_of(OPERATIONS[case.op]).execute, [source], [target]
    found: dict[str, Callable[[], None]] = {
        "call": lambda: execute(prepared, inputs, outputs),
        "copy": lambda: np.copyto(copy_to, copy_from),
    }
    for name, run in competitors(case, plan).items():
        found[name] = _bind(run, array, tiled)
    _compare(found, target, case)
    return found


def _bind(run: Competitor, array: np.ndarray, tiled: np.ndarray) -> Callable[[], None]:
    return lambda: run(array, tiled)


def _compare(found: dict[str, Callable[[], None]], target: np.ndarray, case: BenchCase) -> None:
    target.fill(0)
    found["call"]()
    expected = target.copy()
    for name in found.keys() - {"call", "copy"}:
        target.fill(0)
        found[name]()
        if not np.array_equal(target, expected):
            raise ArithmeticError(f"{case.name}: the pipeline of {name} gives other bytes; nothing was measured")


def _storage(size_bytes: int) -> np.ndarray:
    """Zeroed bytes at a multiple of 64."""
    storage = np.zeros(size_bytes + 64, np.uint8)
    first = -storage.__array_interface__["data"][0] % 64
    return storage[first : first + size_bytes]


def time_in_turns(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Times of each contender. Every one begins the turns, and comes behind each neighbour, as often as the others."""
    turn_ns = {name: max(_time(run, 2), 1) for name, run in runs.items()}
    turns = min(max(int(ROUND_NS / max(turn_ns.values())), 1), TURNS)
    repeats = {name: max(1, int(ROUND_NS / turns / once)) for name, once in turn_ns.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds * turns):
        first = number // 2 % len(runs)
        order = [*runs][first:] + [*runs][:first]
        for name in order if number % 2 else reversed(order):
            times[name].append(_time(runs[name], repeats[name]))
    return times


def _time(run: Callable[[], object], repeats: int) -> float:
    """Nanoseconds of one run, over `repeats` of them, behind one that fills the caches."""
    run()
    start = thread_time_ns()
    for _ in range(repeats):
        run()
    return max(thread_time_ns() - start, 1) / repeats


def ratio(others: list[float], calls: list[float]) -> float:
    """The others' time over the calls', in the median of all turns."""
    return median(other / call for other, call in zip(others, calls, strict=True))
