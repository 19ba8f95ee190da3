"""Compute terms: how often each band pays each parameter of `DeviceSpec.compute`, found out by planning it once.

The computation of a band costs a sum of products, a count times a parameter, and perhaps ticks that a kernel gives in
numbers. Bands do not depend on these parameters. So a launch is planned on a device whose parameters are powers of a
large base, above any count: the ticks of a band are then a number whose digits are the counts.

No DeviceSpec has such parameters, as its limits refuse them. The one made here never leaves this module: it plans bands
and times nothing.
"""

import copy
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tessbed.sim.spec.device_spec import ComputeSpec, DeviceSpec, VectorTicks

BASE = 1 << 40
OWN = ("band_ticks", "run_ticks", "scalar_ticks", "clear_ticks")
TERMS = tuple(f"compute.{name}" for name in OWN) + tuple(
    f"compute.vector_ticks.{field.name}" for field in attrs.fields(VectorTicks)
)
"""The parameters, by their paths, in the order of the digits from the second on; the first is what a kernel gives."""


def counting_device(device: DeviceSpec) -> DeviceSpec:
    """The device with powers of the base for the ticks of computation. It is for planning alone."""
    powers = {path: BASE**digit for digit, path in enumerate(TERMS, 1)}
    own = {name: powers[f"compute.{name}"] for name in OWN}
    vectors = VectorTicks(**{field.name: powers[f"compute.vector_ticks.{field.name}"] for field in _vector_fields()})
    made = copy.copy(device)
    compute = ComputeSpec(vector_bytes=device.compute.vector_bytes, vector_ticks=vectors, **own)
    object.__setattr__(made, "compute", compute)  # the constructor would judge it
    return made


def terms_of(ticks: int) -> tuple[int, ...]:
    """The digits of a band's ticks on the counting device: what its kernel gives, then a count for each of TERMS."""
    digits = []
    for _ in range(len(TERMS) + 1):
        ticks, digit = divmod(ticks, BASE)
        digits.append(digit)
    return tuple(digits)


def term_matrix(ticks: list[int]) -> NDArray[np.float64]:
    """The terms of bands, a row each."""
    return np.array([terms_of(number) for number in ticks], np.float64).reshape(-1, len(TERMS) + 1)


def _vector_fields() -> Any:
    return attrs.fields(VectorTicks)
