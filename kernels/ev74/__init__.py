"""The EV74 packet format: encoding, decoding, rules, disassembly, generated documents.

Each row of OPERATIONS is an attribute here, by its name: `ev74.tess` and its like have encode_relocatable.
"""

from typing import TYPE_CHECKING

from tessbed.kernels.operations import OPERATIONS

if TYPE_CHECKING:
    from tessbed.kernels.ev74.encode import Encoder


def __getattr__(name: str) -> "Encoder":
    row = OPERATIONS.get(name)
    if row is None:
        raise AttributeError(f"module {__name__!r} has no operation {name!r}, there are {', '.join(OPERATIONS)}")
    from tessbed.kernels.ev74.encode import encoder_of  # not before: the firmware reads packets, and knows no Plan

    return encoder_of(row)


def __dir__() -> list[str]:
    return sorted(OPERATIONS)
