"""Tessbed: simulates the tile re-layout kernels of an edge-AI chip, exact bytes and exact model ticks."""

TYPE_CHECKING = False  # typing takes longer to import than all else here

if TYPE_CHECKING:
    from tessbed.arrays import casttess, detess, detesscast, detessdequant, quanttess, tess
    from tessbed.kernels.custom.declaration import kernel
    from tessbed.kernels.custom.ports import Port

__version__ = "0.2.0"
__all__ = ["Port", "__version__", "casttess", "detess", "detesscast", "detessdequant", "kernel", "quanttess", "tess"]
HOMES = {"Port": "tessbed.kernels.custom.ports", "kernel": "tessbed.kernels.custom.declaration"}
"""Where a name is defined that is no operation."""


def __getattr__(name: str) -> object:
    """The function of an operation on first use: asking for the version must not load numpy."""
    from importlib.util import find_spec

    if name.startswith("_") or (name not in __all__ and find_spec(f"{__name__}.{name}")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in HOMES:
        from importlib import import_module

        return getattr(import_module(HOMES[name]), name)
    from tessbed import arrays

    return arrays.function(name)


def __dir__() -> list[str]:
    return sorted(__all__)
