"""The A65 CPU executor: synchronous, directly into the caller's storage.

Each row of OPERATIONS is an attribute here, by its name: `a65.tess` and its like have check_inference, prepare and
execute.
"""

from typing import TYPE_CHECKING

from tessbed.kernels.operations import OPERATIONS

if TYPE_CHECKING:
    from tessbed.kernels.a65.executor import Executor


def __getattr__(name: str) -> "Executor":
    row = OPERATIONS.get(name)
    if row is None:
        raise AttributeError(f"module {__name__!r} has no operation {name!r}, there are {', '.join(OPERATIONS)}")
    from tessbed.kernels.a65.executor import executor_of  # not before: the storage's checks use the native rows

    return executor_of(row)


def __dir__() -> list[str]:
    return sorted(OPERATIONS)
