"""Load study: a load with all that may be asked of it: a rate, LoadGen's way to send frames, the events beside it."""

from collections.abc import Sequence
from typing import Any

from tessbed.scenarios.load.program import LoadProgram
from tessbed.scenarios.load.simulation import simulate_load
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.study.load import report
from tessbed.scenarios.study.load.compilation import compile_load
from tessbed.scenarios.study.load.conditions import check_frames, parse_condition, required_document
from tessbed.scenarios.study.load.loadgen import as_loadgen, loadgen_metrics
from tessbed.scenarios.study.load.rate_search import find_rate

REQUIRE = "--require"


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
    required: Sequence[str] = (),
    verify: bool = False,
) -> dict[str, Any]:
    """The document of `tessbed load --json`. Raises ScenarioError for a condition that is none."""
    clock = scenario.device.clock_mhz
    wanted = [parse_condition(text, clock) for text in conditions]
    judged = [parse_condition(text, clock, REQUIRE) for text in required]
    run = simulate_load(program)
    check_frames(judged, run, REQUIRE)
    reported = report.document(scenario, run)
    if loadgen is not None:
        reported["loadgen"] = {"scenario": loadgen, "metrics": loadgen_metrics(reported, loadgen)}
    if loadgen == "server" and not wanted:
        wanted = [parse_condition(f"p99 <= {min(stream.deadline_ticks or 0 for stream in program.streams)}", clock)]
    if wanted:
        reported["find"] = find_rate(program, wanted, clock, simulate_load)
    if judged:
        reported["require"] = required_document(judged, run)
    if verify:
        from tessbed.scenarios.study.load.verification import verification

        reported["verification"] = verification(scenario, program)
    return reported
