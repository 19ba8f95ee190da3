"""The format of a failure case: tensors by name, then steps of a program that uses a runtime, right or wrong.

A step that must be refused says so, with the code of the refusal; any other error ends the failure case. STEPS is the
whole list of steps, with their keys.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.kernels import (
    ChannelStorage,
    Contiguous,
    DType,
    Layout,
    MlaCBlocked,
    MlaTiled,
    Strided,
    TensorSpec,
)
from tessbed.kernels.operations import OPERATIONS, names_where
from tessbed.runtime.memory.coherency import Policy
from tessbed.scenarios.format.diagnostics import KeyPath, ScenarioError, alternatives, nearest
from tessbed.scenarios.format.loader import DEFAULT_PRESET, firmware_choice
from tessbed.scenarios.format.reader import Reader, describe_value
from tessbed.scenarios.format.schema_keys import (
    CBLOCKED,
    FIRMWARE,
    LINEAR,
    OP,
    PER_AXIS,
    TEXT,
    TILED,
    Key,
    all_dtypes,
    integer_kind,
    listed,
    one_from,
    one_of,
    parameter_keys,
)
from tessbed.scenarios.format.toml_source import Source, parse_toml
from tessbed.scenarios.model import FirmwareChoice
from tessbed.scenarios.shipped import failure_cases

BYTES = integer_kind(0, 1 << 40)
NAMES = listed("a list of names", TEXT)
TENSOR = (
    Key("name", "what the steps call it", TEXT, required=True),
    Key("dtype", "its scalar type", one_from(all_dtypes), required=True),
    Key("shape", "its logical extents", PER_AXIS, required=True),
    Key("tiled", "pixel-major tiles; dense row-major without any layout", table=TILED),
    Key("cblocked", "channel blocks", table=CBLOCKED),
    Key("linear", "pitched rows", table=LINEAR),
)
JOB = Key("job", "which job", TEXT, required=True)
VIEW = Key("view", "which view", TEXT, required=True)
BUFFER = Key("buffer", "which buffer", TEXT, required=True)
TENSOR_NAME = Key("tensor", "which tensor", TEXT, required=True)
OPERATION = (
    Key("op", "the operation", OP, required=True),
    Key("source", "the view that it reads", TEXT, required=True),
    Key("reads", "the tensor that it takes the source for", TEXT, required=True),
    Key("target", "the view that it writes", TEXT, required=True),
    Key("writes", "the tensor that it makes", TEXT, required=True),
    *parameter_keys(OPERATIONS.values()),
)
NODE = (
    Key("name", "name of the node", TEXT, required=True),
    Key("backend", "the backend that runs it", one_of("a65", "ev74"), default="ev74"),
    *OPERATION,
)
STEPS: dict[str, tuple[str, tuple[Key, ...]]] = {
    "allocate": (
        "make a buffer, large enough for the tensors that it holds or of a size in bytes; it is a view of itself",
        (
            BUFFER,
            Key("holds", "tensors, with padding and gaps", NAMES, default=()),
            Key("scalars_of", "tensors, by the wrong size of their logical scalars", NAMES, default=()),
            Key("bytes", "a size", BYTES, default=0),
            Key("policy", "how the CPU reaches it", one_of(*(policy.value for policy in Policy)), default="uncached"),
        ),
    ),
    "place": (
        "make a view for a tensor at an offset of a buffer",
        (VIEW, BUFFER, Key("offset", "in bytes", BYTES, default=0), TENSOR_NAME),
    ),
    "write": (
        "let the CPU write a tensor's whole span",
        (VIEW, TENSOR_NAME, Key("pattern", "its bytes", one_of("golden", "words", "wide_words"), default="golden")),
    ),
    "flush": ("clean the CPU's lines", (VIEW,)),
    "invalidate": ("clean and invalidate the CPU's lines", (VIEW,)),
    "read": ("let the CPU read", (VIEW,)),
    "float_copy": ("take BF16 words through float arithmetic, as a careless cast does", (VIEW,)),
    "naive_cast": (
        "round FP32 words into a view of BF16 words by an addition alone, as a careless cast does",
        (Key("source", "the view of FP32 words", TEXT, required=True), VIEW),
    ),
    "submit": ("submit a job", (JOB, *OPERATION, Key("after", "jobs that come first", NAMES, default=()))),
    "wait": ("wait for a job", (JOB,)),
    "verify": ("compare what a finished job wrote with the oracle, and with what its source really holds", (JOB,)),
    "close": ("close a buffer's handle", (BUFFER,)),
    "register": ("register a graph", (Key("nodes", "its nodes", table=NODE, many=True, required=True),)),
    "end_process": ("end the client's process and start another", ()),
    "leaks": ("look for buffers that still live", ()),
    "read_scenario": (
        "read the text of a scenario file",
        (Key("text", "the file", attrs.evolve(TEXT, fits=lambda v: isinstance(v, str)), required=True),),
    ),
}
STEP_HEAD = (
    Key("do", "the step", one_of(*STEPS), required=True),
    Key("refused", "the code of the error that must come", TEXT),
)
FAILURE_CASE = (
    Key("name", "name of the failure case", TEXT, required=True),
    Key("about", "the lesson in one line", TEXT, required=True),
    Key("firmware", "what the image holds; everything without it", table=FIRMWARE),
    Key("tensors", "tensors by name", table=TENSOR, many=True, default=()),
)


@attrs.frozen
class FailureStep:
    """One step: a key of STEPS, its values, and the code of the refusal that must come."""

    do: str
    values: dict[str, Any]
    refused: str | None


@attrs.frozen
class FailureCase:
    """A failure case that can run."""

    name: str
    about: str
    preset: str
    firmware: FirmwareChoice
    tensors: dict[str, TensorSpec]
    steps: tuple[FailureStep, ...]


def shipped() -> dict[str, FailureCase]:
    """The failure cases that ship, read, by name."""
    return {
        name: compose_failure_case(parse_toml(path.read_text(encoding="utf-8"), str(path)))
        for name, path in failure_cases().items()
    }


def compose_failure_case(source: Source) -> FailureCase:
    """The failure case of a source. Raises ScenarioError with every error in its place."""
    reader = Reader(source)
    given = dict(source.values)
    listed_steps = given.pop("steps", None)
    values = reader.table((), given, FAILURE_CASE)
    steps = _steps(reader, listed_steps)
    tensors = {tensor["name"]: _spec(tensor) for tensor in values.get("tensors", ()) if len(tensor) == len(TENSOR)}
    for index, step in enumerate(steps):
        _check_tensors(reader, ("steps", index), step, tensors)
        for keys, operation in _operations(step):
            _check_parameters(reader, ("steps", index, *keys), operation)
    if reader.problems:
        raise ScenarioError(reader.problems)
    firmware = firmware_choice(reader, values["firmware"] or {})
    if reader.problems:
        raise ScenarioError(reader.problems)
    return FailureCase(values["name"], values["about"], DEFAULT_PRESET, firmware, tensors, tuple(steps))


def _steps(reader: Reader, given: Any) -> list[FailureStep]:
    if not isinstance(given, list) or not given:
        reader.report_error(
            ("steps",), f"got {describe_value(given) if given else 'none'}, wanted at least one [[steps]] table"
        )
        return []
    return [step for index, values in enumerate(given) if (step := _step(reader, ("steps", index), values))]


def _step(reader: Reader, path: KeyPath, values: Any) -> FailureStep | None:
    do = values.get("do") if isinstance(values, dict) else None
    if do not in STEPS:
        hint = nearest(do, STEPS) if isinstance(do, str) else ""
        reader.report_error((*path, "do"), f"got {describe_value(do)}, wanted {alternatives(STEPS)}{hint}")
        return None
    found = reader.table(path, values, (*STEP_HEAD, *STEPS[do][1]))
    return FailureStep(found.pop("do"), found, found.pop("refused")) if reader.sound(path) else None


def _check_tensors(reader: Reader, path: KeyPath, step: FailureStep, tensors: dict[str, TensorSpec]) -> None:
    """Report the names of tensors that there are not."""
    for key in ("tensor", "reads", "writes", "holds", "scalars_of"):
        value = step.values.get(key, ())
        for name in [value] if isinstance(value, str) else value:
            if name not in tensors:
                reader.report_error((*path, key), f"got {name!r}, wanted the name of a tensor{nearest(name, tensors)}")


def _operations(step: FailureStep) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """The operations of a step, and where they are in it."""
    if "op" in step.values:
        yield (), step.values
    for index, node in enumerate(step.values.get("nodes", ())):
        yield ("nodes", index), node


def _check_parameters(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    """Report parameters that the operation does not have."""
    for row in OPERATIONS.values():
        for parameter in row.parameters:
            where = (parameter.group, parameter.name) if parameter.group else (parameter.name,)
            if parameter in OPERATIONS[values["op"]].parameters or (*path, *where) in reader.invalid:
                continue
            if (value := parameter.value_in(values)) is not None:
                does = names_where(lambda other, p=parameter: p in other.parameters)
                text = f"got {value} on {values['op']}, wanted no such key: only {does} {parameter.does}"
                reader.report_error((*path, *where), text)


def _spec(values: dict[str, Any]) -> TensorSpec:
    layout: Layout = Contiguous()
    if tiled := values["tiled"]:
        layout = MlaTiled(tiled["axes"], tiled["tile"], ChannelStorage(tiled["channels"]))
    elif cblocked := values["cblocked"]:
        layout = MlaCBlocked(*cblocked["tile"])
    elif linear := values["linear"]:
        layout = Strided(linear["strides_bytes"])
    return TensorSpec(tuple(values["shape"]), DType(values["dtype"]), layout)
