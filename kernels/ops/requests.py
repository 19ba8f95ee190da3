"""Requests: what a caller asks of one operation, and the plan that admission makes of it.

Every operation has a Request class of its own, so that a request of one is never taken for one of another. All are
alike: they are made from the operation's row.
"""

from functools import cache
from typing import Any

import attrs

from tessbed.kernels import admission, planning
from tessbed.kernels.errors import ContractError
from tessbed.kernels.operations import Operation
from tessbed.kernels.ops.parameters import PARAMETERS, NoParams
from tessbed.kernels.plan import Plan
from tessbed.kernels.tensor import TensorSpec, entries

__all__ = ["AnyRequest", "NoParams", "OperationRequests", "requests_of"]


@attrs.frozen
class AnyRequest:
    """One input and one output of equal shape, one of them tiled, the other linear (Contiguous or Strided)."""

    inputs: tuple[TensorSpec, ...] = attrs.field(converter=entries("inputs"))
    outputs: tuple[TensorSpec, ...] = attrs.field(converter=entries("outputs"))
    params: Any = attrs.field(factory=NoParams)


@attrs.frozen(eq=False)
class OperationRequests:
    """One operation before any backend: its row, the classes of its requests and parameters, its admission."""

    operation: Operation
    Request: type[AnyRequest]
    Params: type[Any]

    def check_inference(self, request: AnyRequest) -> Plan:
        """The plan of an admitted request; ContractError says why there is none. Nothing of the request is kept."""
        op = self.operation
        admission.check_request(request, self.Request, op.name)
        source = admission.only_port(request.inputs, "inputs")
        target = admission.only_port(request.outputs, "outputs")
        shape = admission.check_shapes(source, target)
        admission.check_dtypes(op, source, target)
        tiled, linear = (target, source) if op.packs else (source, target)
        names = ("outputs[0]", "inputs[0]") if op.packs else ("inputs[0]", "outputs[0]")
        admission.check_tiled(op, tiled, names[0], shape)
        strides = admission.linear_strides(linear, names[1], shape, positive_unless_unit=op.strict_zero_strides)
        if not isinstance(request.params, self.Params):
            text = f"got {type(request.params).__name__}, wanted {op.name}.Params"
            raise ContractError("params_type", "params", text)
        fill, parameters = PARAMETERS[op.name].settle(request.params, tiled) if op.parameters else (0, ())
        return planning.build_plan(
            op, tiled, linear, shape=shape, strides=strides, channel_fill=fill, parameters=parameters
        )

    def request(self, tiled: TensorSpec, linear: TensorSpec, params: Any = None) -> AnyRequest:
        """The request for these two sides, each on the port where the operation has it."""
        ports = ([linear], [tiled]) if self.operation.packs else ([tiled], [linear])
        return self.Request(*ports, self.Params() if params is None else params)


@cache
def requests_of(op: Operation) -> OperationRequests:
    """The requests of a row; ContractError where it has parameters that nobody judges."""
    params: type[Any] = NoParams
    if op.parameters:
        if op.name not in PARAMETERS:
            text = f"nothing checks the parameters of {op.name}; add them to kernels.ops.parameters"
            raise ContractError("parameters_unsupported", "params", text)
        params = PARAMETERS[op.name].params
    params_field = attrs.field(factory=params)
    request = attrs.make_class("Request", {"params": params_field}, bases=(AnyRequest,), frozen=True, slots=True)
    request.__module__, request.__qualname__ = "tessbed.kernels.ops", f"{op.name}.Request"
    request.__doc__ = f"One input and one output of {op.title}, and its Params."
    return OperationRequests(op, request, params)
