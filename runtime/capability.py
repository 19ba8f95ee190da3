"""Capability: what a job needs against what the firmware image holds. A lack is an error, never a fallback."""

from collections.abc import Iterable
from typing import Protocol

from tessbed.runtime.errors import CapabilityError

Need = tuple[str, str, tuple[int, int]]


class Composition(Protocol):
    """What an image says that it holds."""

    @property
    def ops(self) -> tuple[str, ...]: ...

    @property
    def dtypes(self) -> tuple[str, ...]: ...

    @property
    def packet_versions(self) -> tuple[tuple[int, int], ...]: ...

    def lacks(self, op: str, dtype: str, version: tuple[int, int]) -> str | None:
        """What is missing for such a job, in words; None when nothing is."""
        ...


def composition(image: object) -> Composition:
    """What the image holds. Raises CapabilityError for one that does not say."""
    held = getattr(image, "composition", None)
    if held is None:
        raise CapabilityError("an image that names its composition", type(image).__name__, ("no composition",))
    return held


def check(held: Composition, needs: Iterable[Need]) -> None:
    """Raise CapabilityError with every difference between `needs` and what an image holds."""
    needed = tuple(needs)
    missing = tuple(dict.fromkeys(lack for need in needed if (lack := held.lacks(*need)) is not None))
    if missing:
        wanted = ", ".join(dict.fromkeys(_words(need) for need in needed))
        raise CapabilityError(wanted, describe(held), missing)


def describe(has: Composition) -> str:
    """A composition in words."""
    versions = ", ".join(f"{major}.{minor}" for major, minor in has.packet_versions)
    return f"{', '.join(has.ops) or 'no operation'}; {', '.join(has.dtypes) or 'no dtype'}; packet version {versions}"


def _words(need: Need) -> str:
    op, dtype, (major, minor) = need
    return f"{op} {dtype} packet version {major}.{minor}"
