"""Load study: a load with all that may be asked of it: a rate, LoadGen's way to send frames, the events beside it."""

from collections.abc import Sequence
from typing import Any

from tessbed.scenarios.load.program import LoadProgram
from tessbed.scenarios.load.simulation import simulate_load
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.study.load import report
from tessbed.scenarios.study.load.compilation import compile_load
from tessbed.scenarios.study.load.loadgen import as_loadgen, loadgen_metrics
from tessbed.scenarios.study.load.rate_search import find_rate, parse_condition


def load_program(scenario: Scenario, loadgen: str | None = None) -> LoadProgram:
    """The program of a load, sent as its streams say or as a scenario of LoadGen. Raises ScenarioError."""
    program = compile_load(scenario)
    return program if loadgen is None else as_loadgen(program, loadgen, scenario.device.clock_mhz)


def study_load(
    scenario: Scenario,
    program: LoadProgram,
    conditions: Sequence[str] = (),
    loadgen: str | None = None,
    *,
    verify: bool = False,
) -> dict[str, Any]:
    """The document of `tessbed load --json`. Raises ScenarioError for a condition that is none."""
    wanted = [parse_condition(text) for text in conditions]
    reported = report.document(scenario, simulate_load(program))
    if loadgen is not None:
        reported["loadgen"] = {"scenario": loadgen, "metrics": loadgen_metrics(reported, loadgen)}
    if loadgen == "server" and not wanted:
        wanted = [parse_condition(f"p99 <= {min(stream.deadline_ticks or 0 for stream in program.streams)}")]
    if wanted:
        reported["find"] = find_rate(program, wanted, scenario.device.clock_mhz, simulate_load)
    if verify:
        from tessbed.scenarios.study.load.verification import verification

        reported["verification"] = verification(scenario, program)
    return reported
