"""`tessbed profile`: the spans of a timeline added up, for people without a viewer."""

import click

from tessbed.commands.options import json_option, new_command, print_result, quiet_option, scenario_arguments
from tessbed.commands.types import Number

HELP = """Run the EV74 jobs of SCENARIO and add up where the ticks of every core went.

By core, by class of tiles, by what was waited for; then the longest bands and the longest waits, with their ticks: the
spans of `tessbed trace`, as text. `tessbed explain` follows one core, the one that ends last.

Exit code: as that of `run`."""


@new_command("profile", HELP)
@scenario_arguments
@click.option("--top", type=Number(1), default=10, show_default=True, help="Number of bands and waits to show.")
@json_option
@quiet_option
def command(file: str, settings: tuple[str, ...], seed: int | None, top: int, as_json: bool, quiet: bool) -> int:
    """The profile on stdout; returns the exit code."""
    from tessbed.commands.scenario_run import foretell, watched_run
    from tessbed.scenarios.library import load
    from tessbed.scenarios.provenance.basis_words import KEY, basis_document
    from tessbed.scenarios.provenance.tick_basis import tick_basis
    from tessbed.scenarios.report import exit_code
    from tessbed.scenarios.study.measurement import studied
    from tessbed.scenarios.timeline.formats import profile
    from tessbed.scenarios.timeline.timeline import Timeline

    scenario = studied(load(file, settings, seed), "profile")
    meter = foretell(scenario, "simpy", trace=False, quiet=quiet)
    found = profile.Profile(top)
    timeline = Timeline.of_scenario(found, scenario)
    done = watched_run(scenario, "simpy", meter, quiet=quiet or as_json, timeline=timeline)
    document = {**found.document(scenario.name), KEY: basis_document([tick_basis(scenario)])}
    print_result(document, lambda: profile.lines(document), as_json=as_json)
    return exit_code(done)
