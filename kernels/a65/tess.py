"""Tess on the A65: packs a linear tensor into MlaTiled. Source: the Tess document, "Memory and lifecycle"."""

from tessbed.kernels.a65 import prepared as rows
from tessbed.kernels.a65.prepared import Prepared
from tessbed.kernels.binding import Views
from tessbed.kernels.ops import tess
from tessbed.kernels.plan import Op, Plan

__all__ = ["Prepared", "check_inference", "execute", "prepare"]


def prepare(plan: Plan) -> Prepared:
    """Chooses the row path of a Tess plan; ContractError for a plan of another operation."""
    return rows.prepare(plan, Op.TESS)


def check_inference(request: tess.Request) -> Prepared:
    """Admission and preparation in one step."""
    return prepare(tess.check_inference(request))


def execute(prepared: Prepared, inputs: Views, outputs: Views) -> None:
    """Runs one call on one input and one output view; BindingError before the first write, never after."""
    rows.execute(rows.check_prepared(prepared, Op.TESS), inputs, outputs)
