"""`tessbed search`: the best configuration of a space that is too large to sweep."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tessbed.commands.exits import FAILED, OK, failed_ourselves
from tessbed.commands.options import json_option, new_command, print_result, quiet_option, say, settings_option
from tessbed.commands.study import (
    announce,
    check_outputs,
    db_option,
    engine_option,
    opened_output,
    out_option,
    plot_option,
    print_provenance,
    processes_option,
    varied_caption,
)
from tessbed.commands.types import SCENARIO, VARIED, Number, OneOf
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.option_values import LOAD_OBJECTIVES, OBJECTIVES, SAMPLERS

if TYPE_CHECKING:
    from tessbed.scenarios.study.sweep.resolver import Resolver

HELP = """Search the combinations of the keys of --over for the one with the fewest ticks of the EV74 jobs of SCENARIO,
or with the least latency or misses of its load.

VALUES are those of `tessbed sweep`: a range such as 1..16, a list such as 8,16,32, or both. A configuration is timed
once: results are kept in a database by its hash, and shared with sweeps.

Exit code: 0 ok, 1 no configuration has a result, 2 invalid input."""


@new_command("search", HELP)
@click.argument("file", metavar="SCENARIO", type=SCENARIO)
@click.option(
    "--over", "varied", type=VARIED, multiple=True, required=True, metavar="KEY=VALUES", help="A key and its values."
)
@click.option(
    "--minimise", "--minimize", type=OneOf(list(OBJECTIVES)), default="ticks", show_default=True,
    help="Device ticks of all jobs, job ticks, which count dispatch and completion, too, or of the load: the worst"
    " latency of its streams, frames missed or dropped, the busiest server's utilisation, and the interval between"
    " frames, least at the highest throughput.",
)  # fmt: skip
@click.option("--trials", type=Number(1), default=100, show_default=True, metavar="N", help="Number of trials.")
@click.option(
    "--sampler", "chosen", type=OneOf(SAMPLERS), default="tpe", show_default=True,
    help="How configurations are proposed: tpe and genetic learn (they need Optuna), random draws, grid goes in order.",
)  # fmt: skip
@click.option("--seed", type=Number(0, 2**32 - 1), default=0, show_default=True, help="Seed of the sampler.")
@click.option(
    "--within", type=Number(0, kind=float), metavar="PERCENT",
    help="Also name the cheapest configuration this close to the best: earliest value of the first key, then the next",
)  # fmt: skip
@settings_option("Override a key in every trial.")
@db_option
@out_option
@processes_option()
@engine_option
@plot_option
@json_option
@quiet_option
def command(
    file: str,
    varied: tuple[str, ...],
    minimise: str,
    trials: int,
    chosen: str,
    seed: int,
    within: float | None,
    settings: tuple[str, ...],
    db: str | None,
    outputs: tuple[str, ...],
    processes: int | None,
    engine: str,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The best configuration on stdout; returns the exit code."""
    from tessbed.commands.progress import counted
    from tessbed.scenarios.library import stem_of
    from tessbed.scenarios.study.search import report
    from tessbed.scenarios.study.search.sampler import sampler
    from tessbed.scenarios.study.search.trials import opened_memory, search
    from tessbed.scenarios.study.sweep import space, table
    from tessbed.scenarios.study.sweep.execution import interrupted
    from tessbed.scenarios.study.sweep.load_sweep import LOAD
    from tessbed.scenarios.study.sweep.point import bugs
    from tessbed.scenarios.study.sweep.resolver import Resolver, check_configuration

    spanned, name = space.parse_space(varied, "--over"), stem_of(file)
    of_load = minimise in LOAD_OBJECTIVES
    engine = LOAD if of_load else engine
    check_configuration(file, settings, spanned, "--over", of_load=of_load)
    count, path = min(trials, spanned.size), db or f"{name}.sweep.sqlite"
    check_outputs(path, outputs, plot)
    proposer = sampler(chosen, spanned, count, seed)
    asked = report.SearchRequest(name, minimise, chosen, seed, within)
    resolver = Resolver(file, settings, engine)
    with opened_output(path, quiet=quiet) as store, opened_memory(resolver, store, processes) as memory:
        if not of_load:
            _announce(resolver, engine, quiet=quiet)
        try:
            with counted(count, "trials", quiet=quiet) as progress:
                found = search(spanned, proposer, memory, asked.column, count, seed, progress)
        except KeyboardInterrupt:
            say(interrupted(path, store.count(memory.keys), "configurations of this search"), quiet=quiet)
            raise
    reported = report.document(asked, found, memory)
    say(_effort(reported["counts"], path), quiet=quiet)
    print_provenance(reported, engine, quiet=quiet)
    table.write_table(outputs, report.rows(found))
    if plot is not None:
        from tessbed.scenarios.study.plots.figure import save
        from tessbed.scenarios.study.plots.spaces import plot_search

        best = report.best_so_far([trial["ticks"] for trial in reported["trials"]])
        save(plot_search(reported, best, varied_caption(resolver, spanned)), plot)
    print_result(reported, lambda: report.lines(reported), as_json=as_json)
    tried = [found.baseline, *(trial.row for trial in found.trials)]
    if failures := bugs(tried):
        return failed_ourselves(f"{failures:,} of {len(tried):,} configurations")
    return FAILED if reported["best"] is None else OK


def _announce(resolver: "Resolver", engine: str, *, quiet: bool) -> None:
    """Say which jobs of the unchanged scenario will take long, where it can run at all."""
    from tessbed.scenarios.forecast import forecasts
    from tessbed.sim.errors import SpecError

    with suppress(SpecError, ScenarioError):
        announce(forecasts(resolver.resolve(()).base), engine, quiet=quiet)


def _effort(counts: dict[str, int], path: str) -> str:
    """What the search cost; the unchanged scenario is timed, too."""
    again = f", {counts['repeated']:,} proposed again" if counts["repeated"] else ""
    done = f"{counts['simulated']:,} simulated, {counts['remembered']:,} remembered"
    return f"{counts['trials']:,} trials{again}, and the scenario unchanged: {done}; results in {path}"
