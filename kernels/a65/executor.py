"""Executors: one operation on the A65, made from its row. Source: "Memory and lifecycle" of the three documents."""

from functools import cache

import attrs

import tessbed.kernels.a65.prepared as rows
from tessbed.kernels.operations import Operation
from tessbed.kernels.ops.requests import AnyRequest, requests_of
from tessbed.kernels.plan import Plan
from tessbed.kernels.storage import Views


@attrs.frozen(eq=False)
class Executor:
    """One operation on the A65."""

    operation: Operation
    Prepared: type[rows.PreparedExecution] = rows.PreparedExecution

    def prepare(self, plan: Plan) -> rows.PreparedExecution:
        """Chooses the row path of a plan; ContractError for a plan of another operation."""
        return rows.prepare(plan, self.operation)

    def check_inference(self, request: AnyRequest) -> rows.PreparedExecution:
        """Admission and preparation in one step."""
        return self.prepare(requests_of(self.operation).check_inference(request))

    def execute(self, prepared: rows.PreparedExecution, inputs: Views, outputs: Views) -> None:
        """Runs one call on one input and one output view; BindingError before the first write, never after.

        The usual call is decided here, without a function around it: those would take as long as a small call.
        """
        if type(prepared) is not rows.PreparedExecution or prepared.plan.op is not self.operation:
            prepared = rows.check_prepared(prepared, self.operation)
        program = prepared.program
        if program is None or not prepared.engine.attempt(program, inputs, outputs):
            rows.execute(prepared, inputs, outputs)


@cache
def executor_of(op: Operation) -> Executor:
    """The executor of a row."""
    return Executor(op)
