"""Regions: parts of a port, as slices that never clamp, and the descriptors that move them.

A port is dense row-major storage at a device address. A region keeps the extents and byte strides that its slices give
it, and lies in scratch densely, in the order in which memory holds it.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.band import DrainFootprint
from tessbed.firmware_models.descriptors import build_descriptors
from tessbed.kernels.custom.scalar_types import SCALARS
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.user_code.errors import KernelMisuse


def row_major(shape: Sequence[int], width: int) -> tuple[int, ...]:
    """Byte strides of dense storage, the last axis fastest."""
    strides = [width]
    for extent in shape[:0:-1]:
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))


@attrs.define(eq=False)
class KernelPort:
    """A port as a kernel sees it: `name`, `shape`, `dtype`; `port[box]` is a region of it, `port.flat` has one axis."""

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    written: bool
    address: int = attrs.field(repr=False)
    strides: tuple[int, ...] = attrs.field(repr=False)

    @classmethod
    def dense(
        cls, index: int, name: str, shape: tuple[int, ...], dtype: np.dtype, written: bool, address: int
    ) -> "KernelPort":
        """A port of dense row-major storage."""
        return cls(index, name, shape, dtype, written, address, row_major(shape, dtype.itemsize))

    @property
    def turned(self) -> bool:
        """Whether its axes are in another order than those of its storage."""
        return self.strides != row_major(self.shape, self.dtype.itemsize)

    @property
    def size(self) -> int:
        """Scalars of the port."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the port."""
        return self.size * self.dtype.itemsize

    @property
    def flat(self) -> "KernelPort":
        """The same storage as one axis."""
        return KernelPort.dense(self.index, self.name, (self.size,), self.dtype, self.written, self.address)

    @property
    def T(self) -> "KernelPort":
        """The same storage with its axes in reverse order."""
        turned = self.shape[::-1], self.dtype, self.written, self.address, self.strides[::-1]
        return KernelPort(self.index, self.name, *turned)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, box: Any) -> "Region":
        """The region of a box: an integer or a slice for each axis, as in numpy, but for what lies outside.

        Raises KernelMisuse for a box that leaves the port or is empty: a region never clamps.
        """
        steps = box if type(box) is tuple else (box,)
        if Ellipsis in steps or len(steps) > len(self.shape):
            steps = self._spread(steps)
        offset, extents, strides = 0, [], []
        for axis, (step, extent, stride) in enumerate(zip(steps, self.shape, self.strides, strict=False)):
            if type(step) is slice:
                start, stop, by = step.start or 0, extent if step.stop is None else step.stop, step.step or 1
                if not (0 <= start < stop <= extent and by > 0):
                    raise KernelMisuse(self._outside(axis, step))
                extents.append(-(-(stop - start) // by))
                strides.append(stride * by)
                offset += start * stride
            else:
                start = self._position(step, axis)
                offset += start * stride
        depth = len(steps)
        if depth < len(self.shape):
            extents += self.shape[depth:]
            strides += self.strides[depth:]
        return Region(self, offset, tuple(extents), tuple(strides))

    def _position(self, step: Any, axis: int) -> int:
        try:
            position = step.__index__()
        except AttributeError:
            text = f"got {step!r} for axis {axis} of port {self.name}, wanted an integer or a slice"
            raise KernelMisuse(text) from None
        if not 0 <= position < self.shape[axis]:
            raise KernelMisuse(self._outside(axis, position))
        return position

    def _spread(self, steps: Sequence[Any]) -> tuple[Any, ...]:
        """The box with whole axes in the place of `...`."""
        given = [step for step in steps if step is not Ellipsis]
        if len(given) > len(self.shape) or len(steps) - len(given) > 1:
            text = f"got a box of {len(given)} axes, port {self.name} has {len(self.shape)}: {list(self.shape)}"
            raise KernelMisuse(text)
        at = list(steps).index(Ellipsis)
        return (*steps[:at], *[slice(None)] * (len(self.shape) - len(given)), *steps[at + 1 :])

    def _outside(self, axis: int, step: Any) -> str:
        extent = self.shape[axis]
        if not isinstance(step, slice):
            return f"port {self.name}: got {step} on axis {axis}, which has {extent} scalars: 0 to {extent - 1}"
        start, stop = step.start or 0, extent if step.stop is None else step.stop
        got = f"{start}:{stop}" + (f":{step.step}" if step.step not in (None, 1) else "")
        why = "a region never clamps" if 0 <= start < stop else "a region is not empty and goes forwards"
        return f"port {self.name}: got {got} on axis {axis}, which has {extent} scalars; {why}"


@attrs.frozen(eq=False)
class Region:
    """A part of a port: `offset` bytes behind its start, with an extent and a byte stride for each axis."""

    port: KernelPort
    offset: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, as the views of a computation have them."""
        return self.extents

    @property
    def dtype(self) -> np.dtype:
        """The scalars' type."""
        return self.port.dtype

    @property
    def size(self) -> int:
        """Scalars of the region."""
        return prod(self.extents)

    @property
    def nbytes(self) -> int:
        """Bytes of the region: what it takes in scratch."""
        return prod(self.extents) * self.port.dtype.itemsize

    @property
    def T(self) -> "Region":
        """The region with its axes in reverse order."""
        return Region(self.port, self.offset, self.extents[::-1], self.strides[::-1])

    def placed(self, scratch: int, limit: int) -> "Placed":
        """The descriptors that move the region to or from `scratch`; no field is above `limit`."""
        address = self.port.address + self.offset
        shape = shape_of(self.extents, self.strides, self.port.dtype.itemsize, limit)
        descriptors = [Descriptor(address + at, scratch + low, *rest) for at, low, *rest in shape.descriptors]
        return Placed(self, scratch, shape.scratch_strides, descriptors, shape.oversized)

    def footprint(self) -> DrainFootprint:
        """The bytes of memory that a drain of the region writes."""
        return DrainFootprint.of(self.port.address + self.offset, self.extents, self.strides, self.port.dtype.itemsize)


@attrs.frozen(eq=False)
class Shape:
    """The descriptors of all regions of one shape, from address 0 and scratch 0."""

    descriptors: tuple[Descriptor, ...]
    scratch_strides: tuple[int, ...]
    oversized: bool


@attrs.frozen(eq=False)
class Placed:
    """A region in scratch: its descriptors, and where a view of it begins and how it steps."""

    region: Region
    scratch: int
    strides: tuple[int, ...]
    descriptors: list[Descriptor]
    oversized: bool

    @property
    def span(self) -> tuple[int, int]:
        """The bytes of scratch, the end exclusive."""
        return self.scratch, self.scratch + self.region.nbytes

    def view(self, scratch: np.ndarray) -> np.ndarray:
        """The region's scalars in `scratch`."""
        return np.ndarray(self.region.extents, self.region.port.dtype, scratch, self.scratch, self.strides)


@lru_cache(maxsize=4096)
def shape_of(extents: tuple[int, ...], strides: tuple[int, ...], width: int, limit: int) -> Shape:
    """The descriptors of a shape; regions of a launch have few shapes."""
    built = build_descriptors(0, 0, extents, strides, width, limit)
    dense = tuple(stride or width for stride in built.scratch_strides)
    return Shape(tuple(built.descriptors), dense, built.oversized)


def ports_of(call: Any, names: Sequence[str], addresses: Sequence[int]) -> tuple[KernelPort, ...]:
    """The ports of a kernel call, under the kernel's own names, at these addresses."""
    return tuple(
        KernelPort.dense(index, name, port.shape, SCALARS[port.scalar].dtype, port.written, address)
        for index, (name, port, address) in enumerate(zip(names, call.ports, addresses, strict=True))
    )
