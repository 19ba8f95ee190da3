"""Options that the studies share."""

from pathlib import Path

import click

from tessbed.scenarios.engines import ENGINES
from tessbed.scenarios.study.measure import Measurement
from tessbed.verbs.options import say

engine_option = click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="exact",
    show_default=True,
    help="What times the EV74: an exact recurrence without bytes, events with every byte, or both, compared.",
)
plot_option = click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Also draw it (needs matplotlib)."
)


def say_engine(measured: Measurement, asked: str, *, quiet: bool) -> None:
    """Say why another engine ran than was asked for, on stderr."""
    if measured.instead:
        say(f"engine {measured.engine}, not {asked}: {measured.instead}", quiet=quiet)
