"""Exports of a package on first use: importing one of its modules loads no other."""

from collections.abc import Callable, Mapping, Sequence


def lazy_exports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` (PEP 562) of a package; `homes` has the names of each of its modules."""
    home_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def get(name: str) -> object:
        from importlib import import_module

        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home_of[name]), name)

    return get, lambda: sorted(home_of)
