"""Port binding: does the storage that the caller offers fit the plan? Every check precedes every effect.

Source: Detess document, "Memory and lifecycle"; Tess document, "Contract" (the span includes holes, the caller
supplies the capacity that is really accessible).
"""

from collections.abc import Sequence

from tessbed.kernels.errors import BindingError
from tessbed.kernels.plan import Plan, PortPlan
from tessbed.runtime.address_ranges import Span
from tessbed.runtime.identity import Identity
from tessbed.runtime.memory import storage_entry
from tessbed.runtime.memory.buffers import Buffer, View

Ports = Sequence[View | Buffer | None]


def bind_ports(
    identity: Identity, plan: Plan, inputs: Ports, outputs: Ports, *, device: bool = True
) -> tuple[tuple[View, ...], tuple[View, ...]]:
    """The checked views of both ports, none for an empty plan. Without `device` they are for the CPU.

    Raises BindingError, LifetimeError.
    """
    for where, ports in (("inputs", inputs), ("outputs", outputs)):
        if len(storage_entry.sequence(where, ports)) != 1:
            raise BindingError("arity", where, f"got {len(ports)} views, wanted 1")
    offered = (("inputs[0]", inputs[0]), ("outputs[0]", outputs[0]))
    if plan.empty:
        for where, port in offered:
            if port is not None:
                storage_entry.view(identity, where, port)
        return (), ()
    source, target = (
        fitting_view(identity, where, port, wanted.required_bytes, wanted.alignment_bytes)
        for (where, port), wanted in zip(offered, (plan.input, plan.output), strict=True)
    )
    if device:
        check_mapped("inputs[0]", source)
        check_mapped("outputs[0]", target)
        check_writable("outputs[0]", target)
    check_disjoint(accessed(source, plan.input), accessed(target, plan.output))
    return (source,), (target,)


def accessed(view: View, port: PortPlan) -> Span:
    """The bytes that the device may touch; spare capacity behind them is never touched and may overlap."""
    return Span(view.address, view.address + port.required_bytes)


def check_writable(where: str, view: View) -> None:
    """Raise BindingError where the device may only read."""
    if not view.buffer.allocation.writable:
        text = f"buffer {view.buffer.name!r} is mapped read-only; allocate it writable"
        raise BindingError("read_only", where, text)


def check_mapped(where: str, view: View) -> None:
    """Raise BindingError where the device's window does not reach."""
    if not view.buffer.allocation.mapped:
        text = f"buffer {view.buffer.name!r} at {view.address:#x} is outside the device's window; use a device heap"
        raise BindingError("window", where, text)


def check_disjoint(source: Span, target: Span) -> None:
    """Raise BindingError where the accessed spans of input and output intersect."""
    if source.meets(target):
        text = (
            f"the input's accessed bytes {source} and the output's {target} intersect; there is no in-place operation"
        )
        raise BindingError("overlap", "inputs[0] and outputs[0]", text)


def fitting_view(
    identity: Identity, where: str, port: View | Buffer | None, required_bytes: int, alignment_bytes: int
) -> View:
    """The view of a port that has so many bytes at such an address. Raises BindingError, LifetimeError."""
    if port is None:
        text = f"got None, wanted {required_bytes} bytes; only an empty tensor needs no storage"
        raise BindingError("missing", where, text)
    view = storage_entry.view(identity, where, port)
    if view.length < required_bytes:
        text = f"got {view.length} bytes, wanted {required_bytes}: the whole span, holes and padding included"
        raise BindingError("capacity", where, text)
    if view.address % alignment_bytes:
        text = f"got device address {view.address:#x}, wanted a multiple of {alignment_bytes}"
        raise BindingError("alignment", where, text)
    return view
