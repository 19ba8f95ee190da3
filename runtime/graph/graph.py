"""Graphs: a few operations over named tensors, checked as a whole before anything is allocated.

A node runs one plan on one backend, from one tensor to another. Tensors that no node writes are the graph's inputs,
those that no node reads are its outputs, the rest are intermediates. What one node writes and the next reads must be
the same bytes in the same order: equal capacity is not enough, so the layouts themselves are compared.
"""

from collections.abc import Iterable

import attrs

from tessbed.kernels.plan import Plan, byte_layout
from tessbed.runtime.jobs.capability import Need

BACKENDS = ("a65", "ev74")


class GraphError(ValueError):
    """A graph that can not be: `where` names the node."""

    def __init__(self, code: str, where: str, text: str) -> None:
        super().__init__(f"{where}: {text} [{code}]")
        self.code = code
        self.where = where
        self.text = text


@attrs.frozen
class Node:
    """One operation: `plan` on `backend`, from the tensor `source` to the tensor `target`."""

    name: str
    plan: Plan
    backend: str
    source: str
    target: str


def _nodes(given: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(given) if isinstance(given, Iterable) else (given,)


@attrs.frozen
class Graph:
    """Nodes in the order in which they run. Raises GraphError for an order or a layout that does not fit."""

    name: str
    nodes: tuple[Node, ...] = attrs.field(converter=_nodes)

    def __attrs_post_init__(self) -> None:
        _check_types(self.name, self.nodes)
        _check_names(self.nodes)
        _check_backends(self.nodes)
        _check_writers(self.nodes)
        for node in self.nodes:
            _check_source(node, self.nodes)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tensors that come from outside, in the order of their first use."""
        written = [node.target for node in self.nodes]
        return tuple(dict.fromkeys(node.source for node in self.nodes if node.source not in written))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The tensors that go outside."""
        read = [node.source for node in self.nodes]
        return tuple(node.target for node in self.nodes if node.target not in read)

    @property
    def intermediates(self) -> tuple[str, ...]:
        """The tensors that stay inside."""
        read = [node.source for node in self.nodes]
        return tuple(node.target for node in self.nodes if node.target in read)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the firmware image must hold for the EV74 nodes."""
        plans = [node.plan for node in self.nodes if node.backend == "ev74" and not node.plan.empty]
        return tuple(dict.fromkeys(map(Need.of, plans)))

    def nbytes(self, tensor: str) -> int:
        """The bytes that a tensor's storage needs."""
        ends = [node.plan.input for node in self.nodes if node.source == tensor]
        ends += [node.plan.output for node in self.nodes if node.target == tensor]
        return max(end.required_bytes for end in ends)


def _check_types(graph: object, nodes: tuple[object, ...]) -> None:
    if not isinstance(graph, str):
        raise GraphError("type", "graph", f"got the name {graph!r}, wanted text")
    for index, node in enumerate(nodes):
        if not isinstance(node, Node):
            raise GraphError("type", f"nodes[{index}]", f"got {type(node).__name__}, wanted a Node")
        if not isinstance(node.plan, Plan):
            got = type(node.plan).__name__
            raise GraphError("type", f"nodes[{index}].plan", f"got {got}, wanted a Plan of check_inference")
        for field, value in (("name", node.name), ("source", node.source), ("target", node.target)):
            if not isinstance(value, str):
                raise GraphError("type", f"nodes[{index}].{field}", f"got {value!r}, wanted text")


def _check_names(nodes: tuple[Node, ...]) -> None:
    """Kernels, jobs and results go by the name of their node."""
    first: dict[str, int] = {}
    for index, node in enumerate(nodes):
        if first.setdefault(node.name, index) != index:
            text = f"nodes[{first[node.name]}] has that name already; give each node its own"
            raise GraphError("two_names", node.name, text)


def _check_backends(nodes: tuple[Node, ...]) -> None:
    for node in nodes:
        if node.backend not in BACKENDS:
            raise GraphError("backend", node.name, f"got backend {node.backend!r}, wanted one of {', '.join(BACKENDS)}")


def _check_writers(nodes: tuple[Node, ...]) -> None:
    """Each tensor is written once, and before it is read."""
    for index, node in enumerate(nodes):
        for other in nodes[:index]:
            if other.target == node.target:
                raise GraphError("two_writers", node.name, f"{node.target!r} is written by {other.name} already")
            if other.source == node.target:
                raise GraphError("order", node.name, f"{node.target!r} is read by {other.name} before; put that later")
        if node.source == node.target:
            raise GraphError("in_place", node.name, f"reads and writes {node.target!r}; there is no in-place operation")


def _check_source(node: Node, nodes: tuple[Node, ...]) -> None:
    """The bytes that a node reads are laid out as they were written."""
    wanted = byte_layout(node.plan, written=False)
    for other in nodes:
        if other.target == node.source and (got := byte_layout(other.plan, written=True)) != wanted:
            text = f"{node.source!r} is written by {other.name} as {_words(got)} and read as {_words(wanted)}"
            raise GraphError("layout", node.name, text)


def _words(layout: tuple[object, ...]) -> str:
    kind, dtype, shape, axes, outer = layout
    detail = f"(stride, extent) {axes}" if kind == "linear" else f"(extent, tile) of C, D, H, W {axes}, outer {outer}"
    return f"{kind} {dtype} {shape} with {detail}"
