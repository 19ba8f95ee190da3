"""What must be true of the bytes: requests, plans, the A65 executor, EV74 packets."""

from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import BindingError, ContractError, NotRepresentable
from tessbed.kernels.operations import OPERATIONS, Op, Operation
from tessbed.kernels.plan import Plan, PortPlan
from tessbed.kernels.storage import HostBuffer
from tessbed.kernels.tensor import (
    ChannelStorage,
    Contiguous,
    Layout,
    MlaCBlocked,
    MlaTiled,
    Strided,
    TensorSpec,
)
from tessbed.kernels.tiling import TileClass

__all__ = [
    "OPERATIONS",
    "BindingError",
    "ChannelStorage",
    "Contiguous",
    "ContractError",
    "DType",
    "HostBuffer",
    "Layout",
    "MlaCBlocked",
    "MlaTiled",
    "NotRepresentable",
    "Op",
    "Operation",
    "Plan",
    "PortPlan",
    "Strided",
    "TensorSpec",
    "TileClass",
]
