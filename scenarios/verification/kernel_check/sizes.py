"""Sizes: what a kernel is checked at, derived from a band of it; bugs of tails and of reused slots hide from others.

One scalar, one band, more bands than there are slots, one scalar more than that, and what the arguments say by default.
Only arguments that are an extent by themselves are varied, and none that was given; ports without a declared form take
another length.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import attrs
import numpy as np

from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.kernel_plan import DEFAULT_FORM, KernelPlan, PortLayout, plan_kernel
from tessbed.kernels.errors import ContractError
from tessbed.scenarios.custom.reference import expected_outputs

FREE = "the length of a port"
MOST_BYTES = 1 << 22
"""A derived size of more bytes is left out; what was asked for is not."""


@attrs.frozen(eq=False)
class CheckSize:
    """One size: its name, the plan, the arrays that go in, and what must come out, None where nothing judges."""

    name: str
    plan: KernelPlan
    inputs: Mapping[str, np.ndarray]
    expected: list[np.ndarray] | None

    @property
    def nbytes(self) -> int:
        """Bytes of all ports."""
        return sum(port.required_bytes for port in self.plan.ports)


@attrs.frozen(eq=False)
class Knobs:
    """The sizes of a kernel that may be varied: arguments by name, outermost first, and FREE."""

    kernel: Kernel
    given: Mapping[str, Any]
    names: tuple[str, ...]

    @classmethod
    def of(cls, kernel: Kernel, given: Mapping[str, Any]) -> "Knobs":
        """Those of a kernel, less what was given."""
        ports = [*kernel.outputs, *kernel.inputs]
        extents = [extent.name for port in ports for extent in port.extents or ()]
        free = [FREE] if any(port.extents is None for port in ports) else []
        named = [name for name in extents if name is not None and name not in given]
        return cls(kernel, given, tuple(dict.fromkeys([*named, *free])))

    def plan(self, values: Mapping[str, int]) -> KernelPlan:
        """The plan with these sizes. Raises ContractError for sizes that can not be."""
        shape = (values[FREE],) if FREE in values else None
        loose = [port for port in self.kernel.ports if port.extents is None] if shape else []
        arguments = {**self.given, **{name: value for name, value in values.items() if name != FREE}}
        return plan_kernel(self.kernel, arguments, {port.name: (None, shape) for port in loose})

    def defaults(self) -> dict[str, int]:
        """Each with the value that it has where nothing is said."""
        known = {argument.name: argument.default for argument in self.kernel.arguments}
        return {name: prod(DEFAULT_FORM[1]) if name == FREE else int(known[name]) for name in self.names}


def check_sizes(kernel: Kernel, given: Mapping[str, Any], band_bytes: int, slots: int) -> list[CheckSize]:
    """The sizes, smallest first; the one that was asked for is named "as asked". Raises ContractError for that one.

    `band_bytes` is what a drain of the kernel's moves.
    """
    knobs = Knobs.of(kernel, given)
    asked = plan_kernel(kernel, given)
    found: dict[Any, tuple[str, KernelPlan]] = {_key(asked): ("as asked", asked)}
    for name, values in _values(knobs, band_bytes, slots):
        try:
            plan = knobs.plan(values)
        except ContractError:
            continue
        if _bytes(plan) <= MOST_BYTES:
            found.setdefault(_key(plan), (name, plan))
    return sorted((size_of(name, plan) for name, plan in found.values()), key=lambda size: size.nbytes)


def size_of(name: str, plan: KernelPlan) -> CheckSize:
    """A plan with its inputs and what its outputs must hold. Raises ContractError for a reference that fails."""
    inputs = {port.name: input_array(port, index) for index, port in enumerate(plan.inputs)}
    return CheckSize(name, plan, inputs, expected_outputs(plan, list(inputs.values())))


def input_array(port: PortLayout, index: int) -> np.ndarray:
    """Scalars that differ from place to place, the same in every run; floats are ordinary numbers."""
    random = np.random.default_rng([index, prod(port.shape)])
    if port.type.real:
        return random.standard_normal(port.shape).astype(port.type.dtype)
    raw = random.integers(0, 256, port.required_bytes, np.uint8)
    return raw.view(port.type.dtype).reshape(port.shape)


def _values(knobs: Knobs, band_bytes: int, slots: int) -> Iterator[tuple[str, dict[str, int]]]:
    """Values of the knobs, with a name for each choice."""
    if not knobs.names:
        return
    base = knobs.defaults()
    yield "one scalar", dict.fromkeys(knobs.names, 1)
    several = None
    for name, bands in (("one band", 1), (f"{slots + 2} bands", slots + 2)):
        several = _scaled(knobs, base, bands * band_bytes)
        if several is not None:
            yield name, several
    if several is not None:
        for knob in knobs.names:
            more = "length" if knob == FREE else knob
            yield f"{more} + 1", {**several, knob: several[knob] + 1}


def _scaled(knobs: Knobs, base: Mapping[str, int], wanted: int) -> dict[str, int] | None:
    """The outermost size changed, then the next, so that the outputs have about so many bytes; None where none does."""
    values = dict(base)
    for knob in knobs.names:
        try:
            each = _output_bytes(knobs.plan({**values, knob: 2})) - _output_bytes(knobs.plan({**values, knob: 1}))
        except ContractError:
            return None
        if each > 0:
            values[knob] = max(1, wanted // each)
            if each <= wanted:
                return values
    return values


def _output_bytes(plan: KernelPlan) -> int:
    return max(port.required_bytes for port in plan.outputs)


def _bytes(plan: KernelPlan) -> int:
    return sum(port.required_bytes for port in plan.ports)


def _key(plan: KernelPlan) -> Any:
    return plan.arguments, tuple(port.shape for port in plan.ports)
