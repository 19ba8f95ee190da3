"""Declaration: what `@tessbed.kernel` makes of a generator function: its level, ports, arguments and reference.

    @tessbed.kernel(outputs=["dst"], api=1)
    def copy(w, src, dst):
        for box in w.own(dst):
            yield w.band(src[box], dst[box], same)

The first parameter is the worker, the other positional ones are ports, keyword-only ones arguments. A port that is not
among the outputs is an input.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from tessbed.kernels.custom.arguments import MOST_ARGUMENTS, Argument, argument_of
from tessbed.kernels.custom.declared_files import note_file
from tessbed.kernels.custom.expressions import Expression
from tessbed.kernels.custom.ports import PortSpec, declared_ports
from tessbed.kernels.errors import ContractError, shown

LEVELS = ("bands", "body")
API = 1
"""The version of what a kernel sees; one that was written for another is refused."""
LONGEST_NAME = 64


@attrs.frozen(eq=False)
class Kernel:
    """A kernel of one's own, as it was declared; `function` is the generator function.

    `scratch` are bytes to gather and to pack for each byte of output that `own` hands out. Numpy arrays go into
    `reference` in the order of the inputs, with the arguments by name; one array for each output comes out.
    """

    name: str
    function: Callable[..., Any]
    level: str
    ports: tuple[PortSpec, ...]
    arguments: tuple[Argument, ...]
    scratch: tuple[Expression, Expression]
    api: int
    _judges: list[Callable[..., Any]] = attrs.field(factory=list, repr=False)

    def reference(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the function that says what the outputs must hold. Raises ContractError for a second one."""
        if not callable(function):
            raise ContractError("reference", self.where, f"got {shown(function)} as its reference, wanted a function")
        if self._judges:
            raise ContractError("reference", self.where, "got a second reference, wanted one")
        self._judges.append(function)
        return function

    @property
    def judge(self) -> Callable[..., Any] | None:
        """The reference, None where there is none: then no output is judged."""
        return self._judges[0] if self._judges else None

    @property
    def where(self) -> str:
        """The kernel in messages."""
        return f"kernel {self.name}"

    @property
    def inputs(self) -> tuple[PortSpec, ...]:
        """The ports that it reads, in order."""
        return tuple(port for port in self.ports if not port.written)

    @property
    def outputs(self) -> tuple[PortSpec, ...]:
        """The ports that it writes, in order."""
        return tuple(port for port in self.ports if port.written)

    @property
    def file(self) -> str:
        """The file of its source, as Python names it."""
        return self.function.__code__.co_filename

    def __call__(self, *_: Any, **__: Any) -> Any:
        text = (
            f"got a call, wanted tessbed.Ev74().run({self.name}, ...): a kernel runs on a device; "
            f"{self.name}.function is the plain function"
        )
        raise ContractError("kernel_called", self.where, text)


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    inputs: Any = None,
    outputs: Any = None,
    level: str = "bands",
    scratch: Any = (1, 1),
    api: int = API,
    name: str | None = None,
) -> Any:
    """Decorator: makes a generator function a kernel of one's own.

    `inputs` and `outputs` are names of positional parameters, or forms by name such as `{"src": "uint8[rows, 64]"}`;
    at least one output, at most 8 of each. `level` is "bands" (the function yields bands) or "body" (it does its waits
    itself). `scratch` says how many bytes are gathered and packed for each byte of output. `api` is the version of this
    interface that the kernel was written for, 1.

    Raises ContractError for a declaration that can not be; its text says what was got and what is wanted.

    >>> import tessbed
    >>> @tessbed.kernel(outputs=["dst"], api=1)
    ... def copy(w, src, dst, *, rows=64):
    ...     for box in w.own(dst):
    ...         yield w.band(src[box], dst[box], same)
    >>> def same(source, target):
    ...     target[...] = source
    >>> [port.name for port in copy.inputs], copy.arguments[0].default
    (['src'], 64)
    """

    def declare(made: Callable[..., Any]) -> Kernel:
        return _declared(made, name, inputs, outputs, level, scratch, api)

    return declare if function is None else declare(function)


