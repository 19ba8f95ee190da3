"""Options that the studies share."""

from pathlib import Path
from typing import Any

import click

from tessbed.scenarios.engines import ENGINES
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


def say_provenance(told: dict[str, Any], asked: str, *, quiet: bool) -> None:
    """Say on stderr why another engine ran than was asked for, and which jobs a study leaves out."""
    if told["instead"]:
        alone = " alone" if " " in told["engine"] else ""
        say(f"engine {told['engine']}, not {asked}{alone}: {told['instead']}", quiet=quiet)
    for job in told.get("failed", ()):
        say(f"job {job['name']} is left out: it {job['text']}", quiet=quiet)
