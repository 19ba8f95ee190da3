"""`tessbed calibrate`: the commands that take a board's measurements to a preset with intervals."""

from tessbed.commands.group import CommandGroup

HELP = """Turn what a board measured into a preset whose fields have intervals and a provenance.

A calibration is a folder: setup.toml says how the board was measured, experiments/ holds a scenario for each
experiment, table.csv a line for each repetition. The commands follow each other."""
COMMANDS = {
    "plan": "choose experiments, and write what a board needs to run them",
    "bench": "read what the public bench of Tess prints, as lines of a table",
    "check": "judge a table before anything is fitted to it",
    "fit": "find the parameters, with a verdict and an interval for each",
    "validate": "predict what was held out, beside the guesses",
    "apply": "write the preset that a fit determined",
}

command = CommandGroup(
    "calibrate",
    COMMANDS,
    "tessbed.commands.calibration",
    help=HELP,
    subcommand_metavar="COMMAND [ARGUMENTS]...",
    options_metavar="",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