def _declared(
    function: Callable[..., Any], name: str | None, inputs: Any, outputs: Any, level: Any, scratch: Any, api: Any
) -> Kernel:
    called = getattr(function, "__name__", None) if name is None else name
    where = f"kernel {called}"
    if not inspect.isgeneratorfunction(function):
        what = f"got {shown(function)}" if not inspect.isfunction(function) else "the function has no yield"
        raise ContractError(
            "kernel_function", where, f"{what}, wanted a generator function of (w, ports, *, arguments)"
        )
    if not isinstance(called, str) or not called.isidentifier() or len(called.encode()) > LONGEST_NAME:
        raise ContractError("kernel_name", where, f"got {shown(called)}, wanted a name of at most {LONGEST_NAME} bytes")
    if level not in LEVELS:
        raise ContractError("level", where, f'got level={shown(level)}, wanted "bands" or "body"')
    if type(api) is not int or api != API:
        raise ContractError("api", where, f"got api={shown(api)}, wanted {API}: this version has no other")
    ports, arguments = _parameters(function, where)
    found = _ports(ports, inputs, outputs, where)
    _known_names(found, arguments)
    note_file(function.__code__.co_filename)
    return Kernel(called, function, level, found, arguments, _scratch(scratch, arguments, where), api)


def _parameters(function: Callable[..., Any], where: str) -> tuple[list[str], tuple[Argument, ...]]:
    """The names of the ports, and the arguments."""
    positional, arguments = [], []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            if parameter.default is not parameter.empty:
                text = f"port {parameter.name} has a default; put a * before the arguments: (w, ports, *, arguments)"
                raise ContractError("port_default", where, text)
            positional.append(parameter.name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            default = None if parameter.default is parameter.empty else parameter.default
            arguments.append(argument_of(parameter.name, default, where))
        else:
            raise ContractError("parameters", where, f"got *{parameter.name}, wanted every parameter by name")
    if len(arguments) > MOST_ARGUMENTS:
        raise ContractError("parameters", where, f"got {len(arguments)} arguments, wanted at most {MOST_ARGUMENTS}")
    if not positional:
        raise ContractError("parameters", where, "got no parameter, wanted the worker, then the ports: (w, src, dst)")
    return positional[1:], tuple(arguments)


def _ports(names: list[str], inputs: Any, outputs: Any, where: str) -> tuple[PortSpec, ...]:
    """The ports in the order of the parameters."""
    if not outputs:
        text = f"got no outputs, wanted outputs=[...] with one of {', '.join(names) or 'its ports'}"
        raise ContractError("ports", where, text)
    written = declared_ports(outputs, True, f"{where}: outputs")
    others = [name for name in names if all(name != port.name for port in written)]
    read = declared_ports(others if inputs is None else inputs, False, f"{where}: inputs")
    found = {port.name: port for port in (*read, *written)}
    for port in (*read, *written):
        if port.name not in names:
            text = f"got a port {port.name}, the function has {', '.join(names) or 'none'}"
            raise ContractError("ports", where, text)
    if len(found) < len(read) + len(written):
        raise ContractError("ports", where, "got a port among the inputs and the outputs, wanted it in one of them")
    for name in names:
        if name not in found:
            raise ContractError("ports", where, f"port {name} is in neither inputs nor outputs")
    return tuple(found[name] for name in names)


def _known_names(ports: tuple[PortSpec, ...], arguments: tuple[Argument, ...]) -> None:
    """Raise ContractError for an extent of what is no argument."""
    known = [argument.name for argument in arguments]
    for port in ports:
        for extent in port.extents or ():
            _check_names(extent, known, port.where)


def _check_names(expression: Expression, known: list[str], where: str) -> None:
    unknown = sorted(expression.names - set(known))
    if unknown:
        text = f"got {unknown[0]!r} in {expression.text!r}, the arguments are {', '.join(known) or 'none'}"
        raise ContractError("size_expression", where, text)


def _scratch(given: Any, arguments: tuple[Argument, ...], where: str) -> tuple[Expression, Expression]:
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__") or len(tuple(given)) != 2:
        text = f"got scratch={shown(given)}, wanted two sizes: bytes gathered and packed for each byte of output"
        raise ContractError("scratch", where, text)
    gathered, packed = (Expression.of(size, f"{where}: scratch") for size in given)
    for size in (gathered, packed):
        _check_names(size, [argument.name for argument in arguments], f"{where}: scratch")
    return gathered, packed
