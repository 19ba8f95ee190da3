"""Random ticks of a load, hashed from what they belong to: the seed, the replication, the stream, the job, the frame.

No order of events changes a draw, so that two loads that differ in one thing share all others (common random numbers):
a rate that changes stretches the same arrivals. The C form draws the same numbers by the same functions of the C
library.
"""

from math import cos, floor, log, pi, sqrt

from tessbed.scenarios.load.load_model import Distribution
from tessbed.sim.hash_random import GOLDEN, MASK

ARRIVAL = 0
"""What arrivals are drawn as; job number j as j + 1."""


def mix(value: int) -> int:
    """SplitMix64's finalizer."""
    value &= MASK
    value = ((value ^ (value >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
    return value ^ (value >> 31)


def root(seed: int, replication: int, stream: int, purpose: int) -> int:
    """What all draws of one kind start from."""
    state = seed & MASK
    for key in (replication, stream, purpose):
        state = mix(state + GOLDEN + key)
    return state


def ticks_of(distribution: Distribution, start: int, number: int) -> int:
    """The ticks of frame `number`: whole, at least 0."""
    if distribution.kind == "constant":
        return distribution.ticks
    state = mix(start + GOLDEN + number)
    if distribution.kind == "poisson":
        return floor(-log(_unit(state, 0)) * distribution.ticks + 0.5)
    if distribution.kind == "uniform":
        span = distribution.high - distribution.ticks
        return distribution.ticks + min(span, floor(_unit(state, 0) * (span + 1)))
    return floor(_gamma(state, distribution.cv) * distribution.ticks + 0.5)


def _unit(state: int, index: int) -> float:
    """A number between 0 and 1, neither of them."""
    return ((mix(mix(state + GOLDEN + index) + GOLDEN) >> 11) + 0.5) * 2.0**-53


def _gamma(state: int, cv: float) -> float:
    """A gamma variate of mean 1 (Marsaglia and Tsang 2000; a shape below 1 by its boost)."""
    shape = 1.0 / (cv * cv)
    large = shape if shape >= 1.0 else shape + 1.0
    d = large - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    index = 1
    while True:
        normal = sqrt(-2.0 * log(_unit(state, index))) * cos(2.0 * pi * _unit(state, index + 1))
        cube = 1.0 + c * normal
        if cube > 0.0:
            v = cube * cube * cube
            if log(_unit(state, index + 2)) < 0.5 * normal * normal + d - d * v + d * log(v):
                break
        index += 3
    value = d * v
    if shape < 1.0:
        value *= _unit(state, 0) ** (1.0 / shape)
    return value / shape
