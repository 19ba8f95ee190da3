"""A DMA descriptor: rows of bytes between memory and scratch, each field as narrow as the hardware's."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count, repeat
from typing import NamedTuple

from tessbed.sim.errors import HazardError
from tessbed.sim.spec.device_spec import DeviceSpec


class Descriptor(NamedTuple):
    """Row r moves `row_bytes` between memory `address + r * pitch` and scratch `scratch + r * scratch_pitch`.

    Bytes all, rows apart. The hardware fields are as narrow as `dma.field_bits`.
    """

    address: int
    scratch: int
    rows: int
    row_bytes: int
    pitch: int
    scratch_pitch: int


_descriptor = partial(tuple.__new__, Descriptor)  # half the time of Descriptor(...), which is a function in Python


def shifted_list(descriptors: Iterable[Descriptor], by: int) -> list[Descriptor]:
    """The same descriptors `by` bytes further on in memory."""
    return [
        _descriptor((address + by, scratch, rows, row_bytes, pitch, scratch_pitch))
        for address, scratch, rows, row_bytes, pitch, scratch_pitch in descriptors
    ]


def shifted_list_again(descriptors: Iterable[Descriptor], by: int, step: int) -> Iterator[list[Descriptor]]:
    """The same descriptors `by` bytes further on in memory, then `step` bytes further, and so on without an end."""
    runs = [map(_descriptor, zip(count(d[0] + by, step), *map(repeat, d[1:]), strict=False)) for d in descriptors]
    together: Iterator[tuple[Descriptor, ...]] = zip(*runs, strict=False) if runs else repeat(())
    return map(list, together)


def check_fields(spec: DeviceSpec, descriptor: Descriptor) -> None:
    """Raise HazardError unless every hardware field holds its value as it is."""
    limit = spec.dma.field_limit
    fields = {"rows": descriptor.rows, "row_bytes": descriptor.row_bytes}
    for name, value in fields.items():
        if not 1 <= value <= limit:
            raise HazardError(f"{descriptor}: {name} = {value} does not fit 1 to {limit}")
    pitches = {"pitch": descriptor.pitch, "scratch_pitch": descriptor.scratch_pitch} if descriptor.rows > 1 else {}
    for name, value in pitches.items():
        if not 0 <= value <= limit:
            raise HazardError(f"{descriptor}: {name} = {value} does not fit 0 to {limit}")
