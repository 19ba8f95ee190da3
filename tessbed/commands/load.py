"""`tessbed load`: streams of frames through the jobs of a scenario: latencies, drops, and what the limit is."""

from tessbed.commands.options import json_option, new_command, print_result, scenario_arguments

HELP = """Run the streams of SCENARIO through its jobs and servers, and report latencies, drops, and who is busy.

The ticks of each job are the exact engine's; frames wait for devices, cores and the servers of external jobs.

Exit code: 0 ok, 2 invalid input."""


@new_command("load", HELP)
@scenario_arguments
@json_option
def command(file: str, settings: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """The report on stdout."""
    from tessbed.scenarios.library import load
    from tessbed.scenarios.load.simulation import simulate_load
    from tessbed.scenarios.study.load import report
    from tessbed.scenarios.study.load.compilation import compile_load

    scenario = load(file, settings, seed)
    reported = report.document(scenario, simulate_load(compile_load(scenario)))
    print_result(reported, lambda: report.lines(reported), as_json=as_json)
