"""Capability: what a job needs against what the firmware image holds; what is missing is an error."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from tessbed.kernels.ev74.fields import VERSION_MAJOR
from tessbed.kernels.plan import Plan
from tessbed.runtime.errors import CapabilityError


class Need(NamedTuple):
    """What a job asks of a firmware image: the kernel, the packet version, the conversion that the kernel does."""

    op: str
    dtype: str
    tile_format: str
    version: tuple[int, int]
    conversion: str

    @classmethod
    def of(cls, plan: Plan) -> "Need":
        """What a plan needs."""
        version = VERSION_MAJOR, plan.op.version_minor
        return cls(plan.op.name, plan.tiled_dtype.value, plan.tile_format.value, version, plan.conversion)


class ImageComposition(Protocol):
    """What an image says that it holds: (operation, tiled scalar type, tile format), and packet versions."""

    @property
    def holds(self) -> Iterable[tuple[str, str, str]]: ...

    @property
    def packet_versions(self) -> tuple[tuple[int, int], ...]: ...

    def lacks(
        self, op: str, dtype: str, tile_format: str, version: tuple[int, int], conversion: str = ""
    ) -> str | None:
        """What is missing for such a job, in words; None when nothing is."""
        ...


def composition(image: object) -> ImageComposition:
    """What the image holds. Raises CapabilityError for one that does not say."""
    held = getattr(image, "composition", None)
    if held is None:
        raise CapabilityError("an image that names its composition", type(image).__name__, ("no composition",))
    return held


def check_capability(held: ImageComposition, needs: Iterable[Need]) -> None:
    """Raise CapabilityError with every difference between `needs` and what an image holds."""
    needed = tuple(needs)
    missing = tuple(dict.fromkeys(lack for need in needed if (lack := held.lacks(*need)) is not None))
    if missing:
        wanted = ", ".join(dict.fromkeys(_words(need) for need in needed))
        raise CapabilityError(wanted, describe_composition(held), missing)


def describe_composition(has: ImageComposition) -> str:
    """A composition in words: for each operation its scalar types, each with its tile formats."""
    versions = ", ".join(f"{major}.{minor}" for major, minor in has.packet_versions)
    ops: dict[str, dict[str, list[str]]] = {}
    for op, dtype, tile_format in has.holds:
        ops.setdefault(op, {}).setdefault(dtype, []).append(tile_format)
    kernels = [f"{op} {dtype} {'/'.join(formats)}" for op, dtypes in ops.items() for dtype, formats in dtypes.items()]
    return f"{', '.join(kernels) or 'no operation'}; packet version {versions or 'none'}"


def _words(need: Need) -> str:
    major, minor = need.version
    return f"{need.op} {need.dtype} {need.tile_format} packet version {major}.{minor}"
