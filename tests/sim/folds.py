"""Folds: the five integers of a transfer, for whoever has a spec and descriptors at hand."""

from collections.abc import Sequence

from tessbed.sim.spec import DeviceSpec
from tessbed.sim.transfer import Descriptor, Fold, cost_table


def fold_read(spec: DeviceSpec, descriptor: Descriptor) -> Fold:
    """Those of a gather read."""
    return cost_table(spec).read(descriptor)


def fold_chain(spec: DeviceSpec, descriptors: Sequence[Descriptor]) -> Fold:
    """Those of a drain chain, and of its segments."""
    return cost_table(spec).chain(descriptors)
