"""Registration: prepares a graph on a runtime, all or nothing.

What the firmware image must hold is named and compared first; a lack refuses the whole graph with every difference,
and no node ever moves to the other backend. Then each node is prepared and the intermediates get their arena. When
anything fails on the way, everything that was allocated is given back. `execution` runs what is registered.
"""

from collections.abc import Mapping
from contextlib import ExitStack

import attrs

from tessbed.kernels.a65 import prepared as a65
from tessbed.runtime.call_site import caller
from tessbed.runtime.errors import LifetimeError, SubmitError
from tessbed.runtime.graph.arena import ArenaSlot, lay_out, total_bytes
from tessbed.runtime.graph.execution import Execution, check_apart
from tessbed.runtime.graph.graph import Graph, Node
from tessbed.runtime.jobs import capability
from tessbed.runtime.jobs.job import JobResult
from tessbed.runtime.jobs.prepared import PreparedJob, prepare
from tessbed.runtime.memory import storage_entry
from tessbed.runtime.memory.buffers import Buffer, View
from tessbed.runtime.memory.coherency import Policy
from tessbed.runtime.runtime import Runtime

Ports = Mapping[str, View | Buffer]


@attrs.define(eq=False, repr=False)
class RegisteredGraph:
    """A graph on a runtime. Close it to give the arena back. `results` of `execute` are None for A65 nodes."""

    graph: Graph
    runtime: Runtime
    kernels: Mapping[str, PreparedJob | a65.PreparedExecution]
    arena: Buffer | None
    places: tuple[ArenaSlot, ...]
    closed_at: str | None = attrs.field(default=None, init=False)

    def execute(self, inputs: Ports, outputs: Ports) -> dict[str, JobResult | None]:
        """Run every node in order; nodes on the device overlap where their bytes allow it.

        The jobs go into the runtime's default queue; while that has no room, time passes. Every tensor of every node is
        checked before the first one runs: then nothing has happened. When a node fails, those that come after it are
        cancelled, all other jobs of the graph are waited for, and its error is raised. A job that is lost for good with
        `auto_reset=False` stays on its device until `Runtime.reset`.

        Raises BindingError for tensors that are missing, unknown, of another runtime or do not fit, GranuleConflict for
        bytes that other jobs use, SubmitError on a closed runtime, LifetimeError, and what `Runtime.submit` and `wait`
        raise.
        """
        self.runtime.identity.check_open("execute")
        if self.closed_at is not None:
            text = f"graph {self.graph.name!r}: executed at {caller()} after close at {self.closed_at}"
            raise LifetimeError(text)
        execution = Execution(self.runtime, self.graph.nodes, self.kernels, self._views(inputs, outputs))
        execution.check()
        return execution.run()

    def close(self) -> None:
        """Give the arena back; it lives on while a job of the graph is not final.

        Raises LifetimeError when closed twice, with both places.
        """
        if self.closed_at is not None:
            raise LifetimeError(
                f"graph {self.graph.name!r}: closed twice, first at {self.closed_at}, now at {caller()}"
            )
        self.closed_at = caller()
        if self.arena is not None:
            self.arena.close()

    def _views(self, inputs: Ports, outputs: Ports) -> dict[str, View]:
        """The view of every tensor. Raises BindingError, LifetimeError."""
        identity = self.runtime.identity
        input_views = storage_entry.named_views(identity, "inputs", inputs, self.graph.inputs)
        output_views = storage_entry.named_views(identity, "outputs", outputs, self.graph.outputs)
        check_apart(self.graph, input_views, output_views)
        inner = (
            {place.tensor: self.arena.view(place.offset, place.nbytes) for place in self.places} if self.arena else {}
        )
        return input_views | output_views | inner


def register(graph: Graph, runtime: Runtime, *, policy: Policy = Policy.UNCACHED) -> RegisteredGraph:
    """Make `graph` ready; `policy` is that of its intermediates.

    Raises CapabilityError with every difference between what it needs and what the image holds, NotRepresentable,
    HeapExhausted, SubmitError on a closed runtime and for the wrong types; then nothing is left behind.
    """
    _check_types(graph, runtime, policy)
    runtime.identity.check_open("register")
    for device in runtime.devices:
        capability.check_capability(capability.composition(device.firmware), graph.needs)
    places = lay_out(graph, runtime.submitter.granule_bytes)
    size = total_bytes(places)
    with ExitStack() as undo:
        arena = runtime.allocate(size, name=f"arena of {graph.name}", policy=policy) if size else None
        if arena is not None:
            undo.callback(arena.close)
        kernels = {node.name: _prepare(node) for node in graph.nodes}
        undo.pop_all()
    return RegisteredGraph(graph, runtime, kernels, arena, places)


def _check_types(graph: object, runtime: object, policy: object) -> None:
    for input_views, wanted in ((graph, Graph), (runtime, Runtime), (policy, Policy)):
        if not isinstance(input_views, wanted):
            raise SubmitError(
                "type", "register", f"got {storage_entry.kind_of(input_views)}, wanted a {wanted.__name__}"
            )


def _prepare(node: Node) -> PreparedJob | a65.PreparedExecution:
    return prepare(node.plan) if node.backend == "ev74" else a65.prepare(node.plan)
