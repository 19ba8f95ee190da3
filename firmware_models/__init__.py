"""What the device program does with a packet; it sees packet bytes, never a Plan."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tessbed.firmware_models.image import FirmwareImage

__all__ = ["FirmwareImage"]
_HOMES = {
    "FirmwareImage": "tessbed.firmware_models.image",
}


def __getattr__(name: str) -> object:
    """The names of the package on first use: importing one of its modules loads nothing else."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
