"""The scalar types, and which of them a tile re-layout may carry."""

from enum import Enum
from functools import cached_property


class DType(Enum):
    """A scalar type; its value is the name that scenarios and messages use.

    INT8, BF16 and FP32 are moved by the operations. The others exist so that admission can refuse them by name.
    BF16 is always stored as its 16-bit word: a float type would canonicalise NaN payloads.
    """

    INT8 = "int8"
    BF16 = "bf16"
    FP32 = "fp32"
    FP16 = "fp16"
    UINT8 = "uint8"
    INT16 = "int16"
    INT32 = "int32"
    FP64 = "fp64"

    @cached_property
    def width(self) -> int:
        """Bytes of one scalar; also the alignment of a linear port."""
        return _WIDTHS[self]


_WIDTHS = {
    DType.INT8: 1,
    DType.BF16: 2,
    DType.FP32: 4,
    DType.FP16: 2,
    DType.UINT8: 1,
    DType.INT16: 2,
    DType.INT32: 4,
    DType.FP64: 8,
}
