"""Clock: what a calibration says where every measurement is a time and the clock is only assumed.

Twice the clock and twice the ticks give the same times. So no tick is determined, but its time is, and of a rate the
bytes in a microsecond. Every verdict that would be `determined` becomes `combination` with the clock.
"""

import attrs

from tessbed.scenarios.study.calibration.estimate import Calibration, Combination, Estimate
from tessbed.scenarios.study.calibration.parameter_space import CLOCK, PARAMETERS

TIMELESS = ("dma.outstanding_bursts", "dma.outstanding", "memory.background_percent")
"""Counts and shares: no clock changes them."""
RATES = tuple(one.path for one in PARAMETERS if one.scale == "rate" and one.path not in TIMELESS)
"""Bytes a tick: what they are in a microsecond grows with the clock."""


def relative_to_clock(calibration: Calibration) -> Calibration:
    """The calibration with every determined tick and rate bound to the clock, which is not determined."""
    bound = [one for one in calibration.estimates if _scales(one)]
    made = tuple(_combination(one, calibration.clock_mhz) for one in bound)
    texts = {one.paths[0]: one.text for one in made}
    estimates = tuple(_relative(one, texts) for one in calibration.estimates)
    clock = calibration.clock_mhz
    own = Estimate(CLOCK.path, clock, clock, "combination", "guess", combination=f"every tick / {CLOCK.path}")
    combinations = (*(_with_clock(one) for one in calibration.combinations), *made)
    return attrs.evolve(calibration, estimates=(*estimates, own), combinations=combinations)


def _scales(one: Estimate) -> bool:
    return one.verdict == "determined" and one.path not in TIMELESS


def _text(path: str) -> str:
    return f"{path} {'*' if path in RATES else '/'} {CLOCK.path}"


def _combination(one: Estimate, clock_mhz: int) -> Combination:
    """Microseconds of a tick, or bytes in one of a rate."""
    factor = clock_mhz if one.path in RATES else 1 / clock_mhz
    fitted = float(one.value) if one.fitted is None else one.fitted
    ends = [None if end is None else end * factor for end in (one.low, one.high)]
    kind = "product" if one.path in RATES else "ratio"
    return Combination(_text(one.path), kind, (one.path, CLOCK.path), fitted * factor, *ends)


def _relative(one: Estimate, texts: dict[str, str]) -> Estimate:
    if one.path not in texts:
        return one
    open_ = {"verdict": "combination", "provenance": "combination", "low": None, "high": None}
    return attrs.evolve(one, combination=texts[one.path], **open_)


def _with_clock(one: Combination) -> Combination:
    """A group of its own is bound to the clock, too; its value is in ticks of the assumed one."""
    return attrs.evolve(one, text=f"({one.text}) at an assumed {CLOCK.path}", paths=(*one.paths, CLOCK.path))
