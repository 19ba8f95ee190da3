"""The operations before any backend: `ops.tess` and its like have Request, Params and check_inference.

Each row of OPERATIONS is an attribute here, by its name.
"""

from tessbed.kernels.operations import OPERATIONS, Op, Operation, operation
from tessbed.kernels.ops.requests import AnyRequest, NoParams, OperationRequests, requests_of

__all__ = ["OPERATIONS", "AnyRequest", "NoParams", "Op", "Operation", "OperationRequests", "operation", "requests_of"]


def __getattr__(name: str) -> OperationRequests:
    row = OPERATIONS.get(name)
    if row is None:
        raise AttributeError(f"module {__name__!r} has no operation {name!r}, there are {', '.join(OPERATIONS)}")
    return requests_of(row)


def __dir__() -> list[str]:
    return sorted({*__all__, *OPERATIONS})
