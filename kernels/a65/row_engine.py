"""Which engine runs the rows: the native extension where it is there, numpy otherwise.

`TESSBED_ROWS=numpy` or `=native` decides it at preparation; what was asked for is used or refused, never replaced.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import attrs

import tessbed.kernels.a65.native_rows as native_rows
import tessbed.kernels.a65.numpy_rows as numpy_rows
from tessbed.kernels.conversions import look_up
from tessbed.kernels.errors import ContractError
from tessbed.kernels.plan import Plan
from tessbed.kernels.storage import BoundStorage, Views
from tessbed.kernels.tiling import TileClass

VARIABLE = "TESSBED_ROWS"


@attrs.frozen
class Engine:
    """`compile_plan` makes a program of a plan; `run` executes it on the (tiled, linear) storage.

    `conversions` is the table of those that it has rows for.
    `attempt` checks and executes in one go where it can, and leaves everything as it was where it can not.
    """

    name: str
    conversions: Mapping[str, Any]
    compile_plan: Callable[[Plan, tuple[TileClass, ...]], Any]
    run: Callable[[Any, BoundStorage, BoundStorage], None]
    attempt: Callable[[Any, Views, Views], bool] = lambda program, inputs, outputs: False


NUMPY = Engine("numpy", numpy_rows.CONVERSIONS, numpy_rows.compile_numpy, numpy_rows.run_numpy, numpy_rows.attempt)
NATIVE = Engine("native", native_rows.CODES, native_rows.compile_native, native_rows.run_native, native_rows.attempt)
ENGINES = {engine.name: engine for engine in (NUMPY, NATIVE)}


@attrs.frozen
class EngineReport:
    """For `doctor`: the engine in use, its vector instructions, and why the native one is missing ("" if it is not)."""

    engine: str
    vectors: str
    native_missing: str


def chosen_engine(conversion: str) -> Engine:
    """The engine for the next preparation; ContractError for one that is unknown, absent or has no such rows.

    Where none was asked for, the native rows are taken if they are there and have the conversion.
    """
    asked = os.environ.get(VARIABLE, "")
    native = not native_rows.missing and conversion in NATIVE.conversions
    engine = _asked(asked) if asked else NATIVE if native else NUMPY
    look_up(engine.conversions, conversion, f"the table of the A65's {engine.name} rows")
    return engine


def _asked(asked: str) -> Engine:
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


def engine_report() -> EngineReport:
    """The engine that `prepare` would choose now."""
    asked = os.environ.get(VARIABLE, "")
    engine = (_asked(asked) if asked else NUMPY if native_rows.missing else NATIVE).name
    return EngineReport(engine, native_rows.vectors() if engine == NATIVE.name else "none", native_rows.missing)
