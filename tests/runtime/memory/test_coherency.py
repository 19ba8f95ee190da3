"""Coherency: forgotten calls give stale bytes for real, and the checker names the call before it is too late."""

from collections.abc import Callable

import numpy as np
import pytest

from tessbed.runtime import Buffer, Runtime
from tessbed.runtime.memory.coherency import FINDING_KINDS, Access, CoherencyError, Policy
from tests.runtime.bench import LINEAR_BYTES, TILED_BYTES, linear_output, make_device, small_plan, tiled_input

Ports = tuple[Buffer, Buffer]


def cached(runtime: Runtime, policy: Policy) -> Ports:
    """Input and output whose DRAM is dirty; the CPU has old lines of the output in its cache."""
    source = runtime.allocate(TILED_BYTES, name="in", policy=policy)
    return source, runtime.allocate(LINEAR_BYTES, name="out", policy=policy)


def right_by_hand(runtime: Runtime, ports: Ports) -> np.ndarray:
    """Flush before, invalidate after."""
    source, target = ports
    source.cpu.write(tiled_input().tobytes())
    target.cpu.modify()[:] = 1
    source.cpu.flush()
    target.cpu.flush()
    runtime.run(small_plan(), [source], [target])
    target.cpu.invalidate()
    return target.cpu.read()


def right_bracketed(runtime: Runtime, ports: Ports) -> np.ndarray:
    """Begin and end around every access."""
    source, target = ports
    with source.cpu.access(Access.WRITE) as cpu:
        cpu.write(tiled_input().tobytes())
    with target.cpu.access() as cpu:
        cpu.modify()[:] = 1
    runtime.run(small_plan(), [source], [target])
    with target.cpu.access(Access.READ) as cpu:
        return cpu.read().copy()


RIGHT = {
    "uncached, by hand": (Policy.UNCACHED, right_by_hand),
    "uncached, bracketed": (Policy.UNCACHED, right_bracketed),
    "cached, bracketed": (Policy.CACHED, right_bracketed),
    "cached manual, by hand": (Policy.CACHED_MANUAL, right_by_hand),
}


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT.keys())
def test_the_right_calls_give_the_right_bytes(case: tuple[Policy, Callable[[Runtime, Ports], np.ndarray]]) -> None:
    """Under each policy its protocol passes the strict checker, and the output is right."""
    policy, protocol = case
    runtime = Runtime(make_device())
    assert protocol(runtime, cached(runtime, policy)).tobytes() == linear_output(tiled_input()).tobytes()


def skipped_flush(runtime: Runtime, ports: Ports) -> np.ndarray:
    source, target = ports
    source.cpu.write(tiled_input().tobytes())
    runtime.run(small_plan(), [source], [target])
    return target.cpu.read()


def skipped_output_flush(runtime: Runtime, ports: Ports) -> np.ndarray:
    source, target = ports
    source.cpu.write(tiled_input().tobytes())
    source.cpu.flush()
    target.cpu.modify()[:] = 1
    runtime.run(small_plan(), [source], [target])
    target.allocation.coherency.cache.evict(0, LINEAR_BYTES)  # pyright: ignore[reportOptionalMemberAccess]
    target.cpu.invalidate()
    return target.cpu.read()


def skipped_invalidate(runtime: Runtime, ports: Ports) -> np.ndarray:
    source, target = ports
    source.cpu.write(tiled_input().tobytes())
    source.cpu.flush()
    target.cpu.read()
    runtime.run(small_plan(), [source], [target])
    return target.cpu.read()


def dirty_invalidate(runtime: Runtime, ports: Ports) -> np.ndarray:
    source, target = ports
    source.cpu.write(tiled_input().tobytes())
    source.cpu.flush()
    target.cpu.modify()[:] = 1
    runtime.run(small_plan(), [source], [target])
    target.cpu.invalidate()
    return target.cpu.read()


def late_flush(runtime: Runtime, ports: Ports) -> np.ndarray:
    source, target = ports
    source.cpu.write(tiled_input().tobytes())
    source.cpu.flush()
    target.cpu.modify()[:] = 1
    runtime.run(small_plan(), [source], [target])
    target.cpu.flush()
    return target.cpu.read()


def written_in_flight(runtime: Runtime, ports: Ports) -> np.ndarray:
    source, target = ports
    source.cpu.write(tiled_input().tobytes())
    source.cpu.flush()
    job = runtime.submit(small_plan(), [source], [target])
    source.cpu.modify()[:] = 2
    source.cpu.flush()
    runtime.wait(job)
    target.cpu.invalidate()
    return target.cpu.read()


def read_in_flight(runtime: Runtime, ports: Ports) -> np.ndarray:
    source, target = ports
    source.cpu.write(tiled_input().tobytes())
    source.cpu.flush()
    job = runtime.submit(small_plan(), [source], [target])
    early = target.cpu.read()
    runtime.wait(job)
    return early


