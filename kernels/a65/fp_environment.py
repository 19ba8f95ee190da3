"""The floating-point environment of this thread: set aside for a while, and put back as it was.

numpy's arithmetic clears the CPU's exception flags, and obeys its rounding and flush modes. Rows that calculate do so
in the default environment (nearest even, nothing flushed), and leave no trace of it. The C library does both.
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tessbed.kernels.errors import ContractError

ENVIRONMENT_BYTES = 512
"""More than any fenv_t."""


@cache
def _library() -> tuple[Any, Any, Any]:
    """fegetenv, fesetenv and the pointer that stands for the default environment. ContractError where they are not."""
    try:
        library = ctypes.CDLL(None)
        default: Any = ctypes.c_void_p(-1)
        if sys.platform == "darwin":
            default = ctypes.byref(ctypes.c_char.in_dll(library, "_FE_DFL_ENV"))
        return library.fegetenv, library.fesetenv, default
    except (AttributeError, OSError, TypeError, ValueError) as error:
        text = f"no C library here keeps the floating-point environment ({error}); use the native rows"
        raise ContractError("fp_environment", "rows", text) from error


@contextmanager
def default_environment() -> Iterator[None]:
    """Calculates to the nearest even and flushes nothing; on leaving, modes and all flags are as on entering."""
    get, put, default = _library()
    kept = ctypes.create_string_buffer(ENVIRONMENT_BYTES)
    get(kept)
    put(default)
    try:
        yield
    finally:
        put(kept)
