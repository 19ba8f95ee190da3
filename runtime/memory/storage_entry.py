"""Argument checks for storage: of the right type, open, and of this runtime; every public call makes them first.

Storage is here, queues and jobs are in `job_entry`.

Nothing has happened when something is refused. Storage is refused as BindingError, anything else as SubmitError, a
handle that is closed as LifetimeError. The code is "type" for the wrong type and "foreign" for what belongs to another
runtime, which the text names beside this one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tessbed.kernels.errors import BindingError
from tessbed.runtime.identity import Identity
from tessbed.runtime.memory.buffers import Buffer, View


def view(identity: Identity, where: str, port: object) -> View:
    """A view or a whole buffer of this runtime. Raises BindingError, LifetimeError."""
    if not isinstance(port, View | Buffer):
        raise BindingError("type", where, f"got {kind_of(port)}, wanted a View or Buffer of {identity}")
    buffer = port.buffer if isinstance(port, View) else port
    if not isinstance(buffer, Buffer):
        raise BindingError("type", where, f"got a view of {kind_of(buffer)}, wanted one of a Buffer of {identity}")
    if buffer.allocation.owner is not identity:
        text = f"buffer {buffer.name!r} {identity.refusal(buffer.allocation.owner)}; export it there and adopt it here"
        raise BindingError("foreign", where, text)
    limit = buffer.live("submission").nbytes
    if isinstance(port, Buffer):
        return View(port, 0, limit)
    buffer.view(port.offset, port.length)
    return port


def views(identity: Identity, where: str, ports: object) -> tuple[View, ...]:
    """Several of them. Raises BindingError, LifetimeError."""
    return tuple(view(identity, f"{where}[{i}]", port) for i, port in enumerate(sequence(where, ports)))


def sequence(where: str, ports: object) -> Sequence[Any]:
    """A list or tuple of views. Raises BindingError for anything else, a lone view too."""
    if not isinstance(ports, Sequence) or isinstance(ports, str | bytes):
        raise BindingError("type", where, f"got {kind_of(ports)}, wanted a list or tuple of views")
    return ports


def named_views(identity: Identity, where: str, ports: object, wanted: Sequence[str]) -> dict[str, View]:
    """One view for each tensor in `wanted`, by name. Raises BindingError, LifetimeError."""
    if not isinstance(ports, Mapping):
        raise BindingError("type", where, f"got {kind_of(ports)}, wanted a mapping from tensors to views")
    if set(ports) != set(wanted):
        got = sorted(map(str, ports))
        raise BindingError("tensors", where, f"got {got}, wanted {sorted(wanted)}")
    return {name: view(identity, f"{where}[{name!r}]", ports[name]) for name in wanted}


def kind_of(given: object) -> str:
    """The type of what was got, for messages."""
    return "None" if given is None else type(given).__name__
