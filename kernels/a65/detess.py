"""Detess on the A65: unpacks MlaTiled into a linear tensor. Source: the Detess document, "Memory and lifecycle"."""

from tessbed.kernels.a65 import prepared as rows
from tessbed.kernels.a65.prepared import Prepared
from tessbed.kernels.binding import Views
from tessbed.kernels.ops import detess
from tessbed.kernels.plan import Op, Plan

__all__ = ["Prepared", "check_inference", "execute", "prepare"]


def prepare(plan: Plan) -> Prepared:
    """Chooses the row path of a Detess plan; ContractError for a plan of another operation."""
    return rows.prepare(plan, Op.DETESS)


def check_inference(request: detess.Request) -> Prepared:
    """Admission and preparation in one step."""
    return prepare(detess.check_inference(request))


def execute(prepared: Prepared, inputs: Views, outputs: Views) -> None:
    """Runs one call on one input and one output view; BindingError before the first write, never after."""
    rows.execute(rows.check_prepared(prepared, Op.DETESS), inputs, outputs)
