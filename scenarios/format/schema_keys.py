"""The keys of a scenario file: one table, walked by the reader, the JSON Schema and the documentation.

Types are strict: true is no integer, 16.0 is no integer, and nothing is converted silently. What several keys must
satisfy together is judged by admission (kernels) and by the device's limits (sim), not here.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from tessbed.kernels.dtypes import DType
from tessbed.kernels.operations import OPERATIONS, Operation, Parameter, TileFormat, names_where
from tessbed.sim.completion_record import STATUS
from tessbed.sim.fault_injection import FAULT_KINDS

BACKENDS = ("a65", "ev74", "both")
CHANNELS = ("compact", "pad16")
PATTERNS = ("golden", "random", "ramp", "image", "activations")
ENDINGS = (*(name for name in STATUS if name != "ok"), "lost", "hang")
POLICIES = ("uncached", "cached")
MAX_SEED = 2**64 - 1


@attrs.frozen
class Kind:
    """What a key may hold: the words for it, the test of a value, its JSON Schema, the names that it chooses from.

    Where there are `choices`, the names are asked for each time: they come from a table, and so do words and schema.
    The value of a kind with an `item` is a list: `item` judges each entry, and `fits` what is left to ask of the list.
    """

    text: str
    fits: Callable[[Any], bool]
    form: dict[str, Any]
    choices: Callable[[], tuple[str, ...]] = tuple
    item: "Kind | None" = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it chooses from; none where it is no choice."""
        return self.choices()

    @property
    def wanted(self) -> str:
        """What it should be, in words."""
        *others, last = (f'"{name}"' for name in self.names or ("",))
        return self.text or " or ".join(filter(None, (", ".join(others), last)))

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        if self.item is not None:
            return {"type": "array", "items": self.item.schema, **self.form}
        return {"enum": list(self.names)} if self.names else self.form


@attrs.frozen
class Key:
    """One key: its kind, or the keys of the table (`many`: of every table of the list) that it holds, or either.

    Entries of a list have other keys where they are of another form: each is (key, value, keys of such an entry), the
    value "" where it is enough that the key is there.
    """

    name: str
    meaning: str
    kind: Kind | None = None
    table: "tuple[Key, ...]" = ()
    many: bool = False
    required: bool = False
    default: Any = None
    forms: "tuple[tuple[str, str, tuple[Key, ...]], ...]" = ()

    def table_of(self, item: Any) -> "tuple[Key, ...]":
        """The keys of an entry of the list."""
        for name, value, keys in self.forms:
            if isinstance(item, dict) and name in item and value in ("", item[name]):
                return keys
        return self.table


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def integer_kind(low: int, high: int) -> Kind:
    """An integer from `low` to `high`."""
    return Kind(
        f"an integer from {low} to {high}",
        lambda value: _is_integer(value) and low <= value <= high,
        {"type": "integer", "minimum": low, "maximum": high},
    )


def listed(wanted: str, item: Kind, count: int | None = None) -> Kind:
    """A list of items, of fixed length or not."""
    length = {"minItems": count, "maxItems": count} if count else {}
    return Kind(
        wanted,
        lambda value: isinstance(value, list) and count in (None, len(value)),
        length,
        item=item,
    )


def one_of(*names: str, more: tuple[str, ...] = ()) -> Kind:
    """One of `names`; the names in `more` are let through, for a refusal that can say more than a list of names."""
    return one_from(lambda: names, more)


def one_from(choices: Callable[[], tuple[str, ...]], more: tuple[str, ...] = ()) -> Kind:
    """One of the names that a table has at the time."""
    return Kind("", lambda value: isinstance(value, str) and value in choices() + more, {}, choices)


TEXT = Kind(
    'text, for example "head"',
    lambda value: isinstance(value, str) and bool(value.strip()) and value.isprintable(),
    {"type": "string", "minLength": 1},
)
FILE_NAME = attrs.evolve(TEXT, text='the name of a file, for example "x.bin"')
SHA256 = Kind(
    "64 hexadecimal digits",
    lambda value: isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef"),
    {"type": "string", "pattern": "^[0-9a-f]{64}$"},
)
VERSION = Kind(
    'a version such as "1.0"',
    lambda value: isinstance(value, str) and re.fullmatch(r"[0-9]{1,5}\.[0-9]{1,5}", value) is not None,
    {"type": "string", "pattern": "^[0-9]+\\.[0-9]+$"},
)
# Geometry is admission's affair: it says more about an extent of -1 than a range could.
INTEGER = Kind("an integer", _is_integer, {"type": "integer"})
# The reader passes a device table on as it is: sim knows its fields, limits and presets.
DEVICE = Kind("a table of device fields", lambda value: isinstance(value, dict), {"type": "object"})


REAL = Kind(
    "a number",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    {"type": "number"},
)


def op_names() -> tuple[str, ...]:
    """The operations, by name."""
    return tuple(OPERATIONS)


