"""Execution: one run of a registered graph, from the checks before its first node to the end of its last job.

Nodes start in order. A node on the device comes after the graph's own jobs that are in its way, a node on the CPU
waits for them. Whatever ends a run early, no job of it is left in flight: time passes until each is final. Where
nothing can happen any more, a device does not answer; then what waits is cancelled, and the device is reset if the
runtime resets by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

import attrs

from tessbed.kernels.a65 import prepared as a65
from tessbed.kernels.errors import BindingError
from tessbed.runtime.address_ranges import Span
from tessbed.runtime.graph.graph import Graph, Node
from tessbed.runtime.jobs import port_binding
from tessbed.runtime.jobs.job import OK, Job, JobResult
from tessbed.runtime.jobs.prepared import PreparedJob
from tessbed.runtime.jobs.states import ON_DEVICE, State
from tessbed.runtime.memory.buffers import View
from tessbed.runtime.memory.coherency import Policy
from tessbed.runtime.runtime import Runtime
from tessbed.runtime.scheduling.submission import BufferAccess, Touched, blockers, check_alone
from tessbed.sim.errors import HangError


@attrs.define(eq=False, repr=False)
class Execution:
    """One run of `nodes`; `views` has every tensor's storage. `jobs` are those submitted so far, by node."""

    runtime: Runtime
    nodes: Sequence[Node]
    kernels: Mapping[str, PreparedJob | a65.PreparedExecution]
    views: Mapping[str, View]
    jobs: dict[str, Job] = attrs.field(factory=dict, init=False)

    def check(self) -> None:
        """Every node against its storage and against the jobs in flight. Raises BindingError, GranuleConflict."""
        for node in self.nodes:
            ports = [self.views[node.source]], [self.views[node.target]]
            try:
                port_binding.bind_ports(self.runtime.identity, node.plan, *ports, device=node.backend == "ev74")
            except BindingError as error:
                raise BindingError(error.code, f"node {node.name!r}: {error.where}", error.text) from None
            check_alone(node.name, self._touched(node))

    def run(self) -> dict[str, JobResult | None]:
        """The results, by node. Raises what `Runtime.submit` and `wait` raise, and then no job is left in flight."""
        try:
            for node in self.nodes:
                self._start(node)
            results = {name: self.runtime.wait(job) for name, job in self.jobs.items()}
        except BaseException:
            drain(self.runtime, tuple(self.jobs.values()))
            raise
        return {node.name: results.get(node.name) for node in self.nodes}

    def _start(self, node: Node) -> None:
        kernel = self.kernels[node.name]
        if isinstance(kernel, PreparedJob):
            self._await_room()
            self.jobs[node.name] = self._submitted(node, kernel)
        else:
            self._run_here(node, kernel)
        self._check_ended()

    def _await_room(self) -> None:
        """Let time pass while the queue is full. Raises HangError when that is no use."""
        while self.runtime.default_queue.room < 1:
            self.runtime.step()
        self._check_ended()

    def _check_ended(self) -> None:
        """Raise the error of the first job that has failed meanwhile: what comes after it must not run."""
        for job in self.jobs.values():
            if job.over and job.outcome != OK:
                self.runtime.wait(job)

    def _submitted(self, node: Node, kernel: PreparedJob) -> Job:
        """The node's job, behind the jobs of this graph whose bytes are in its way."""
        source, target = self.views[node.source], self.views[node.target]
        return self.runtime.submit(kernel, [source], [target], after=self._in_the_way(node), name=node.name)

    def _run_here(self, node: Node, kernel: a65.PreparedExecution) -> None:
        """The node on the CPU, once the jobs of this graph that are in its way have ended well."""
        for job in self._in_the_way(node):
            self.runtime.settle(job)
        self._check_ended()
        check_alone(node.name, self._touched(node))
        source = self.views[node.source].view(0, node.plan.input.required_bytes)
        target = self.views[node.target].view(0, node.plan.output.required_bytes)
        with ExitStack() as opened:
            for view in _bracketed([source, target]):
                opened.enter_context(view.cpu.access())
            source.cpu.invalidate()
            target.cpu.invalidate()
            a65.execute(kernel, [source.cpu.read()], [target.cpu.modify()])
            target.cpu.flush()

    def _in_the_way(self, node: Node) -> list[Job]:
        """The jobs of this run that the node must not run beside."""
        own = tuple(self.jobs.values())
        return [job for job, _ in blockers(self._touched(node)) if job in own]

    def _touched(self, node: Node) -> Touched:
        """What the node touches, as its backend does."""
        touches = (
            BufferAccess.of(self.views[node.source], node.plan.input.required_bytes, written=False),
            BufferAccess.of(self.views[node.target], node.plan.output.required_bytes, written=True),
        )
        if node.backend == "ev74":
            return [(touch, touch.by_device(self.runtime.submitter.granule_bytes)) for touch in touches]
        return [(touch, touch.by_cpu()) for touch in touches]


def drain(runtime: Runtime, jobs: Sequence[Job]) -> None:
    """Let time pass until no device has any of the jobs; where one does not answer, end what can be ended.

    A lost job is over before its reset is confirmed, so this waits for the final state, save in a quarantine that no
    reset ends by itself.
    """
    try:
        for job in jobs:
            while not (job.final or job.state is State.QUARANTINED):
                runtime.step()
    except HangError:
        _give_up(runtime, jobs)


def check_apart(graph: Graph, inputs: Mapping[str, View], outputs: Mapping[str, View]) -> None:
    """Raise BindingError where an output shares bytes with an input or another output: one would be lost."""
    spans = sorted((span, name) for name, span in _spans(graph, {**inputs, **outputs}))
    for (first, left), (second, right) in _meeting(spans):
        if left in outputs or right in outputs:
            text = f"{left!r} at {first} and {right!r} at {second} share bytes; give each its own"
            raise BindingError("overlap", f"{left!r} and {right!r}", text)


def _spans(graph: Graph, views: Mapping[str, View]) -> Iterator[tuple[str, Span]]:
    for name, view in views.items():
        yield name, Span(view.address, view.address + min(view.length, graph.nbytes(name)))


def _meeting(spans: Sequence[tuple[Span, str]]) -> Iterator[tuple[tuple[Span, str], tuple[Span, str]]]:
    """Pairs of spans, sorted by start, that have a byte in common."""
    for index, left in enumerate(spans):
        for right in spans[index + 1 :]:
            if right[0].start >= left[0].end:
                break
            if left[0].meets(right[0]):
                yield left, right


def _give_up(runtime: Runtime, jobs: Sequence[Job]) -> None:
    """Nothing can happen any more: cancel what waits; reset the devices of the rest where the runtime resets at all."""
    for job in jobs:
        if job.state is State.SUBMITTED:
            runtime.scheduler.cancel(job, "its graph failed")
    held = [link for link in runtime.scheduler.links if any(job in link.jobs for job in jobs)]
    if runtime.auto_reset and held:
        for link in held:
            runtime.recovery.reset(link)
        drain(runtime, [job for job in jobs if job.state in ON_DEVICE])


def _bracketed(views: Sequence[View]) -> list[View]:
    """One view of each buffer whose CPU access needs begin and end."""
    found: dict[int, View] = {}
    for view in views:
        coherency = view.buffer.allocation.coherency
        if coherency is not None and coherency.policy is Policy.CACHED:
            found.setdefault(view.buffer.address, view)
    return list(found.values())
