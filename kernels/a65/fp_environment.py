"""The floating-point environment of this thread: set aside for a while, and put back as it was.

numpy's arithmetic clears the CPU's exception flags, and obeys its rounding and flush modes. Rows that calculate do so
in the default environment (nearest even, nothing flushed), and leave no trace of it. The C library does both.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from tessbed.kernels.errors import ContractError

ENVIRONMENT_BYTES = 512
"""More than any fenv_t."""
_Environment = ctypes.c_char * ENVIRONMENT_BYTES


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


def keeps_environment() -> bool:
    """Whether the C library here keeps the floating-point environment."""
    try:
        return bool(_library())
    except ContractError:
        return False


def in_default_environment(run: Callable[[], object]) -> None:
    """Runs it to the nearest even, nothing flushed; behind it, modes and all flags are as before.

    A function and no context manager, which takes as long again: a small call is measured by this.
    """
    get, put, default = _library()
    kept = _Environment()
    get(kept)
    put(default)
    try:
        run()
    finally:
        put(kept)
