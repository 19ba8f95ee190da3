"""Transfer costs: the five integers of a transfer, for whoever has a spec and descriptors at hand."""

from collections.abc import Sequence

from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.cost import TransferCost, cost_table
from tessbed.sim.transfer.descriptor import Descriptor


def read_cost(spec: DeviceSpec, descriptor: Descriptor) -> TransferCost:
    """Those of a gather read."""
    return cost_table(spec).read(descriptor)


def chain_cost(spec: DeviceSpec, descriptors: Sequence[Descriptor]) -> TransferCost:
    """Those of a drain chain, and of its segments."""
    return cost_table(spec).chain(descriptors)
