"""The caller's storage, bound to a plan's ports for one call after every check; nothing is allocated or copied here.

A view is a C-contiguous array, any object with a contiguous buffer, or a HostBuffer; None represents the storage of
an empty tensor only. Capacity beyond the plan's required bytes is never touched, so it may belong to somebody else:
only the required spans are compared for overlap. Source: DetessCast document, "Memory and lifecycle".
"""

from collections.abc import Sequence
from typing import NamedTuple

import attrs
import numpy as np

from tessbed.kernels.errors import BindingError
from tessbed.kernels.plan import LIMIT_BYTES, PortPlan

try:
    from tessbed.kernels.a65._rows import span
except ImportError:

    def span(buffer: np.ndarray, /) -> tuple[int, int, bool]:
        """Address, bytes and whether read-only, of a contiguous array."""
        return buffer.__array_interface__["data"][0], buffer.nbytes, not buffer.flags.writeable


ADDRESS_LIMIT = 2**64
BYTE = np.dtype(np.uint8)


@attrs.frozen
class HostBuffer:
    """Raw host storage: the address of its first byte and its capacity in bytes. The caller vouches for it."""

    address: int
    capacity: int

    @property
    def __array_interface__(self) -> dict[str, object]:
        """numpy's protocol for raw memory: `np.asarray(buffer)` is a uint8 view of it, as far as numpy can count."""
        shape = (min(self.capacity, LIMIT_BYTES),)
        return {"data": (self.address, False), "shape": shape, "typestr": "|u1", "version": 3}


class BoundStorage(NamedTuple):
    """One checked view: the address of its first byte, and the object that exports (and keeps) the bytes.

    A named tuple because two are built in every call.
    """

    address: int
    capacity: int
    read_only: bool
    storage: object


View = object
Views = Sequence[View]


def bind_storage(
    ports: tuple[PortPlan, PortPlan], inputs: Views, outputs: Views
) -> tuple[BoundStorage, BoundStorage] | None:
    """The checked input and output, or None where the tensor is empty; raises BindingError before any write."""
    source = _port(ports[0], inputs, "inputs", writes=False)
    target = _port(ports[1], outputs, "outputs", writes=True)
    if source is None or target is None:
        return None
    _check_disjoint(source, ports[0].required_bytes, target, ports[1].required_bytes)
    return source, target


def _port(port: PortPlan, views: Views, side: str, *, writes: bool) -> BoundStorage | None:
    view = _only_view(views, side)
    required = port.required_bytes
    if view is None:
        if required:
            raise BindingError("missing", f"{side}[0]", f"got None, wanted {required} bytes of storage")
        return None
    bound = _bound(view, f"{side}[0]")
    if not required:
        return None
    _check_port(bound, port, f"{side}[0]", writes)
    return bound


def _only_view(views: Views, side: str) -> View:
    plain = type(views) is list or type(views) is tuple
    if not plain and (not isinstance(views, Sequence) or isinstance(views, bytes | bytearray | memoryview | str)):
        raise BindingError("type", side, f"got {type(views).__name__}, wanted a sequence of views; put it in a list")
    if len(views) != 1:
        raise BindingError("arity", side, f"got {len(views)} views, wanted exactly one")
    return views[0]


def _bound(view: View, where: str) -> BoundStorage:
    if isinstance(view, np.ndarray):
        return _of_array(view, where)
    if isinstance(view, HostBuffer):
        return _of_host(view, where)
    return _of_exporter(view, where)


def _of_array(array: np.ndarray, where: str) -> BoundStorage:
    if not array.flags.c_contiguous:
        raise _not_contiguous(where)
    if array.dtype is not BYTE:
        if array.dtype.hasobject:
            raise BindingError("type", where, "got an array of Python objects, wanted plain bytes")
        array = array.reshape(-1).view(np.uint8)
    return BoundStorage(*span(array), array)


def _of_host(host: HostBuffer, where: str) -> BoundStorage:
    for name, value in (("address", host.address), ("capacity", host.capacity)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise BindingError("type", f"{where}.{name}", f"got {type(value).__name__}, wanted an integer")
    if host.address < 0 or host.capacity < 0:
        raise BindingError("address_overflow", where, f"got {host}, wanted an address and a capacity of at least 0")
    return BoundStorage(host.address, host.capacity, False, host)


def _of_exporter(view: View, where: str) -> BoundStorage:
    try:
        exported = memoryview(view)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, BufferError) as error:
        raise BindingError(
            "type", where, f"got {type(view).__name__}, wanted a uint8 array, a buffer or a HostBuffer"
        ) from error
    if not exported.c_contiguous:
        raise _not_contiguous(where)
    array = np.frombuffer(exported, np.uint8)
    return BoundStorage(*span(array), array)


def _not_contiguous(where: str) -> BindingError:
    return BindingError(
        "not_contiguous",
        where,
        "got a view with gaps, wanted C-contiguous storage; pass its base and describe it as Strided",
    )


def _check_port(bound: BoundStorage, port: PortPlan, where: str, writes: bool) -> None:
    if not bound.address:
        raise BindingError("missing", where, f"got a null address, wanted {port.required_bytes} bytes of storage")
    if writes and bound.read_only:
        raise BindingError("read_only", where, "got read-only storage, wanted writable storage")
    if bound.capacity < port.required_bytes:
        raise BindingError(
            "capacity", where, f"got {bound.capacity} bytes, wanted at least {port.required_bytes}, holes included"
        )
    if bound.address % port.alignment_bytes:
        raise BindingError(
            "alignment", where, f"got address {bound.address:#x}, wanted a multiple of {port.alignment_bytes} bytes"
        )
    if bound.address + bound.capacity > ADDRESS_LIMIT:
        raise BindingError(
            "address_overflow",
            where,
            f"got {bound.capacity} bytes at {bound.address:#x}, wanted them to end within the 64-bit address space",
        )


def _check_disjoint(source: BoundStorage, source_bytes: int, target: BoundStorage, target_bytes: int) -> None:
    if source.address < target.address + target_bytes and target.address < source.address + source_bytes:
        raise BindingError(
            "overlap",
            "outputs[0]",
            f"got {target_bytes} bytes at {target.address:#x}, which meet the input's {source_bytes} bytes "
            f"at {source.address:#x}; wanted disjoint spans, there is no in-place execution",
        )
