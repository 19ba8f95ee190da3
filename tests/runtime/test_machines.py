"""State machines: random lives of memory, caches and jobs, with the invariants held after every step."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from simpy import Environment

from tessbed.firmware_models.image import FirmwareImage
from tessbed.kernels.errors import BindingError
from tessbed.runtime import (
    Buffer,
    GranuleConflict,
    HeapExhausted,
    Job,
    LifetimeError,
    QueueFull,
    Runtime,
    State,
    View,
)
from tessbed.runtime.address_ranges import Span
from tessbed.runtime.clients import Client
from tessbed.runtime.invariants import check_runtime, check_runtime_ended
from tessbed.runtime.memory.allocator import Handle
from tessbed.runtime.memory.coherency import Coherency, CoherencyFinding, Policy
from tessbed.runtime.memory.cpu_cache import LINE_BYTES, Cache
from tessbed.runtime.memory.in_flight import device_footprint
from tessbed.sim.device.device import Device
from tessbed.sim.fault_injection import FAULT_KINDS, Fault
from tessbed.sim.hash_random import draw
from tests.runtime.bench import (
    LINEAR_BYTES,
    TILED_BYTES,
    linear_output,
    make_device,
    small_plan,
    small_spec,
    tiled_input,
)

QUICK = settings(max_examples=40, stateful_step_count=40, deadline=None, derandomize=True)
LONG = settings(max_examples=600, stateful_step_count=80, deadline=None, suppress_health_check=list(HealthCheck))


class MemoryMachine(RuleBasedStateMachine):
    """Two runtimes that allocate, share, export and import; the model is a count of references for each storage."""

    buffers = Bundle("buffers")
    handles = Bundle("handles")

    def __init__(self) -> None:
        super().__init__()
        window = {"memory": {"window_bytes": 1 << 17}}
        self.runtimes = [Runtime(make_device(**window)) for _ in range(2)]
        self.open: list[Buffer] = []
        self.exports: list[Handle] = []

    @rule(target=buffers, which=st.integers(0, 1), size=st.integers(0, 20_000), power=st.integers(0, 14))
    def allocate(self, which: int, size: int, power: int) -> Any:
        """Storage at an aligned address, or an honest refusal."""
        heap = self.runtimes[which].allocator.heaps["device"].report()
        try:
            buffer = self.runtimes[which].allocate(size, alignment=1 << power)
        except HeapExhausted:
            assert heap.largest_hole_bytes < size + max(4096, 1 << power)
            return None
        assert buffer.address % (1 << power) == 0
        self.open.append(buffer)
        return buffer

    @rule(target=buffers, buffer=buffers)
    def share(self, buffer: Buffer | None) -> Any:
        """A second handle on a live storage."""
        if buffer is None or buffer.closed:
            return None
        self.open.append(buffer.share())
        return self.open[-1]

    @rule(target=handles, buffer=buffers)
    def export(self, buffer: Buffer | None) -> Any:
        """An export of a live storage."""
        if buffer is None or buffer.closed:
            return None
        home, other = sorted(self.runtimes, key=lambda runtime: buffer.allocation.owner is not runtime.identity)
        with pytest.raises(BindingError, match="foreign"):
            other.export(buffer)
        self.exports.append(home.export(buffer))
        return self.exports[-1]

    @rule(target=buffers, which=st.integers(0, 1), handle=handles)
    def adopt(self, which: int, handle: Handle | None) -> Any:
        """An import sees the same bytes; nothing more is mapped when there is no room."""
        if handle is None or handle not in self.exports:
            return None
        try:
            view = self.runtimes[which].adopt(handle)
        except HeapExhausted:
            return None
        assert np.shares_memory(view.host, handle.allocation.storage) or view.length == 0
        self.open.append(view.buffer)
        return view.buffer

    @rule(buffer=buffers)
    def close(self, buffer: Buffer | None) -> None:
        """Closing works once; a second time it raises and changes nothing."""
        if buffer is None:
            return
        if buffer.closed:
            with pytest.raises(LifetimeError):
                buffer.close()
        else:
            buffer.close()
            self.open.remove(buffer)

    @rule(handle=consumes(handles))
    def close_export(self, handle: Handle | None) -> None:
        """An export is closed once."""
        if handle is not None and handle in self.exports:
            handle.close()
            self.exports.remove(handle)
            with pytest.raises(LifetimeError, match="closed again"):
                handle.close()
            with pytest.raises(LifetimeError, match="imported"):
                self.runtimes[0].adopt(handle)

    @invariant()
    def what_lives_is_what_is_referenced(self) -> None:
        """Exactly the storages with an open handle, an export or an importer live, and no two share an address."""
        for runtime in self.runtimes:
            assert check_runtime(runtime) == []
            living = runtime.allocator.living
            held = {id(buffer.allocation) for buffer in self.open} | {id(h.allocation) for h in self.exports}
            imported = [allocation for allocation in living if id(allocation) not in held]
            assert all(set(allocation.references) == {"export"} for allocation in imported)
            assert len({id(allocation.storage) for allocation in living}) == len(living)
            ends = [(a.address, a.address + a.storage.size) for a in living]
            assert all(end <= start for (_, end), (start, _) in pairwise(ends))

    def teardown(self) -> None:
        """When all is closed, both heaps are whole again."""
        for buffer in self.open:
            buffer.close()
        for handle in self.exports:
            handle.close()
        for runtime in self.runtimes:
            assert runtime.close() == ()
            report = runtime.allocator.heaps["device"].report()
            assert (report.holes, report.free_bytes) == (1, report.capacity_bytes)


class CoherencyMachine(RuleBasedStateMachine):
    """One cached buffer, a CPU and a device, and a cache that evicts and prefetches when it likes.

    The claim: as long as the checker has found nothing, both sides always see the latest bytes.
    """

    ranges = st.tuples(st.integers(0, 255), st.integers(1, 100)).map(lambda r: (r[0], min(256, r[0] + r[1])))

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[CoherencyFinding] = []
        self.dram = np.zeros(256, np.uint8)
        self.truth = np.zeros(256, np.uint8)
        self.buffer = Coherency("b", Policy.CACHED_MANUAL, Cache(self.dram), self.findings.append)
        self.writing: tuple[int, int] | None = None
        self.value = 0

    @rule(span=ranges)
    def cpu_writes(self, span: tuple[int, int]) -> None:
        """The CPU stores something new."""
        self.value = self.value % 255 + 1
        self.buffer.modify(*span)[:] = self.value
        self.truth[slice(*span)] = self.value

    @rule(span=ranges)
    def cpu_reads(self, span: tuple[int, int]) -> None:
        """The CPU sees the latest bytes, or the checker has spoken."""
        seen = self.buffer.read(*span)
        assert self.findings or seen.tobytes() == self.truth[slice(*span)].tobytes()

    @rule(span=ranges)
    def flush(self, span: tuple[int, int]) -> None:
        """The CPU cleans."""
        self.buffer.flush(*span)

    @rule(span=ranges)
    def invalidate(self, span: tuple[int, int]) -> None:
        """The CPU invalidates, which cleans too."""
        self.buffer.invalidate(*span)

    @precondition(lambda self: self.writing is None)
    @rule(span=ranges)
    def device_reads(self, span: tuple[int, int]) -> None:
        """A whole job that reads: it sees the latest bytes, or the checker has spoken."""
        self._starts(span, written=False)
        assert self.findings or self.dram[slice(*span)].tobytes() == self.truth[slice(*span)].tobytes()
        self._ends()

    @precondition(lambda self: self.writing is None)
    @rule(span=ranges)
    def device_starts_to_write(self, span: tuple[int, int]) -> None:
        """A job takes its output."""
        self._starts(span, written=True)
        self.writing = span

    @precondition(lambda self: self.writing is not None)
    @rule()
    def device_ends(self) -> None:
        """The job has written and gives its output back."""
        assert self.writing is not None
        self.value = self.value % 255 + 1
        self.dram[slice(*self.writing)] = self.truth[slice(*self.writing)] = self.value
        self._ends()
        self.buffer.device_wrote(Span(*self.writing))
        self.writing = None

    def _starts(self, span: tuple[int, int], *, written: bool) -> None:
        """A job of a device with byte strobes is submitted."""
        footprint = device_footprint(Span(*span), written=written, cached=True, granule_bytes=1)
        self.buffer.check_hand_over(Span(*span), footprint.rewrites[0] if written else None)
        self.buffer.in_flight.enter(self, footprint)

    def on_final(self, callback: Callable[[Any], None]) -> None:
        """The machine stands in for its one job."""
        self.ended = callback

    def _ends(self) -> None:
        self.ended(self)

    @rule(line=st.integers(0, 3))
    def evict(self, line: int) -> None:
        """The cache drops a line by itself."""
        self.buffer.cache.evict(line * LINE_BYTES, (line + 1) * LINE_BYTES)

    @rule(line=st.integers(0, 3))
    def prefetch(self, line: int) -> None:
        """The cache fetches a line by itself."""
        self.buffer.cache.prefetch(line * LINE_BYTES, (line + 1) * LINE_BYTES)

    @precondition(lambda self: bool(self.findings) and self.writing is None)
    @rule()
    def start_over(self) -> None:
        """After a finding nothing is promised: begin again from coherent memory."""
        self.findings.clear()
        self.truth = self.dram.copy()
        self.buffer = Coherency("b", Policy.CACHED_MANUAL, Cache(self.dram), self.findings.append)


class JobMachine(RuleBasedStateMachine):
    """Two clients on two failing devices; they submit, cancel, close, die and reset at any moment."""

    jobs = Bundle("jobs")

    @initialize(seed=st.integers(0, 1 << 32), automatic=st.booleans(), depth=st.integers(1, 2))
    def build(self, seed: int, automatic: bool, depth: int) -> None:
        """A world whose faults are drawn from the seed, one job in two."""
        env = Environment()
        kinds = sorted(FAULT_KINDS)

        def faults(device: int) -> Any:
            def plan(number: int) -> tuple[Fault, ...]:
                chance = draw(seed, device, number)
                return (Fault(kinds[(chance >> 8) % len(kinds)], (chance >> 20) % 40_000),) if chance & 1 else ()

            return plan

        self.runtime = Runtime(
            [
                Device(small_spec(), FirmwareImage.full(), env=env, faults=faults(i), reset_ticks=9_000)
                for i in range(2)
            ],
            auto_reset=automatic,
            depth=depth,
        )
        self.lives = 0
        self.clients = [self._client() for _ in range(2)]
        self.all: list[Job] = []
        self.broken: list[str] = []
        self.targets: list[View] = []

    def _client(self) -> Client:
        self.lives += 1
        queue = self.runtime.queue(f"q{self.lives}", capacity=3, timeout_ticks=12_000, grace_ticks=3_000)
        return Client(self.runtime, queue)

    @rule(target=jobs, who=st.integers(0, 1), seed=st.integers(0, 5), early=st.booleans(), reuse=st.booleans())
    def submit(self, who: int, seed: int, early: bool, reuse: bool) -> Any:
        """A job on fresh or used storage; buffers may be closed at once. Its bytes are judged when it is final."""
        client = self.clients[who]
        source = client.allocate(TILED_BYTES)
        source.host[:] = tiled_input(seed)
        open_targets = [view for view in self.targets if not view.buffer.closed]
        target = open_targets[-1] if reuse and open_targets else client.allocate(LINEAR_BYTES).view()
        storage, start = target.buffer.allocation.storage, target.offset
        try:
            job = client.submit(small_plan(), [source], [target])
        except (QueueFull, GranuleConflict):
            return None
        finally:
            source.close()

        def ended(job: Job) -> None:
            self.broken.extend(check_runtime_ended(job))
            got = storage[start : start + LINEAR_BYTES].tobytes()
            if job.outcome == "ok" and got != linear_output(tiled_input(seed)).tobytes():
                self.broken.append(f"{job} was reported done with wrong bytes")

        job.on_final(ended)
        self.all.append(job)
        if early and not reuse:
            target.buffer.close()
        else:
            self.targets.append(target)
        return job

    @rule(steps=st.integers(1, 60))
    def time_passes(self, steps: int) -> None:
        """Some events happen."""
        for _ in range(steps):
            if self.runtime.env.peek() != float("inf"):
                self.runtime.step()

    @rule(job=jobs)
    def cancel(self, job: Job | None) -> None:
        """A job that has not started ends; any other is not touched."""
        if job is not None and job.state is State.SUBMITTED:
            self.runtime.cancel(job)
            assert job.state is State.CANCELLED

    @rule(which=st.integers(0, 1))
    def reset(self, which: int) -> None:
        """Somebody resets a device."""
        self.runtime.reset(which)

    @rule(who=st.integers(0, 1))
    def die(self, who: int) -> None:
        """A client is killed and comes back."""
        self.clients[who].exit()
        self.clients[who] = self._client()

    @invariant()
    def nothing_is_broken(self) -> None:
        """No rule of the audit is broken, and no ended job was wrong."""
        if hasattr(self, "runtime"):
            assert check_runtime(self.runtime) == []
            assert self.broken == []

    def teardown(self) -> None:
        """Closing ends every job in exactly one final state and leaves nothing."""
        if not hasattr(self, "runtime"):
            return
        for client in self.clients:
            client.exit()
        assert self.runtime.close() == ()
        assert all(job.final for job in self.all)
        assert self.broken == []
        assert all(device.memory.mappings == () for device in self.runtime.devices)


MACHINES = (MemoryMachine, CoherencyMachine, JobMachine)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_machine(machine: type[RuleBasedStateMachine]) -> None:
    """Forty random lives of forty steps keep every invariant."""
    run_state_machine_as_test(machine, settings=QUICK)


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_machine_for_long(machine: type[RuleBasedStateMachine]) -> None:
    """Six hundred lives of eighty steps, others in each run, keep them too."""
    run_state_machine_as_test(machine, settings=LONG)
