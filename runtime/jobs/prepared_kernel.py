"""A prepared kernel of one's own: its plan with the relocatable packet, and the checked storage of its ports."""

from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

from tessbed.kernels.custom.codec import CustomPacket
from tessbed.kernels.custom.encode import encode_kernel
from tessbed.kernels.custom.kernel_plan import KernelPlan, PortLayout
from tessbed.kernels.errors import BindingError
from tessbed.runtime.address_ranges import Span
from tessbed.runtime.errors import CapabilityError, LifetimeError
from tessbed.runtime.identity import Identity
from tessbed.runtime.jobs.port_binding import Ports, check_mapped, check_writable, fitting_view
from tessbed.runtime.memory import storage_entry
from tessbed.runtime.memory.buffers import View


@attrs.define(eq=False, repr=False)
class PreparedKernel:
    """A kernel plan and its packet template, reusable by any number of jobs. `users` are the jobs that retain it."""

    plan: KernelPlan
    packet: CustomPacket
    users: Counter[str] = attrs.field(factory=Counter, init=False)

    def hold(self, holder: str) -> None:
        """One more job retains it."""
        self.users[holder] += 1

    def drop(self, holder: str) -> None:
        """A job releases it. Raises LifetimeError where it did not hold it."""
        if self.users[holder] < 1:
            raise LifetimeError(f"prepared kernel: {holder} drops a reference that it does not have")
        self.users[holder] -= 1
        if not self.users[holder]:
            del self.users[holder]


def prepare_kernel(plan: KernelPlan) -> PreparedKernel:
    """Encode a plan."""
    return PreparedKernel(plan, encode_kernel(plan))


def check_held(image: object, plan: KernelPlan) -> None:
    """Raise CapabilityError where an image does not hold the kernel, with what it holds."""
    held = getattr(image, "custom", None)
    needed = f"{plan.name} {plan.digest[:12]}"
    if held is None:
        raise CapabilityError(f"kernel {needed}", type(image).__name__, ("an image that holds kernels of users",))
    lack = held.lacking(plan.name, plan.digest)
    if lack:
        offered = ", ".join(f"{name} {digest[:12]}" for name, digest in held.held) or "no kernel of a user"
        raise CapabilityError(f"kernel {needed}", offered, (lack[1],))


def bind_kernel_ports(
    identity: Identity, plan: KernelPlan, inputs: Ports, outputs: Ports, granule: int
) -> tuple[list[View], list[View]]:
    """The checked views of all inputs and of all outputs, in the order of the declaration.

    Raises BindingError, LifetimeError. Outputs of a kernel at level "bands" begin at one phase of the write granule,
    else workers that share no granule of one could share one of another.
    """
    sources = _side(identity, "inputs", inputs, plan.inputs)
    targets = _side(identity, "outputs", outputs, plan.outputs)
    for where, view in targets:
        check_writable(where, view)
    _check_apart(plan, sources, targets)
    if plan.level == "bands":
        _check_phases(targets, granule)
    return [view for _, view in sources], [view for _, view in targets]


def _side(identity: Identity, side: str, given: Ports, wanted: Sequence[PortLayout]) -> list[tuple[str, View]]:
    if len(storage_entry.sequence(side, given)) != len(wanted):
        names = ", ".join(port.name for port in wanted) or "none"
        raise BindingError("arity", side, f"got {len(given)} views, wanted {len(wanted)}: {names}")
    found = []
    for index, (view, port) in enumerate(zip(given, wanted, strict=True)):
        where = f"{side}[{index}] ({port.name})"
        fit = fitting_view(identity, where, view, port.required_bytes, port.alignment_bytes)
        check_mapped(where, fit)
        found.append((where, fit))
    return found


def _check_apart(plan: KernelPlan, sources: Sequence[tuple[str, View]], targets: Sequence[tuple[str, View]]) -> None:
    """Raise BindingError where an output meets another port."""
    placed = [*_spans(sources, plan.inputs), *_spans(targets, plan.outputs)]
    for number, (where, span) in enumerate(placed):
        for other, earlier in placed[:number]:
            if number >= len(sources) and span.meets(earlier):
                text = f"the accessed bytes {earlier} and {span} intersect; there is no in-place kernel"
                raise BindingError("overlap", f"{other} and {where}", text)


def _spans(views: Iterable[tuple[str, View]], ports: Sequence[PortLayout]) -> list[tuple[str, Span]]:
    return [
        (where, Span(view.address, view.address + port.required_bytes))
        for (where, view), port in zip(views, ports, strict=True)
    ]


def _check_phases(targets: Sequence[tuple[str, View]], granule: int) -> None:
    first, view = targets[0]
    for where, other in targets[1:]:
        if other.address % granule != view.address % granule:
            text = (
                f"got the addresses {view.address:#x} and {other.address:#x}, {view.address % granule} and"
                f" {other.address % granule} bytes into a granule of {granule}; wanted one phase for all outputs"
            )
            raise BindingError("phase", f"{first} and {where}", text)
