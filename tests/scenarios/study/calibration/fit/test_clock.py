"""A clock that is only assumed: times determine no tick, but what a tick and the clock make together."""

import attrs

from tessbed.scenarios.study.calibration.board_data import Setup, Table
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.execution import fit_table
from tessbed.scenarios.study.calibration.fit.fit_input import FitInput
from tests.scenarios.study.calibration.conftest import known_ranges, local_runner
from tests.scenarios.study.calibration.twin import hidden_values, measure

FEW = ("launch_stagger_ticks", "dma.setup_ticks", "memory.read_latency_ticks", "dma.bytes_per_tick")


def calibration(probes: dict[str, Experiment], source: str, unit: str, clock_mhz: int):
    """The fit of four parameters to probes of a hidden device with another clock than the setup says."""
    some = list(probes.values())[1::2]
    known = [path for path in hidden_values(0) if path not in FEW]
    hidden = hidden_values(5, factor=1.5, alike=known)
    table = measure(some, hidden, seed=5, unit=unit, clock_mhz=clock_mhz)
    setup = Setup("twin", 1000, source, ranges=known_ranges(tuple(known), some[0]))  # pyright: ignore
    return hidden, fit_table(FitInput(setup, Table(table.observations), tuple(some), starts=1), local_runner())


def test_on_an_assumed_clock_everything_is_relative_to_it(probes: dict[str, Experiment]) -> None:
    """Half the clock is twice the ticks: each is only determined in combination with the clock, which stays a guess."""
    hidden, found = calibration(probes, "assumed", "us", 1000)
    for path in FEW:
        one = found.estimate(path)
        sign = "*" if path == "dma.bytes_per_tick" else "/"
        assert (one.verdict, one.combination, one.low, one.high) == (
            "combination",
            f"{path} {sign} clock_mhz",
            None,
            None,
        )
    clock = found.estimate("clock_mhz")
    assert (clock.verdict, clock.provenance, clock.value) == ("combination", "guess", 1000)
    values = {one.paths[0]: one for one in found.combinations}
    setup = values["dma.setup_ticks"]
    assert abs(setup.value - hidden["dma.setup_ticks"] / 1000) < 0.1 * setup.value
    assert setup.low < setup.value < setup.high


def test_on_a_measured_clock_times_determine_ticks(probes: dict[str, Experiment]) -> None:
    """With a clock that is known a time is a number of ticks."""
    hidden, found = calibration(probes, "measured", "us", 1000)
    assert {found.estimate(path).verdict for path in FEW} == {"determined"}
    assert attrs.evolve(found, combinations=()) == found
    assert abs(found.estimate("dma.setup_ticks").value - hidden["dma.setup_ticks"]) < 0.1 * hidden["dma.setup_ticks"]


def test_ticks_need_no_clock(probes: dict[str, Experiment]) -> None:
    """Where all was counted in ticks, an assumed clock takes nothing away."""
    _, found = calibration(probes, "assumed", "ticks", 1000)
    assert {found.estimate(path).verdict for path in FEW} == {"determined"}
