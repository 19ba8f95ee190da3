"""The operations: one row each, of data alone, from which every package takes what it needs to know of an operation.

Packet codes and rules, admission, scenario keys, documentation, the array functions and the command line walk this
table. A row says in which direction an operation goes, which pairs of scalar types it has and the conversion of each,
which tile formats, and which parameters; nothing of that is asked of an operation's name, or inferred from widths. What
an operation has to say beyond a row (how its parameters are judged) is a function in `kernels.ops.parameters`; what
moves the values is an entry for the conversion in the tables of the packages (`kernels.conversions`).
Source: the "Contract" sections of the three documents.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cache
from typing import Any

import attrs

import tessbed.kernels.binary32 as binary32
from tessbed.kernels.conversions import CONVERSIONS
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError


class TileFormat(Enum):
    """How a tile stores its pixels."""

    COMPACT = "compact"
    PAD16 = "pad16"
    CBLOCKED = "cblocked"


@attrs.frozen
class Scalars:
    """One admitted pair of scalar types, and the name of what turns one into the other."""

    tiled: DType
    linear: DType
    conversion: str


@attrs.frozen
class Refusal:
    """A scalar type that belongs to another operation: the code and the words of its refusal."""

    dtype: DType
    code: str
    text: str


@attrs.frozen
class Parameter:
    """A value that an operation's Params hold: a whole number from `low` to `high`, one of `choices`, or a real number.

    `name` is its name in Params and in a scenario, there as a key of the table `group` if that is given; `argument` is
    its name in the array functions. `fits` says which jobs may have one, `does` what only such operations do. `field`
    is the packet field that carries it, as a whole number.
    """

    name: str
    argument: str
    meaning: str
    fits: str
    does: str
    field: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    real: bool = False
    group: str = ""

    def value_in(self, values: Mapping[str, Any]) -> Any:
        """What keys say of it, those of its group in a table of its own; None where they say nothing."""
        return ((values.get(self.group) or {}) if self.group else values).get(self.name)

    def words(self, word: int) -> str:
        """The value that `word` stands for, as a person reads it."""
        if self.real:
            return binary32.text_of(word)
        return self.choices[word] if self.choices else str(word - 256 if word > 127 and self.low < 0 else word)

    def stands_for(self, word: int) -> bool:
        """Whether `word`, as the packet field holds it, stands for a value: the bits of a positive finite binary32
        number, the number of a choice, or the byte of a whole number.
        """
        if self.real:
            return 0 < word < binary32.INFINITY
        if self.choices:
            return 0 <= word < len(self.choices)
        return 0 <= word <= 0xFF and self.low <= (word - 256 if word > 127 and self.low < 0 else word) <= self.high


@attrs.frozen(cache_hash=True)
class Operation:
    """One operation. `title` is its name in sentences, `code` its one-hot number in packets.

    `packs` says that the tiled side is the output. `remedies` are what to do about the scalar type of the input and of
    the output, `refusals` the scalar types that are distinguished from others. With `strict_zero_strides` a stride of 0
    needs an extent of exactly 1 (DetessCast's rule), else of at most 1. `version_minor` is the lowest minor version of
    packets that knows the operation.
    """

    name: str
    title: str
    code: int
    packs: bool
    scalars: tuple[Scalars, ...]
    formats: tuple[TileFormat, ...]
    remedies: tuple[str, str]
    refusals: tuple[Refusal, ...] = ()
    strict_zero_strides: bool = False
    parameters: tuple[Parameter, ...] = ()
    version_minor: int = 0

    @property
    def value(self) -> str:
        """The name, as a member of an enumeration gives it."""
        return self.name

    @property
    def tiled_dtypes(self) -> tuple[DType, ...]:
        """The scalar types of the tiled side."""
        return tuple(dict.fromkeys(pair.tiled for pair in self.scalars))

    @property
    def linear_dtypes(self) -> tuple[DType, ...]:
        """The scalar types of the linear side."""
        return tuple(dict.fromkeys(pair.linear for pair in self.scalars))

    @property
    def inputs(self) -> tuple[DType, ...]:
        """The scalar types that the operation reads."""
        return _inputs(self)

    def outputs(self, source: DType | None = None) -> tuple[DType, ...]:
        """The scalar types that the operation makes of `source`, of any input where None."""
        return _outputs(self, source)

    @property
    def chooses_output(self) -> bool:
        """Whether an input type leaves the caller a choice of the output's."""
        return any(len(self.outputs(source)) > 1 for source in self.inputs)

    def conversion(self, tiled: DType, linear: DType) -> str:
        """The conversion of a pair of scalar types; ContractError for a pair that the row does not have."""
        for pair in self.scalars:
            if pair.tiled is tiled and pair.linear is linear:
                return pair.conversion
        pairs = " or ".join(f"{pair.tiled.value}/{pair.linear.value}" for pair in self.scalars)
        text = f"got {tiled.value}/{linear.value} (tiled/linear), {self.name} has {pairs}"
        raise ContractError("dtype_pair", "plan.linear_dtype", text)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy or a pickle of a row is the row of that name: there is one of each."""
        return operation, (self.name,)


@cache
def _inputs(row: Operation) -> tuple[DType, ...]:
    return row.linear_dtypes if row.packs else row.tiled_dtypes


@cache
def _outputs(row: Operation, source: DType | None) -> tuple[DType, ...]:
    ports = [(pair.linear, pair.tiled) if row.packs else (pair.tiled, pair.linear) for pair in row.scalars]
    return tuple(dict.fromkeys(target for read, target in ports if source in (None, read)))


_TESS_MOVES = "Tess moves INT8 and BF16 only; cast or quantize first"
_DETESS_MOVES = "Detess moves INT8 and BF16 only; DetessCast widens BF16"

_CASTTESS_READS = "CastTess reads FP32 or BF16; convert first"
_QUANTTESS_READS = "QuantTess reads FP32; convert first, or move INT8 with Tess"
_DEQUANT_READS = "DetessDequant reads INT8; DetessCast widens BF16"

PADDING = Parameter(
    name="int8_channel_padding",
    argument="fill",
    meaning="byte of padded channels",
    fits="tess on int8 with pad16, required there; quanttess with pad16, the zero point without it",
    does="writes padding",
    field="channel_fill",
    low=-128,
    high=127,
)
SCALE = Parameter(
    name="scale",
    argument="scale",
    meaning="factor of quanttess, divisor of detessdequant: positive and finite as binary32",
    fits="quanttess and detessdequant, required there",
    does="scales",
    field="scale",
    real=True,
    group="quantization",
)
ZERO_POINT = Parameter(
    name="zero_point",
    argument="zero_point",
    meaning="INT8 code of the number 0",
    fits="quanttess and detessdequant, required there",
    does="has a zero point",
    field="zero_point",
    low=-128,
    high=127,
    group="quantization",
)
ROUNDING = Parameter(
    name="rounding",
    argument="rounding",
    meaning="from the product to an integer",
    fits="quanttess, nearest_even without it",
    does="rounds to an integer",
    field="rounding",
    choices=("toward_zero", "nearest_even", "up", "down"),
    group="quantization",
)
"""Parameters, by the words of scenarios and packets. The number of a choice is its place, from 0."""

TESS = Operation(
    name="tess",
    title="Tess",
    code=1,
    packs=True,
    scalars=(Scalars(DType.INT8, DType.INT8, "copy"), Scalars(DType.BF16, DType.BF16, "split")),
    formats=(TileFormat.COMPACT, TileFormat.PAD16),
    remedies=(_TESS_MOVES, _TESS_MOVES),
    parameters=(PADDING,),
)
DETESS = Operation(
    name="detess",
    title="Detess",
    code=2,
    packs=False,
    scalars=(Scalars(DType.INT8, DType.INT8, "copy"), Scalars(DType.BF16, DType.BF16, "join")),
    formats=(TileFormat.COMPACT, TileFormat.PAD16),
    remedies=(_DETESS_MOVES, _DETESS_MOVES),
)
DETESSCAST = Operation(
    name="detesscast",
    title="DetessCast",
    code=4,
    packs=False,
    scalars=(Scalars(DType.BF16, DType.FP32, "widen"), Scalars(DType.BF16, DType.BF16, "join")),
    formats=(TileFormat.COMPACT, TileFormat.PAD16, TileFormat.CBLOCKED),
    remedies=("DetessCast reads BF16 only", "DetessCast widens to FP32 or keeps BF16; FP16 is not supported"),
    refusals=tuple(
        Refusal(dtype, "quantized", "quantized MLA output belongs to DetessDequant, not to DetessCast")
        for dtype in (DType.INT8, DType.UINT8, DType.INT16, DType.INT32)
    ),
    strict_zero_strides=True,
)

CASTTESS = Operation(
    name="casttess",
    title="CastTess",
    code=8,
    packs=True,
    scalars=(Scalars(DType.BF16, DType.FP32, "narrow"), Scalars(DType.BF16, DType.BF16, "split")),
    formats=(TileFormat.COMPACT, TileFormat.PAD16),
    remedies=(_CASTTESS_READS, "CastTess makes BF16 only"),
    version_minor=1,
)
QUANTTESS = Operation(
    name="quanttess",
    title="QuantTess",
    code=16,
    packs=True,
    scalars=(Scalars(DType.INT8, DType.FP32, "quantize"),),
    formats=(TileFormat.COMPACT, TileFormat.PAD16),
    remedies=(_QUANTTESS_READS, "QuantTess makes INT8 only"),
    parameters=(SCALE, ZERO_POINT, ROUNDING, PADDING),
    version_minor=1,
)
DETESSDEQUANT = Operation(
    name="detessdequant",
    title="DetessDequant",
    code=32,
    packs=False,
    scalars=(Scalars(DType.INT8, DType.FP32, "dequantize"),),
    formats=(TileFormat.COMPACT, TileFormat.PAD16, TileFormat.CBLOCKED),
    remedies=(_DEQUANT_READS, "DetessDequant makes FP32 only"),
    strict_zero_strides=True,
    parameters=(SCALE, ZERO_POINT),
    version_minor=1,
)

OPERATIONS: dict[str, Operation] = {
    row.name: row for row in (TESS, DETESS, DETESSCAST, CASTTESS, QUANTTESS, DETESSDEQUANT)
}


def names_where(holds: Callable[[Operation], bool]) -> str:
    """The operations whose rows say so, as a list with `or`."""
    return " or ".join(row.name for row in OPERATIONS.values() if holds(row))


def operation(name: str) -> Operation:
    """The row of that name; ContractError where the table has none."""
    row = OPERATIONS.get(name) if isinstance(name, str) else None
    if row is None:
        raise ContractError("op_unknown", "op", f"got {name!r}, wanted one of {', '.join(OPERATIONS)}")
    return row


@contextmanager
def registered(row: Operation) -> Iterator[Operation]:
    """Adds a row for the time of a `with`; ContractError for one that the table can not hold.

    Entries for its conversions belong into the tables of the packages, which are plain dicts.
    """
    _check(row)
    OPERATIONS[row.name] = row
    try:
        yield row
    finally:
        del OPERATIONS[row.name]


def _check(row: Operation) -> None:
    where = f"operation {row.name}"
    if row.name in OPERATIONS or not row.name.isidentifier():
        raise ContractError("op_name", where, f"got {row.name!r}, wanted a new name that Python can spell")
    if row.code.bit_count() != 1 or row.code > 0xFF or any(row.code == other.code for other in OPERATIONS.values()):
        raise ContractError("op_code", where, f"got {row.code}, wanted an unused power of two up to 128")
    for pair in row.scalars:
        if pair.conversion not in CONVERSIONS:
            text = f"got {pair.conversion!r}, wanted one of {', '.join(CONVERSIONS)}; add it to kernels.conversions"
            raise ContractError("conversion_unknown", where, text)


class OperationNames:
    """The rows as an enumeration gives its members: `Op("tess")`, `Op.TESS`, `for op in Op`."""

    def __call__(self, name: str) -> Operation:
        """The row of that name; ValueError where there is none."""
        return operation(name)

    def __getattr__(self, name: str) -> Operation:
        row = OPERATIONS.get(name.lower())
        if row is None or not name.isupper():
            raise AttributeError(f"no operation {name}, there are {', '.join(map(str.upper, OPERATIONS))}")
        return row

    def __iter__(self) -> Iterator[Operation]:
        return iter(tuple(OPERATIONS.values()))


Op = OperationNames()


@attrs.frozen(eq=False)
class CodeNames(Mapping[int, str]):
    """The names of the operations by their packet codes, as the table has them at the time of asking."""

    rows: Mapping[str, Operation]

    def __getitem__(self, code: int) -> str:
        for row in self.rows.values():
            if row.code == code:
                return row.name
        raise KeyError(code)

    def __iter__(self) -> Iterator[int]:
        return iter([row.code for row in self.rows.values()])

    def __len__(self) -> int:
        return len(self.rows)
