"""Kernel arguments: which array of a call belongs to which port of a kernel of one's own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tessbed.interface.argument_values import plain_value, refused
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.kernel_plan import PortLayout
from tessbed.kernels.custom.loading import load_kernel
from tessbed.kernels.custom.ports import PortSpec
from tessbed.sim.errors import SpecError

WANTED = "a function decorated with @tessbed.kernel, or its place as text, such as 'copy.py:copy'"


def kernel_of(kernel: object) -> Kernel:
    """The kernel, loaded where it is named. Raises SpecError, ContractError for one that can not be loaded."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return load_kernel(kernel)
    raise refused("kernel", kernel, WANTED)


def input_arrays(kernel: Kernel, arrays: Sequence[object]) -> dict[str, np.ndarray]:
    """The arrays by input port, in order. Raises SpecError where there are more or fewer."""
    if len(arrays) != len(kernel.inputs):
        wanted = f"{len(kernel.inputs)}, one for each of {_names(kernel.inputs)}"
        raise SpecError([(("inputs",), f"got {len(arrays)} arrays, wanted {wanted}")])
    return {port.name: np.asarray(array) for port, array in zip(kernel.inputs, arrays, strict=True)}


def output_arrays(kernel: Kernel, out: object) -> dict[str, np.ndarray]:
    """The arrays to fill by output port: one array, several in order, a table by name, or none."""
    if out is None:
        return {}
    if isinstance(out, Mapping):
        known = [port.name for port in kernel.outputs]
        for name in out:
            if name not in known:
                raise refused("out", name, f"names of outputs: {', '.join(known)}", known)
        return {name: _writable(name, array) for name, array in out.items()}
    arrays = list(out) if isinstance(out, list | tuple) else [out]
    if len(arrays) != len(kernel.outputs):
        wanted = f"{len(kernel.outputs)}, one for each of {_names(kernel.outputs)}"
        raise SpecError([(("out",), f"got {len(arrays)} arrays, wanted {wanted}")])
    return {port.name: _writable(port.name, array) for port, array in zip(kernel.outputs, arrays, strict=True)}


def argument_values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as plain numbers."""
    return {name: plain_value(value) for name, value in arguments.items()}


def shaped_like(made: Mapping[str, np.ndarray], ports: Sequence[PortLayout], out: object) -> Any:
    """The outputs in the form in which they were asked for: an array, a tuple, or a table by name."""
    if len(ports) == 1 and not isinstance(out, Mapping | list | tuple):
        return made[ports[0].name]
    return tuple(made[port.name] for port in ports) if isinstance(out, list | tuple) else dict(made)


def _writable(name: str, array: object) -> np.ndarray:
    if not isinstance(array, np.ndarray) or not array.flags.writeable:
        raise refused(f"out {name}", array, "an array that can be written")
    return array


def _names(ports: Sequence[PortSpec]) -> str:
    return ", ".join(port.name for port in ports)