WRONG = {
    "skipped flush": (skipped_flush, "missing_flush", "in", 0, TILED_BYTES),
    "skipped flush of the output": (skipped_output_flush, "missing_output_flush", "out", 0, LINEAR_BYTES),
    "skipped invalidate": (skipped_invalidate, "missing_invalidate", "out", 0, LINEAR_BYTES),
    "invalidate of a dirty line": (dirty_invalidate, "missing_output_flush", "out", 0, LINEAR_BYTES),
    "late flush": (late_flush, "missing_output_flush", "out", 0, LINEAR_BYTES),
    "input written in flight": (written_in_flight, "access_in_flight", "in", 0, TILED_BYTES),
    "output read in flight": (read_in_flight, "access_in_flight", "out", 0, LINEAR_BYTES),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_call_is_named_and_without_the_checker_the_bytes_are_wrong(case: tuple) -> None:
    """The strict checker names call, buffer and bytes before any effect; with it off the output really is wrong."""
    protocol, kind, name, start, end = case
    runtime = Runtime(make_device())
    with pytest.raises(CoherencyError) as caught:
        protocol(runtime, cached(runtime, Policy.CACHED_MANUAL))
    found = caught.value.finding
    assert (found.kind, found.buffer, found.start, found.end) == (kind, name, start, end)
    assert found.at.startswith("test_coherency.py:")
    loose = Runtime(make_device(), checker="off")
    got = protocol(loose, cached(loose, Policy.CACHED_MANUAL))
    assert got.tobytes() != linear_output(tiled_input()).tobytes()


@pytest.mark.parametrize(
    ("protocol", "kinds"),
    [
        (dirty_invalidate, ["missing_output_flush", "wrong_invalidate"]),
        (late_flush, ["missing_output_flush", "wrong_flush", "missing_invalidate"]),
    ],
    ids=["invalidate", "flush"],
)
def test_the_report_goes_on_to_the_call_that_does_the_damage(protocol: Callable, kinds: list[str]) -> None:
    """A collecting checker lists the forgotten call and then the one that overwrites the output."""
    runtime = Runtime(make_device(), checker="report")
    protocol(runtime, cached(runtime, Policy.CACHED_MANUAL))
    assert [finding.kind for finding in runtime.findings] == kinds


def test_the_verdict_does_not_depend_on_luck() -> None:
    """A skipped flush whose lines were evicted in time gives right bytes, and is named all the same."""
    runtime = Runtime(make_device(), checker="report")
    source, target = cached(runtime, Policy.CACHED_MANUAL)
    source.cpu.write(tiled_input().tobytes())
    source.allocation.coherency.cache.evict(0, TILED_BYTES)  # pyright: ignore[reportOptionalMemberAccess]
    runtime.run(small_plan(), [source], [target])
    target.cpu.invalidate()
    assert target.cpu.read().tobytes() == linear_output(tiled_input()).tobytes()
    assert [finding.kind for finding in runtime.findings] == ["missing_flush"]


def test_two_views_of_one_line_disturb_each_other() -> None:
    """Cleaning one view writes the whole line back: a neighbour that the device has written is lost."""
    runtime = Runtime(make_device(), checker="report")
    source = runtime.allocate(TILED_BYTES, name="in")
    source.host[:] = tiled_input()
    shared = runtime.allocate(256, name="shared", policy=Policy.CACHED_MANUAL)
    neighbour, target = shared.view(68, 60), shared.view(0, 68)
    job = runtime.submit(small_plan(), [source], [target])
    neighbour.cpu.modify()[:] = 3
    runtime.wait(job)
    neighbour.cpu.flush()
    assert shared.allocation.storage[64:68].tobytes() != linear_output(tiled_input())[64:68].tobytes()
    assert [finding.kind for finding in runtime.findings] == ["access_in_flight", "wrong_flush"]


@pytest.mark.parametrize(
    ("access", "use"),
    [(None, "read"), (None, "modify"), (Access.READ, "modify"), (Access.WRITE, "read")],
    ids=["read unannounced", "write unannounced", "write under read", "read under write"],
)
def test_begin_says_what_comes(access: Access | None, use: str) -> None:
    """A bracketed buffer is accessed between begin and end only, in the way that begin has announced."""
    runtime = Runtime(make_device())
    buffer = runtime.allocate(64, name="b", policy=Policy.CACHED)
    if access is not None:
        buffer.cpu.begin(access)
    with pytest.raises(CoherencyError, match="missing_begin"):
        getattr(buffer.cpu, use)()


def test_access_is_ended_before_submission() -> None:
    """Submitting while CPU access is open, and opening it twice, are both named."""
    runtime = Runtime(make_device())
    source, target = cached(runtime, Policy.CACHED)
    source.cpu.begin()
    with pytest.raises(CoherencyError, match="missing_end"):
        source.cpu.begin()
    with pytest.raises(CoherencyError, match="missing_end"):
        runtime.submit(small_plan(), [source], [target])
    assert runtime.scheduler.live == {}
    source.cpu.finish()
    with pytest.raises(CoherencyError, match="missing_begin"):
        source.cpu.finish()


def test_host_is_for_uncached_buffers() -> None:
    """DRAM is not what the CPU sees of a cached buffer."""
    runtime = Runtime(make_device())
    with pytest.raises(CoherencyError, match=r"cache_bypassed.*use `\.cpu`"):
        runtime.allocate(64, policy=Policy.CACHED).host.fill(0)


def test_cached_outputs_keep_to_their_own_lines() -> None:
    """With 16-byte granules two outputs may share a CPU line; where the buffer is cached that is a conflict."""
    for policy, refused in ((Policy.UNCACHED, False), (Policy.CACHED_MANUAL, True)):
        runtime = Runtime(make_device(write_granule_bytes=16))
        source = runtime.allocate(TILED_BYTES)
        target = runtime.allocate(512, policy=policy)
        runtime.submit(small_plan(), [source], [target.view(0, 68)])
        second = target.view(80, 68)
        if refused:
            with pytest.raises(ValueError, match="granule_conflict"):
                runtime.submit(small_plan(), [source], [second])
        else:
            runtime.submit(small_plan(), [source], [second])


def test_every_finding_can_happen() -> None:
    """The tests above cover the whole table of findings."""
    named = {row[1] for row in WRONG.values()} | {"wrong_invalidate", "wrong_flush", "missing_begin", "missing_end"}
    assert named | {"cache_bypassed"} == set(FINDING_KINDS)
