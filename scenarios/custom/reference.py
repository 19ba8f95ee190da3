"""Reference: what a kernel's outputs must hold by its author's own function, and the first scalar that differs.

A reference may be wrong as well as the kernel, so a difference is reported as one of the two.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from tessbed.kernels.custom.kernel_plan import KernelPlan, PortLayout
from tessbed.kernels.errors import ContractError, shown


@attrs.frozen
class KernelMismatch:
    """The first scalar of an output in which kernel and reference differ, and how many do."""

    port: str
    index: tuple[int, ...]
    got: str
    wanted: str
    differing: int
    total: int
    offset: int

    def __str__(self) -> str:
        place = ", ".join(map(str, self.index))
        many = f"{self.differing:,} of {self.total:,} scalars differ"
        return (
            f"kernel and reference differ: {self.port}[{place}] is {self.got}, the reference says {self.wanted}; {many}"
        )


def expected_outputs(plan: KernelPlan, inputs: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """What the reference makes of the inputs, None where the kernel has none. Inputs are passed as read-only views.

    Raises ContractError for a reference that fails, or returns what is no array of an output's shape and type.
    """
    judge = plan.kernel.judge
    if judge is None:
        return None
    views = [array.view() for array in inputs]
    for view in views:
        view.flags.writeable = False
    try:
        made = judge(*views, **dict(plan.arguments))
    except Exception as error:
        text = f"it raises {type(error).__name__}: {error}"
        raise ContractError("reference", f"the reference of {plan.kernel.where}", text) from error
    listed = [made] if isinstance(made, np.ndarray) or np.isscalar(made) else made
    if not isinstance(listed, list | tuple) or len(listed) != len(plan.outputs):
        count = len(plan.outputs)
        wanted = "an array" if count == 1 else f"{count} arrays, one for each output"
        raise ContractError("reference", f"the reference of {plan.kernel.where}", f"got {shown(made)}, wanted {wanted}")
    return [_fitting(plan, port, value) for port, value in zip(plan.outputs, listed, strict=True)]


def _fitting(plan: KernelPlan, port: PortLayout, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.shape != port.shape and array.size == 1 == np.prod(port.shape):
        array = array.reshape(port.shape)
    if array.shape == port.shape and array.dtype != port.type.dtype and array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    if array.shape != port.shape or array.dtype != port.type.dtype:
        got = f"got {array.dtype}{list(array.shape)} for {port.name}"
        text = f"{got}, wanted {port.scalar}{list(port.shape)}"
        text += f"; convert it, as in .astype(np.{port.type.dtype})" if array.shape == port.shape else ""
        raise ContractError("reference", f"the reference of {plan.kernel.where}", text)
    return np.ascontiguousarray(array)


def first_mismatch(
    plan: KernelPlan, outputs: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> KernelMismatch | None:
    """The first scalar that differs, in the order of the outputs; two that are no numbers are alike."""
    offset = 0
    for port, got, wanted in zip(plan.outputs, outputs, expected, strict=True):
        bits = f"u{port.type.width}"
        differs = got.reshape(-1).view(bits) != wanted.reshape(-1).view(bits)
        if port.type.real and differs.any():
            differs &= ~(np.isnan(got.reshape(-1)) & np.isnan(wanted.reshape(-1)))
        if differs.any():
            at = int(np.argmax(differs))
            index = tuple(int(i) for i in np.unravel_index(at, port.shape))
            values = (str(got.reshape(-1)[at]), str(wanted.reshape(-1)[at]))
            first = offset + at * port.type.width
            return KernelMismatch(port.name, index, *values, int(differs.sum()), got.size, first)
        offset += port.required_bytes
    return None


def arguments_text(arguments: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> str:
    """Arguments as a person writes them."""
    return ", ".join(f"{name}={value}" for name, value in dict(arguments).items())
