"""Ports of a kernel as its author declares them: `"float32[rows, columns]"`, or a `Port` with an alignment as well."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import attrs

from tessbed.kernels.custom.expressions import Expression
from tessbed.kernels.custom.scalar_types import ALIASES, SCALARS, ScalarType, port_scalar
from tessbed.kernels.errors import ContractError, shown

MOST_PORTS = 8
"""Inputs of a kernel at most, and as many outputs."""
MOST_RANK = 6
MOST_ALIGNMENT = 4096
FORM = re.compile(r"\s*(\w+)\s*\[(.*)\]\s*", re.DOTALL)
WANTED = 'a scalar type and extents, as in "uint8[rows, columns]"'


@attrs.frozen
class Port:
    """A port: `form` as in "uint8[rows, columns]" (None: as the array that is bound), the alignment of its address.

    Extents are integers, arguments of the kernel and what `+`, `-`, `*`, `//` and `%` make of them. `align` is in
    bytes, a power of two; without it the width of a scalar.

    >>> import tessbed
    >>> tessbed.Port("uint8[rows, 2 * columns]", align=64).align
    64
    """

    form: str | None = None
    align: int | None = None


@attrs.frozen
class PortSpec:
    """A declared port. `scalar` and `extents` are None where the bound array decides."""

    name: str
    written: bool
    scalar: ScalarType | None = None
    extents: tuple[Expression, ...] | None = None
    align: int | None = None

    @property
    def where(self) -> str:
        """The port in messages."""
        return f"port {self.name}"

    @property
    def text(self) -> str:
        """The form as it was declared, "" where there is none."""
        if self.scalar is None or self.extents is None:
            return ""
        return f"{self.scalar.name}[{', '.join(extent.text for extent in self.extents)}]"


def declared_ports(given: Any, written: bool, where: str) -> list[PortSpec]:
    """The ports of `inputs=` or `outputs=`: names, or forms by name. Raises ContractError."""
    if isinstance(given, Mapping):
        ports = [_spec(name, form, written) for name, form in given.items()]
    elif isinstance(given, Iterable) and not isinstance(given, str):
        ports = [_spec(name, None, written) for name in given]
    else:
        text = f"got {shown(given)}, wanted names in a list, or forms by name: {{'src': 'uint8[rows, columns]'}}"
        raise ContractError("ports", where, text)
    if len(ports) > MOST_PORTS:
        raise ContractError("ports", where, f"got {len(ports)} ports, wanted at most {MOST_PORTS}")
    return ports


def _spec(name: Any, given: Any, written: bool) -> PortSpec:
    where = f"port {name}"
    if not isinstance(name, str) or not name.isidentifier():
        raise ContractError("ports", where, f"got {shown(name)}, wanted the name of a positional parameter")
    port = given if isinstance(given, Port) else Port(given)
    if port.align is not None and not _is_alignment(port.align):
        text = f"got align={shown(port.align)}, wanted a power of two from 1 to {MOST_ALIGNMENT}"
        raise ContractError("ports", where, text)
    if port.form is None:
        return PortSpec(name, written, align=port.align)
    scalar, extents = parse_form(port.form, where)
    return PortSpec(name, written, scalar, extents, port.align)


def parse_form(form: Any, where: str) -> tuple[ScalarType, tuple[Expression, ...]]:
    """Scalar type and extents of a form such as "uint8[rows, 64]". Raises ContractError."""
    found = FORM.fullmatch(form) if isinstance(form, str) else None
    if found is None:
        raise ContractError("port_form", where, f"got {shown(form)}, wanted {WANTED}")
    scalar = port_scalar(found[1])
    if scalar is None:
        raise ContractError("dtype", where, unknown_scalar(found[1]))
    extents = [part for part in _parts(found[2]) if part.strip()]
    if not 1 <= len(extents) <= MOST_RANK:
        raise ContractError("port_form", where, f"got {len(extents)} extents in {form!r}, wanted 1 to {MOST_RANK}")
    return scalar, tuple(Expression.of(extent, where) for extent in extents)


def unknown_scalar(name: str) -> str:
    """What to say of a scalar type that there is not."""
    near = get_close_matches(name, [*SCALARS, *ALIASES], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"got the scalar type {name!r}, wanted one of {', '.join(SCALARS)}{hint}"


def _parts(text: str) -> list[str]:
    """What the outer commas separate."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _is_alignment(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MOST_ALIGNMENT and not value & (value - 1)
