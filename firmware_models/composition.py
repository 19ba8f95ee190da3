"""Composition: which kernels an image was built with, by operation, tiled scalar type and tile format.

Both the firmware and the host compare a job's needs with it. What is lacking is named, and never replaced.
Source: Tess document, "Execution and ownership".
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import attrs

from tessbed.firmware_models.vector_cost import PATHS
from tessbed.firmware_models.vector_ops import CONVERSIONS
from tessbed.kernels.ev74.fields import VERSION_MAJOR, VERSION_MINOR
from tessbed.kernels.operations import OPERATIONS, operation

VERSIONS = tuple((VERSION_MAJOR, minor) for minor in range(VERSION_MINOR + 1))


class HeldKernel(NamedTuple):
    """What a kernel does: an operation, the scalar type of its tiled side, the format of its tiles."""

    op: str
    dtype: str
    tile_format: str


@attrs.frozen(init=False)
class Composition:
    """What an image was built with: kernels, and packet versions (major, minor).

    Made from `holds`, or from `ops` and `dtypes`: then it holds every tile format of each; all operations and scalar
    types where they are not named. `ops` and `dtypes` are those that it was built for, whether or not they meet.
    """

    holds: tuple[HeldKernel, ...]
    packet_versions: tuple[tuple[int, int], ...]
    ops: tuple[str, ...]
    dtypes: tuple[str, ...]

    def __init__(
        self,
        ops: Iterable[str] | None = None,
        dtypes: Iterable[str] | None = None,
        packet_versions: Iterable[tuple[int, int]] = VERSIONS,
        *,
        holds: Iterable[tuple[str, str, str]] | None = None,
    ) -> None:
        if holds is None:
            of_ops = tuple(OPERATIONS if ops is None else ops)
            kernels = tuple(kernels_of(of_ops, None if dtypes is None else tuple(dtypes)))
        else:
            kernels = tuple(HeldKernel(*kernel) for kernel in holds)
            of_ops = tuple(dict.fromkeys(kernel.op for kernel in kernels))
        held = tuple(dict.fromkeys(kernel.dtype for kernel in kernels)) if dtypes is None else tuple(dtypes)
        self.__attrs_init__(kernels, tuple(packet_versions), of_ops, held)  # pyright: ignore[reportAttributeAccessIssue]

    def lacks(
        self, op: str, dtype: str, tile_format: str, version: tuple[int, int], conversion: str = ""
    ) -> str | None:
        """What a job needs that the image does not hold, naming both sides; None if it holds all."""
        lack = self.lacking(op, dtype, tile_format, version, conversion)
        return lack[1] if lack else None

    def lacking(
        self, op: str, dtype: str, tile_format: str, version: tuple[int, int], conversion: str = ""
    ) -> tuple[str, str] | None:
        """The packet field that asks for what the image does not hold, and the words of `lacks`.

        A scalar type or format that the operation does not have at all is no lack: the packet's rules refuse it.
        """
        row = operation(op)
        of_op = [kernel for kernel in self.holds if kernel.op == op]
        dtypes = [kernel.dtype for kernel in of_op]
        formats = [kernel.tile_format for kernel in of_op if kernel.dtype == dtype]
        with_dtype = f" of {op}" if any(kernel.dtype == dtype for kernel in self.holds) else ""
        if op not in self.ops:
            return "op", _words("operation", op, self.ops)
        if dtype not in dtypes and dtype in (known.value for known in row.tiled_dtypes):
            return "tiled_dtype", _words("dtype", dtype, dtypes or self.dtypes, with_dtype)
        if formats and tile_format not in formats and tile_format in (known.value for known in row.formats):
            return "tile_format", _words("tile format", tile_format, formats, f" of {op} {dtype}")
        if version not in self.packet_versions and version > max(self.packet_versions, default=version):
            return "op", _words("operation", f"{op}, of packet version {_version(version)}", self._known())
        if version not in self.packet_versions:
            versions = map(_version, self.packet_versions)
            return "version_major", _words("packet version", _version(version), versions)
        for table, what in ((CONVERSIONS, "vector step"), (PATHS, "cost of a vector step")):
            if conversion and conversion not in table:
                return "op", _words(what, conversion, table)
        return None

    def _known(self) -> Iterator[str]:
        """The operations that the image's packet versions know, as words."""
        newest = max(self.packet_versions)
        known = [op for op in self.ops if (VERSION_MAJOR, operation(op).version_minor) <= newest]
        yield from known
        yield f"packet version {', '.join(map(_version, self.packet_versions))}"


def kernels_of(ops: Iterable[str], dtypes: Sequence[str] | None = None) -> Iterator[HeldKernel]:
    """Every kernel of these operations and scalar types, of all of them where None."""
    for op in ops:
        row = operation(op)
        for dtype in row.tiled_dtypes:
            if dtypes is None or dtype.value in dtypes:
                yield from (HeldKernel(op, dtype.value, form.value) for form in row.formats)


def _words(kind: str, needed: str, held: Iterable[str], among: str = "") -> str:
    return f"{kind}: the job needs {needed}, the image holds {', '.join(dict.fromkeys(held)) or 'none'}{among}"


def _version(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
