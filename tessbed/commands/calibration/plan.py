"""`tessbed calibrate plan`: which experiments a board should run, and what they will tell."""

from pathlib import Path

import click

from tessbed.commands.exits import OK
from tessbed.commands.options import MAX_SEED, json_option, new_command, print_result, quiet_option, say
from tessbed.commands.types import Folder, Number, OneOf
from tessbed.scenarios.study.calibration.observables import OBSERVABLES

HELP = """Choose BUDGET experiments that together tell most about the device, and write what a board needs to run them.

Candidates are the jobs of the catalogue and DMA probes, on 1, 2, 4 and 8 workers. They are chosen one by one, each for
the information that it adds about all parameters at once (D-optimality), at points drawn from their ranges. One in five
is held out for validation, in whole shapes.

The folder gets setup.toml and table.csv to be filled in, plan.txt, and a scenario and a packet of each experiment.

Exit code: 0 planned, 2 invalid input."""


@new_command("plan", HELP)
@click.option("--budget", type=Number(3), required=True, metavar="N", help="Experiments, those held out included.")
@click.option("-o", "--output", "folder", metavar="FOLDER", required=True, type=Folder(), help="Created if missing.")
@click.option("--observable", "observables", type=OneOf(list(OBSERVABLES)), multiple=True, default=("device", "job"),
              show_default=True, help="What the board can measure of a job. Can be repeated.")  # fmt: skip
@click.option("--repeats", type=Number(1), default=3, show_default=True, metavar="N", help="Repetitions of each.")
@click.option("--noise", type=click.FloatRange(0.01, 100), default=2.0, show_default=True, metavar="PERCENT",
              help="Scatter of one repetition.")  # fmt: skip
@click.option("--preset", default="ev74-4core", show_default=True, metavar="PRESET", help="The device of the guesses.")
@click.option("--match", default="", metavar="TEXT", help="Only candidates whose names have this in them.")
@click.option("--points", type=Number(1), default=6, show_default=True, metavar="N", help="Points drawn.")
@click.option("--seed", type=Number(0, MAX_SEED), default=0, show_default=True, help="Seed of the draws.")
@json_option
@quiet_option
def command(
    budget: int,
    folder: Path,
    observables: tuple[str, ...],
    repeats: int,
    noise: float,
    preset: str,
    match: str,
    points: int,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> int:
    """What the plan expects on stdout; returns the exit code."""
    from tessbed.commands.progress import counted
    from tessbed.scenarios.study.calibration.board_data import Setup
    from tessbed.scenarios.study.calibration.plan.candidates import candidates
    from tessbed.scenarios.study.calibration.plan.plan_folder import plan_files, setup_template, write_plan
    from tessbed.scenarios.study.calibration.plan.planning import PlanOptions, make_plan, plan_document, plan_lines

    found = candidates(preset, Path(), match=match)
    if len(found) < budget:
        raise click.UsageError(f"--budget: got {budget}, wanted {len(found)} at most: so many candidates there are")
    options = PlanOptions(budget, tuple(dict.fromkeys(observables)), repeats, noise / 100, points, seed)
    with counted(points, "points", quiet=quiet) as advance:
        plan = make_plan(found, Setup("", 1000, preset=preset), options, advance)
    lines = list(plan_lines(plan))
    files = plan_files(plan.fitted, plan.held, options.observables, repeats, setup_template(preset), lines)
    write_plan(folder, files)
    print_result(plan_document(plan), lambda: lines, as_json=as_json)
    say(f"wrote {len(files):,} files to {folder}; fill in setup.toml and table.csv", quiet=quiet)
    return OK
