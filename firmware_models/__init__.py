"""What the device program does with a packet; it sees packet bytes, never a Plan."""

from typing import TYPE_CHECKING

from tessbed.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from tessbed.firmware_models.image import FirmwareImage

__all__ = ["FirmwareImage"]
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "image": ["FirmwareImage"],
    },
)
