"""Which engine runs the rows: the native extension where it is there, numpy otherwise.

`TESSBED_ROWS=numpy` or `=native` decides it at preparation; what was asked for is used or refused, never replaced.
"""

import os
from collections.abc import Callable
from typing import Any

import attrs

from tessbed.kernels.a65 import native_rows, numpy_rows
from tessbed.kernels.binding import Bound, Views
from tessbed.kernels.errors import ContractError
from tessbed.kernels.plan import Plan, TileClass

VARIABLE = "TESSBED_ROWS"


@attrs.frozen
class Engine:
    """`compile_plan` makes a program of a plan; `run` executes it on the (tiled, linear) storage.

    `attempt` checks and executes in one go where it can, and leaves everything as it was where it can not.
    """

    name: str
    compile_plan: Callable[[Plan, tuple[TileClass, ...]], Any]
    run: Callable[[Any, Bound, Bound], None]
    attempt: Callable[[Any, Views, Views], bool] = lambda program, inputs, outputs: False


NUMPY = Engine("numpy", numpy_rows.compile_plan, numpy_rows.run)
NATIVE = Engine("native", native_rows.compile_plan, native_rows.run, native_rows.attempt)
ENGINES = {engine.name: engine for engine in (NUMPY, NATIVE)}


@attrs.frozen
class EngineReport:
    """For `doctor`: the engine in use, its vector instructions, and why the native one is missing ("" if it is not)."""

    engine: str
    vectors: str
    native_missing: str


def chosen() -> Engine:
    """The engine for the next preparation; ContractError for an unknown or absent one."""
    asked = os.environ.get(VARIABLE, "")
    if not asked:
        return NUMPY if native_rows.missing else NATIVE
    if asked not in ENGINES:
        raise ContractError("rows_engine", VARIABLE, f"got {asked!r}, wanted numpy or native, or no value at all")
    if asked == NATIVE.name and native_rows.missing:
        raise ContractError(
            "rows_engine",
            VARIABLE,
            f"got native, but the extension is not there ({native_rows.missing}); "
            "install with a C compiler, or ask for numpy",
        )
    return ENGINES[asked]


def report() -> EngineReport:
    """The engine that `prepare` would choose now."""
    engine = chosen().name
    return EngineReport(engine, native_rows.vectors() if engine == NATIVE.name else "none", native_rows.missing)
