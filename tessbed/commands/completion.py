"""`tessbed completion`: the script that makes a shell complete commands, options, scenarios, keys and files."""

import click

from tessbed.commands.options import new_command
from tessbed.commands.streams import echo_file
from tessbed.commands.types import OneOf

HELP = """Print the script that makes SHELL (bash, zsh or fish) complete tessbed's command lines.

\b
bash: eval "$(tessbed completion bash)"      in ~/.bashrc
zsh:  eval "$(tessbed completion zsh)"       in ~/.zshrc, after compinit
fish: tessbed completion fish | source       in ~/.config/fish/config.fish"""


@new_command("completion", HELP)
@click.argument("shell", metavar="SHELL", type=OneOf(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """The script on stdout."""
    from tessbed.commands.shells import script

    echo_file(script(shell))
