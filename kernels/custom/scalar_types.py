"""Scalar types of ports: their names, their numbers in packets, and how numpy sees them."""

import attrs
import numpy as np


@attrs.frozen
class ScalarType:
    """A scalar type. BF16 is seen as its 16-bit word."""

    name: str
    code: int
    dtype: np.dtype

    @property
    def width(self) -> int:
        """Bytes of one scalar."""
        return self.dtype.itemsize

    @property
    def real(self) -> bool:
        """Whether numpy sees numbers that are no integers."""
        return self.dtype.kind == "f"


_NAMES = (
    *(("uint8", "u1"), ("int8", "i1"), ("uint16", "<u2"), ("int16", "<i2"), ("uint32", "<u4"), ("int32", "<i4")),
    *(("uint64", "<u8"), ("int64", "<i8"), ("float16", "<f2"), ("float32", "<f4"), ("float64", "<f8")),
    ("bf16", "<u2"),
)
SCALARS = {name: ScalarType(name, code, np.dtype(form)) for code, (name, form) in enumerate(_NAMES, 1)}
ALIASES = {"fp16": "float16", "fp32": "float32", "fp64": "float64", "bfloat16": "bf16"}
BY_CODE = {scalar.code: scalar for scalar in SCALARS.values()}


def port_scalar(name: str) -> ScalarType | None:
    """The type of that name, None where there is none."""
    return SCALARS.get(ALIASES.get(name, name))


def scalar_of(dtype: np.dtype) -> ScalarType | None:
    """The type that numpy calls so, None where no port has it; two bytes of ml_dtypes.bfloat16 are BF16."""
    if dtype.name == "bfloat16":
        return SCALARS["bf16"]
    return next((scalar for scalar in SCALARS.values() if scalar.dtype == dtype), None)