def _dtypes(of: Callable[[Operation], Iterable[DType]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(dtype.value for row in OPERATIONS.values() for dtype in of(row)))


def input_dtypes() -> tuple[str, ...]:
    """The scalar types that some operation reads."""
    return _dtypes(lambda row: row.inputs)


def tiled_dtypes() -> tuple[str, ...]:
    """The scalar types that some tiled side has."""
    return _dtypes(lambda row: row.tiled_dtypes)


def all_dtypes() -> tuple[str, ...]:
    """The scalar types that some operation reads or writes."""
    return tuple(dict.fromkeys((*input_dtypes(), *_dtypes(lambda row: row.outputs()))))


def targets() -> tuple[str, ...]:
    """The scalar types of outputs that are chosen."""
    return _dtypes(lambda row: row.outputs() if row.chooses_output else ())


def format_names() -> tuple[str, ...]:
    """The tile formats that some operation has."""
    return tuple(dict.fromkeys(form.value for row in OPERATIONS.values() for form in row.formats))


OP = one_from(op_names)
ANY_DTYPE = tuple(dtype.value for dtype in DType)
"""All scalar types are let through to admission, which refuses them in its own words."""
BLOCKED = names_where(lambda row: TileFormat.CBLOCKED in row.formats)
CHOOSING = names_where(lambda row: row.chooses_output)


def parameter_keys(rows: Iterable[Operation]) -> Iterator[Key]:
    """The keys of the operations' parameters, those of a group in a table of its own."""
    found: dict[str, Parameter] = {}
    for row in rows:
        found |= {parameter.name: parameter for parameter in row.parameters if parameter.name not in found}
    for parameter in found.values():
        if not parameter.group:
            yield _parameter_key(parameter)
    for group in dict.fromkeys(parameter.group for parameter in found.values() if parameter.group):
        members = [parameter for parameter in found.values() if parameter.group == group]
        yield Key(group, f"parameters of the {group}", table=tuple(map(_parameter_key, members)))


def _parameter_key(parameter: Parameter) -> Key:
    kind = REAL if parameter.real else integer_kind(parameter.low, parameter.high)
    if parameter.choices:
        kind = one_of(*parameter.choices)
    return Key(parameter.name, f"{parameter.meaning}; {parameter.fits}", kind)


AXES = listed("four integers [d, h, w, c], such as [-1, 0, 1, 2]", INTEGER, 4)
TILE = listed("four integers [d, h, w, c], such as [1, 16, 16, 3]", INTEGER, 4)
HWC = listed("three integers [h, w, c]", INTEGER, 3)
PER_AXIS = listed("a list of integers, one for each axis", INTEGER)

TILED = (
    Key(
        "axes",
        "logical axis of d, h, w, c; -1 where one is omitted",
        AXES,
        required=True,
    ),
    Key("tile", "elements of a full tile along d, h, w, c", TILE, required=True),
    Key(
        "channels",
        "channels that a pixel stores: its own, or rounded up to 16 in every tile",
        one_of(*CHANNELS),
        default="compact",
    ),
)
CBLOCKED = (
    Key(
        "tile",
        "elements of a full tile along h, w, c, the last three axes",
        HWC,
        required=True,
    ),
)
LINEAR = (Key("strides_bytes", "bytes from one element to the next, per axis", PER_AXIS, required=True),)
INPUT = (
    Key("pattern", "bytes generated by a rule (see Input)", one_of(*PATTERNS)),
    Key("file", "a .bin or .npy file, relative to the scenario file", FILE_NAME),
)
TICKS = integer_kind(0, 2**63 - 1)
LIMITS = (
    Key("at_most", "the most ticks that it may take", TICKS),
    Key("at_least", "the fewest ticks that it may take", TICKS),
)
EXPECT = (
    Key("output_sha256", "SHA-256 of the required span of the output", SHA256),
    Key("device_ticks", "ticks of the device on EV74: exactly so many, or a table of limits", TICKS, LIMITS),
    Key("job_ticks", "ticks from submission to the host's wake-up on EV74, likewise", TICKS, LIMITS),
    Key("fault", "how the job must fail on EV74: a device status, lost or hang", one_of(*ENDINGS)),
)
FAULT = (
    Key("kind", "kind of fault (see Faults)", one_of(*FAULT_KINDS), required=True),
    Key("worker", "worker of the transfer, for faults of a transfer", integer_kind(0, 63), default=0),
    Key("transfer", "index of the transfer in that worker, from 0", integer_kind(0, 2**32 - 1), default=0),
    Key("ticks", "delay, for faults of the completion", integer_kind(0, 2**40), default=0),
)
HELD = (
    Key("op", "the kernel's operation", OP, required=True),
    Key("dtype", "scalar type of its tiled side; all that the operation has without the key", one_from(tiled_dtypes)),
    Key("format", "format of its tiles; all that the operation has without the key", one_from(format_names)),
)
FIRMWARE = (
    Key(
        "ops",
        "operations that the image holds; all of them without the key",
        listed("a list of operations", OP),
    ),
    Key(
        "dtypes",
        "scalar types that the image holds; all of them without the key",
        listed("a list of scalar types", one_from(tiled_dtypes)),
    ),
    Key(
        "holds",
        "the kernels that the image holds, instead of ops and dtypes",
        table=HELD,
        many=True,
    ),
    Key(
        "packet_versions", 'packet versions that the image reads, such as "1.0"', listed("a list of versions", VERSION)
    ),
)
JOB = (
    Key("name", "name of the job, unique in the file", TEXT, required=True),
    Key("op", "the operation", OP, required=True),
    Key("backend", "the backend that runs it", one_of(*BACKENDS), default="both"),
    Key(
        "dtype",
        "scalar type of the tensor; detesscast reads bf16 only",
        one_from(input_dtypes, ANY_DTYPE),
        required=True,
    ),
    Key("shape", "logical extents, rank 1 to 6; an extent of 0 is an empty tensor", PER_AXIS, required=True),
    Key("tiled", "the tiled side: pixel-major tiles", table=TILED),
    Key("cblocked", f"the tiled side: channel blocks of 16; {BLOCKED} only, ranks 3 to 6", table=CBLOCKED),
    Key("linear", "the linear side; dense row-major without it", table=LINEAR),
    Key(
        "to",
        f"scalar type of the output; {CHOOSING} only, required there",
        one_from(targets, ANY_DTYPE),
    ),
    *parameter_keys(OPERATIONS.values()),
    Key("input", "where the input's bytes come from", table=INPUT, required=True),
    Key(
        "output_prefill",
        "byte that fills the output first; stride gaps still hold it afterwards",
        integer_kind(0, 255),
        default=0xC3,
    ),
    Key("policy", "how the CPU reaches the job's buffers on EV74: past its cache, or through it", one_of(*POLICIES)),
    Key(
        "workers",
        "logical workers of this job on EV74, at most the device's; all without the key",
        integer_kind(1, 64),
    ),
    Key(
        "timeout_ticks",
        "ticks from submission after which a job without a completion record is lost on EV74; no limit without it",
        integer_kind(1, 2**40),
    ),
    Key("faults", "faults injected into the job on EV74", table=FAULT, many=True, default=()),
    Key("expect", "what the job must produce, in addition to the oracle's bytes", table=EXPECT),
)
ARGUMENTS = Kind(
    "a table of numbers by the names of arguments",
    lambda value: isinstance(value, dict),
    {"type": "object", "additionalProperties": {"type": "number"}},
)
BUFFERS = Kind(
    "a table with a table of dtype, shape, pattern, file, job, port, prefill and offset for a port",
    lambda value: isinstance(value, dict),
    {"type": "object", "additionalProperties": {"type": "object"}},
)
BUFFER = (
    Key("dtype", "scalar type, where the kernel declares none", TEXT),
    Key("shape", "extents, where the kernel declares none, or to be sure", PER_AXIS),
    Key("pattern", "bytes of an input, generated by a rule; golden without pattern and file", one_of(*PATTERNS)),
    Key("file", "bytes of an input: a .bin or .npy file, relative to the scenario file", FILE_NAME),
    Key("job", "an input is the output of an earlier job of a kernel, by the job's name", TEXT),
    Key("port", "which output of that job; its only one without the key", TEXT),
    Key("prefill", "byte that fills an output first", integer_kind(0, 255), default=0xC3),
    Key("offset", "bytes from a page's start at which the buffer begins", integer_kind(0, 4095), default=0),
)
REFERENCE = attrs.evolve(TEXT, text='a kernel, as in "file.py:name", "package.module:name" or a registered name')
_SHARED = ("name", "workers", "timeout_ticks", "faults", "expect")
_JOB = {key.name: key for key in JOB}
KERNEL_JOB = (
    _JOB["name"],
    Key("kernel", "the kernel: file.py:name, package.module:name, or a registered name", REFERENCE, required=True),
    Key("backend", "the backend that runs it", one_of("ev74"), default="ev74"),
    Key("args", "its arguments; those without a value have their defaults", ARGUMENTS),
    Key("buffers", "its buffers by port, where something is to be said of them", BUFFERS),
    Key("kernel_sha256", "hash that the kernel's source must have; any without it", SHA256),
    *(_JOB[name] for name in _SHARED[1:]),
)
"""The keys of a job that runs a kernel of one's own."""
SCENARIO = (
    Key("name", "name of the scenario", TEXT, required=True),
    Key("about", "one line for lists", TEXT, default=""),
    Key("seed", "seed of random input and of every other random choice", integer_kind(0, MAX_SEED), default=0),
    Key("device", "preset, and any field of the device to override", DEVICE),
    Key("firmware", "what the firmware image holds; everything without it", table=FIRMWARE),
    Key(
        "jobs",
        "the jobs, in the order in which they run; one with the key kernel runs a kernel of one's own",
        table=JOB,
        many=True,
        required=True,
        forms=(("kernel", "", KERNEL_JOB),),
    ),
)
