"""`tessbed search`: the best configuration of a space that is too large to sweep."""

import json
from contextlib import closing
from pathlib import Path

import click

from tessbed.scenarios.library import find
from tessbed.scenarios.study.search import report
from tessbed.scenarios.study.search.sampler import SAMPLERS, sampler
from tessbed.scenarios.study.search.search import OBJECTIVES, Memory, search
from tessbed.scenarios.study.sweep import space, table
from tessbed.scenarios.study.sweep.resolve import Resolver, check_alone
from tessbed.scenarios.study.sweep.sweep import open_store
from tessbed.verbs.exits import FAILED, OK
from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option, quiet_option, say
from tessbed.verbs.study import db_option, engine_option, out_option, plot_option, say_provenance, watched

HELP = """Search the combinations of the keys of --over for the one with the fewest ticks of the EV74 jobs of SCENARIO.

VALUES are those of `tessbed sweep`: a range such as 1..16, a list such as 8,16,32, or both. A configuration is timed
once: results are kept in a database by its hash, and shared with sweeps.

Exit code: 0 ok, 1 no configuration has a result, 2 invalid input."""


@verb("search", HELP)
@click.argument("file", metavar="SCENARIO")
@click.option("--over", "varied", multiple=True, required=True, metavar="KEY=VALUES", help="A key and its values.")
@click.option(
    "--minimise", "--minimize", type=click.Choice(list(OBJECTIVES)), default="ticks", show_default=True,
    help="Device ticks of all jobs, or job ticks, which count dispatch and completion, too.",
)  # fmt: skip
@click.option("--trials", type=click.IntRange(1), default=100, show_default=True, metavar="N", help="Try so many.")
@click.option(
    "--sampler", "chosen", type=click.Choice(SAMPLERS), default="tpe", show_default=True,
    help="Who proposes: tpe and genetic learn (they need Optuna), random draws, grid goes in order.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of the sampler.")
@click.option(
    "--within", type=click.FloatRange(0), metavar="PERCENT",
    help="Also name the cheapest one so near the best: its first key has the earliest value, then the second, ...",
)  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key in every trial.")
@db_option
@out_option
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
    engine: str,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The best configuration on stdout; returns the exit code."""
    table.check_files(outputs)
    spanned, name = space.parse(varied, "--over"), find(file).stem
    check_alone(file, settings, spanned, "--over")
    count, path = min(trials, spanned.size), db or f"{name}.sweep.sqlite"
    proposer = sampler(chosen, spanned, count, seed)
    asked = report.Asked(name, minimise, chosen, seed, within)
    with closing(open_store(path)) as store, watched(count, quiet=quiet) as progress:
        memory = Memory(Resolver(file, settings, engine), store)
        try:
            found = search(spanned, proposer, memory, asked.column, count, seed, progress)
        except KeyboardInterrupt:
            say(f"interrupted; what is done is in {path}, the same command goes on", quiet=quiet)
            raise
    told = report.document(asked, found, memory)
    say(_effort(told["counts"], path), quiet=quiet)
    say_provenance(told, engine, quiet=quiet)
    table.write(outputs, report.rows(found))
    if plot is not None:
        from tessbed.scenarios.study.plot import course, save

        save(course(told, report.best_so_far([trial["ticks"] for trial in told["trials"]])), plot)
    if as_json:
        click.echo(json.dumps(told, indent=2))
    else:
        click.echo("\n".join(report.lines(told)))
    return FAILED if told["best"] is None else OK


def _effort(counts: dict[str, int], path: str) -> str:
    """What the search cost; the scenario as it stands is timed, too."""
    again = f", {counts['repeated']:,} proposed again" if counts["repeated"] else ""
    done = f"{counts['simulated']:,} simulated, {counts['remembered']:,} remembered"
    return f"{counts['trials']:,} trials{again}, and the scenario as it stands: {done}; results in {path}"
