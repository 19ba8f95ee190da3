"""Kernel plan: a kernel with all its arguments and the shapes of all its ports: what a packet says of a job."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import attrs

from tessbed.kernels.custom.arguments import settle_arguments
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.ports import PortSpec
from tessbed.kernels.custom.scalar_types import SCALARS, ScalarType
from tessbed.kernels.custom.source_tree import kernel_hash
from tessbed.kernels.errors import ContractError

LIMIT_BYTES = 2**63 - 1
DEFAULT_FORM = ("uint8", (65536,))
"""What a port is that neither its kernel nor any buffer describes; where one buffer is known, it is like that one."""


@attrs.frozen
class PortLayout:
    """A port of a job: dense row-major storage of `shape` scalars, at a multiple of `alignment_bytes`."""

    name: str
    written: bool
    scalar: str
    shape: tuple[int, ...]
    alignment_bytes: int

    @property
    def type(self) -> ScalarType:
        """The scalar type."""
        return SCALARS[self.scalar]

    @property
    def required_bytes(self) -> int:
        """Bytes of the storage."""
        return prod(self.shape) * self.type.width


@attrs.frozen
class KernelPlan:
    """What a job of a kernel of one's own asks for: the kernel by name and hash, its arguments, its ports in order."""

    kernel: Kernel = attrs.field(eq=False, repr=False)
    name: str
    digest: str
    arguments: tuple[tuple[str, int | float], ...]
    ports: tuple[PortLayout, ...]

    @property
    def inputs(self) -> tuple[PortLayout, ...]:
        """The ports that it reads."""
        return tuple(port for port in self.ports if not port.written)

    @property
    def outputs(self) -> tuple[PortLayout, ...]:
        """The ports that it writes."""
        return tuple(port for port in self.ports if port.written)

    @property
    def level(self) -> str:
        """The kernel's level."""
        return self.kernel.level


Form = tuple[str | None, tuple[int, ...] | None]
"""A scalar type by name and a shape; None where nothing is known."""


def plan_kernel(
    kernel: Kernel, arguments: Mapping[str, Any] | None = None, forms: Mapping[str, Form] | None = None
) -> KernelPlan:
    """The plan of a job, with what is known of its buffers by port. Raises ContractError.

    An argument that is not given and that is an extent of its own gets its value from the first buffer that has it.
    """
    forms = forms or {}
    for name in forms:
        if all(name != port.name for port in kernel.ports):
            names = ", ".join(port.name for port in kernel.ports)
            raise ContractError("port_unknown", f"buffer {name}", f"{kernel.where} has no such port, it has {names}")
    given = {**_inferred(kernel, forms), **(arguments or {})}
    settled = settle_arguments(kernel.arguments, given, kernel.name)
    values = dict(settled)
    _check_scratch(kernel, values)
    known = next((form for form in forms.values() if form[1] is not None), DEFAULT_FORM)
    ports = tuple(_layout(port, values, forms.get(port.name, (None, None)), known) for port in kernel.ports)
    return KernelPlan(kernel, kernel.name, kernel_hash(kernel), settled, ports)


def _check_scratch(kernel: Kernel, values: Mapping[str, Any]) -> None:
    """Raise ContractError for a scratch that can not be divided so."""
    where = f"{kernel.where}: scratch"
    gathered, packed = (size.value(values, where) for size in kernel.scratch)
    if gathered < 0 or packed < 1:
        text = f"got ({gathered}, {packed}), wanted at least 0 bytes gathered and 1 packed for each byte of output"
        raise ContractError("scratch", where, text)


def _inferred(kernel: Kernel, forms: Mapping[str, Form]) -> dict[str, int]:
    """Arguments that are extents, from the shapes of buffers."""
    found: dict[str, int] = {}
    for port in kernel.ports:
        shape = forms.get(port.name, (None, None))[1]
        if shape is not None and port.extents is not None and len(shape) == len(port.extents):
            for extent, expression in zip(shape, port.extents, strict=True):
                if expression.name is not None:
                    found.setdefault(expression.name, extent)
    return found


def _layout(port: PortSpec, values: Mapping[str, Any], form: Form, like: Form) -> PortLayout:
    given, shape = form
    scalar = port.scalar.name if port.scalar else given or like[0] or DEFAULT_FORM[0]
    if given is not None and SCALARS[given].dtype != SCALARS[scalar].dtype:
        raise ContractError("dtype", port.where, f"got {given}, wanted {scalar}: the kernel declares {port.text}")
    if port.extents is not None:
        wanted = tuple(extent.value(values, port.where) for extent in port.extents)
        if shape is not None and shape != wanted:
            declared = f"the kernel declares {port.text}{_said(port, values)}"
            text = f"got the shape {list(shape)}, wanted {list(wanted)}: {declared}"
            raise ContractError("shape", port.where, text)
        shape = wanted
    shape = shape or like[1] or DEFAULT_FORM[1]
    _check_shape(port, shape, scalar, values)
    return PortLayout(port.name, port.written, scalar, shape, port.align or SCALARS[scalar].width)


def _check_shape(port: PortSpec, shape: Sequence[int], scalar: str, values: Mapping[str, Any]) -> None:
    if not 1 <= len(shape) <= 6:
        raise ContractError("shape", port.where, f"got the shape {list(shape)}, wanted rank 1 to 6")
    if any(extent < 1 for extent in shape):
        text = f"got the shape {list(shape)}, wanted extents of at least 1{_said(port, values)}"
        raise ContractError("shape", port.where, text)
    if prod(shape) * SCALARS[scalar].width > LIMIT_BYTES:
        raise ContractError("shape", port.where, f"got the shape {list(shape)}, wanted less than 2**63 bytes")


def _said(port: PortSpec, values: Mapping[str, Any]) -> str:
    """The arguments that the extents come from, in words."""
    names = sorted({name for extent in port.extents or () for name in extent.names})
    return f" with {', '.join(f'{name}={values[name]}' for name in names)}" if names else ""
