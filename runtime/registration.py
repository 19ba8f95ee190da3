"""Registration: a graph made ready on a runtime, all or nothing.

What the firmware image must hold is named and compared first; a lack refuses the whole graph with every difference,
and no node ever moves to the other backend. Then each node is prepared and the intermediates get their arena. When
anything fails on the way, everything that was allocated is given back.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import attrs

from tessbed.kernels.a65 import prepared as a65
from tessbed.kernels.errors import BindingError
from tessbed.runtime import capability
from tessbed.runtime.arena import Place, lay_out, total_bytes
from tessbed.runtime.buffers import Buffer, View, as_view
from tessbed.runtime.coherency import Policy
from tessbed.runtime.graph import Graph, Node
from tessbed.runtime.jobs import Job, JobResult
from tessbed.runtime.prepared import Prepared, prepare
from tessbed.runtime.runtime import Runtime
from tessbed.runtime.spans import Footprint, Span, conflict

Ports = Mapping[str, View | Buffer]


@attrs.frozen(eq=False, repr=False)
class Registered:
    """A graph on a runtime. Close it to give the arena back. `results` of `execute` are None for A65 nodes."""

    graph: Graph
    runtime: Runtime
    kernels: Mapping[str, Prepared | a65.Prepared]
    arena: Buffer | None
    places: tuple[Place, ...]

    def execute(self, inputs: Ports, outputs: Ports) -> dict[str, JobResult | None]:
        """Run every node in order; nodes on the device overlap where their bytes allow it.

        Raises BindingError for tensors that are missing or unknown, and what `Runtime.submit` and `wait` raise.
        """
        views = self._views(inputs, outputs)
        jobs: dict[str, Job] = {}
        for node in self.graph.nodes:
            if node.backend == "ev74":
                jobs[node.name] = self._submit(node, views, tuple(jobs.values()))
            else:
                self._run_here(node, views, tuple(jobs.values()))
        results = {name: self.runtime.wait(job) for name, job in jobs.items()}
        return {node.name: results.get(node.name) for node in self.graph.nodes}

    def close(self) -> None:
        """Give the arena back; it lives on while a job of the graph is not final."""
        if self.arena is not None:
            self.arena.close()

    def _views(self, inputs: Ports, outputs: Ports) -> dict[str, View]:
        for where, given, wanted in (
            ("inputs", inputs, self.graph.inputs),
            ("outputs", outputs, self.graph.outputs),
        ):
            if sorted(given) != sorted(wanted):
                raise BindingError("tensors", where, f"got {sorted(given)}, wanted {sorted(wanted)}")
        views = {name: as_view(port) for name, port in (*inputs.items(), *outputs.items())}
        if self.arena is not None:
            views |= {place.tensor: self.arena.view(place.offset, place.nbytes) for place in self.places}
        return views

    def _submit(self, node: Node, views: Mapping[str, View], jobs: Sequence[Job]) -> Job:
        """The node's job, behind the jobs of this graph whose bytes are in its way."""
        kernel = self.kernels[node.name]
        assert isinstance(kernel, Prepared)
        footprint = _footprint(node, views)
        after = [job for job in jobs if not job.final and conflict(footprint, job.footprint)]
        return self.runtime.submit(kernel, [views[node.source]], [views[node.target]], after=after, name=node.name)

    def _run_here(self, node: Node, views: Mapping[str, View], jobs: Sequence[Job]) -> None:
        """The node on the CPU, once the jobs that are in its way have ended well."""
        kernel, footprint = self.kernels[node.name], _footprint(node, views)
        assert isinstance(kernel, a65.Prepared)
        for job in jobs:
            if conflict(footprint, job.footprint):
                self.runtime.wait(job)
        source, target = views[node.source].cpu, views[node.target].cpu
        with ExitStack() as opened:
            for view in _bracketed([views[node.source], views[node.target]]):
                opened.enter_context(view.cpu.access())
            source.invalidate()
            target.invalidate()
            a65.execute(kernel, [source.read()], [target.modify()])
            target.flush()


def register(graph: Graph, runtime: Runtime, *, policy: Policy = Policy.UNCACHED) -> Registered:
    """Make `graph` ready; `policy` is that of its intermediates.

    Raises CapabilityError with every difference between what it needs and what the image holds, NotRepresentable,
    HeapExhausted; then nothing is left behind.
    """
    for device in runtime.devices:
        capability.check(capability.composition(device.firmware), graph.needs)
    places = lay_out(graph, runtime.submitter.granule_bytes)
    size = total_bytes(places)
    with ExitStack() as undo:
        arena = runtime.allocate(size, name=f"arena of {graph.name}", policy=policy) if size else None
        if arena is not None:
            undo.callback(arena.close)
        kernels = {node.name: _prepare(node) for node in graph.nodes}
        undo.pop_all()
    return Registered(graph, runtime, kernels, arena, places)


def _prepare(node: Node) -> Prepared | a65.Prepared:
    return prepare(node.plan) if node.backend == "ev74" else a65.prepare(node.plan, node.plan.op)


def _footprint(node: Node, views: Mapping[str, View]) -> Footprint:
    source, target = views[node.source], views[node.target]
    writes = (Span(target.address, target.address + node.plan.output.required_bytes),)
    return Footprint((Span(source.address, source.address + node.plan.input.required_bytes),), writes, writes)


def _bracketed(views: Sequence[View]) -> list[View]:
    """One view of each buffer whose CPU access needs begin and end."""
    found: dict[int, View] = {}
    for view in views:
        coherency = view.buffer.allocation.coherency
        if coherency is not None and coherency.policy is Policy.CACHED:
            found.setdefault(view.buffer.address, view)
    return list(found.values())
