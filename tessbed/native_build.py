"""Native build: an extension in C, if it was built from the sources that the Python beside it was written for.

A compiled file outlives a pull: Python changes at once, the extension when somebody builds it. What they hand each
other is laid out by order alone, and the extension has results of its own, so that an old one must not be called. Each
has a constant SOURCES, a number of its C sources, and its caller has the same number; `python -m tests.native_sources`
writes both, and a test fails where they lag behind the sources.
"""

import warnings
from importlib import import_module
from types import ModuleType

REBUILD = "rebuild it with: pip install -e ."


def load_extension(name: str, sources: int) -> tuple[ModuleType | None, str]:
    """The extension and "", or None and why it is not used. Warns of one that was built from other sources."""
    try:
        found = import_module(name)
    except ModuleNotFoundError:
        return None, "it was not built"
    except ImportError as error:
        return None, str(error)
    if getattr(found, "SOURCES", None) == sources:
        return found, ""
    missing = f"it was built from other sources than these; {REBUILD}"
    short = name.rpartition(".")[2]
    text = f"the extension {short} is not used, since {missing} (until then what it does is done in Python, slower)"
    warnings.warn(text, RuntimeWarning, stacklevel=3)
    return None, missing
