"""Prepared executions: a plan, the row path chosen for it, and the program of the engine that runs it."""

from typing import Any

import attrs

from tessbed.kernels.a65.row_engine import Engine, chosen_engine
from tessbed.kernels.a65.row_path import RowPath, choose, row_classes
from tessbed.kernels.errors import ContractError
from tessbed.kernels.operations import Operation
from tessbed.kernels.plan import Plan
from tessbed.kernels.plan_check import check_plan
from tessbed.kernels.storage import Views, bind_storage


@attrs.frozen
class PreparedExecution:
    """Immutable, holds no storage, shared freely by threads with separate outputs."""

    plan: Plan
    path: RowPath
    engine: Engine = attrs.field(repr=lambda engine: engine.name)
    program: Any = attrs.field(repr=False)


def prepare(plan: Plan, op: Operation | None = None) -> PreparedExecution:
    """The execution of `plan`, of `op` where that is given. Cost and size do not depend on the tensor's size.

    ContractError for what is no plan of it, and for a conversion that no engine has rows for.
    """
    check_plan(plan, op)
    path, engine = choose(plan), chosen_engine(plan.conversion)
    program = None if plan.empty else engine.compile_plan(plan, row_classes(plan, path))
    return PreparedExecution(plan, path, engine, program)


def check_prepared(prepared: object, op: Operation) -> PreparedExecution:
    """`prepared`, if it was prepared for `op`; ContractError otherwise."""
    if not isinstance(prepared, PreparedExecution):
        raise ContractError(
            "prepared_type", "prepared", f"got {type(prepared).__name__}, wanted what {op.name}.prepare(plan) returns"
        )
    if prepared.plan.op is not op:
        raise ContractError("plan_op", "prepared", f"got a plan of {prepared.plan.op.name}, wanted one of {op.name}")
    return prepared


def execute(prepared: PreparedExecution, inputs: Views, outputs: Views) -> None:
    """Checks the views, then moves every byte before it returns; BindingError leaves all storage as it was.

    What the engine attempts first is left to the caller.
    """
    plan = prepared.plan
    bound = bind_storage((plan.input, plan.output), inputs, outputs)
    if bound is not None:
        source, target = bound
        tiled, linear = (target, source) if plan.packs else (source, target)
        prepared.engine.run(prepared.program, tiled, linear)
