"""Identity: which runtime an object belongs to, by name, and which runtime uses a device."""

from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import attrs

from tessbed.runtime.errors import SubmitError

_numbers = count(1)
_drivers: WeakKeyDictionary[Any, "Identity"] = WeakKeyDictionary()


@attrs.define(eq=False, repr=False)
class Identity:
    """Whose an object is. Two runtimes are never the same, whatever their names; `closed` runtimes take nothing more.

    `number` counts the runtimes of this process, for those without a name.
    """

    name: str = ""
    number: int = attrs.field(factory=lambda: next(_numbers), init=False)
    closed: bool = attrs.field(default=False, init=False)

    def check_open(self, where: str) -> None:
        """Raise SubmitError where the runtime is closed."""
        if self.closed:
            raise SubmitError("closed", where, f"{self} is closed; make a new one")

    def refusal(self, owner: "Identity | None") -> str:
        """Why what belongs to `owner` is refused here, with both named."""
        if owner is None:
            return f"belongs to no runtime, wanted one of {self}"
        mine, theirs = str(self), str(owner)
        if mine == theirs:
            mine, theirs = f"{mine} (number {self.number})", f"{theirs} (number {owner.number})"
        return f"belongs to {theirs}, wanted one of {mine}"

    def __str__(self) -> str:
        return f"runtime {self.name!r}" if self.name else f"runtime {self.number}"


def text_name(where: str, name: Any) -> str:
    """A name, which is text. Raises SubmitError."""
    if not isinstance(name, str):
        raise SubmitError("type", f"{where}, name", f"got {type(name).__name__}, wanted text")
    return name


def check_free(identity: Identity, index: int, device: Any) -> None:
    """Raise SubmitError where another runtime drives the device, or somebody's memory is mapped on it."""
    driver, mappings = _drivers.get(device), device.memory.mappings
    where = f"devices[{index}]"
    if driver is not None and not driver.closed:
        text = f"{identity} wants a device that {driver} drives; close {driver} first, or use the same one"
        raise SubmitError("device_in_use", where, text)
    if mappings:
        names = ", ".join(repr(mapping.name) for mapping in mappings[:4])
        whose = f"of {driver}, which is closed," if driver is not None else "that no runtime mapped"
        text = (
            f"{identity} wants a device with {len(mappings)} buffers {whose} still mapped ({names}); close them first"
        )
        raise SubmitError("device_in_use", where, text)


def drive(identity: Identity, device: Any) -> None:
    """From now on the device is this runtime's, until it is closed."""
    _drivers[device] = identity
