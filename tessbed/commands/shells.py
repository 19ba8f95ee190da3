"""Shells: completion as bash, zsh and fish ask for it, over Click's protocol.

A shell calls `tessbed` with `_TESSBED_COMPLETE=bash_complete` (or zsh, fish) and the line in COMP_WORDS. The scripts
are our own where Click's would break what we complete: keys hold `*`, which must not be taken for files; they end in
`=`, behind which no space may come; and bash cuts words at `=`.
"""

import os
from typing import Any

import click
from click.shell_completion import (
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from tessbed.commands import group
from tessbed.commands.streams import echo_file

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_TESSBED_COMPLETE"

BASH = r"""
%(complete_func)s() {
    local line type value cur="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    while IFS= read -r line; do
        type="${line%%%%,*}" value="${line#*,}"
        case "$type" in
            file) compopt -o filenames 2>/dev/null
                  while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$cur") ;;
            *) COMPREPLY+=("$value"); [[ $value == *= ]] && compopt -o nospace 2>/dev/null ;;
        esac
    done < <(env %(complete_var)s=bash_complete COMP_WORDS="${COMP_LINE:0:COMP_POINT}" \
             COMP_BREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null)
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || complete -F %(complete_func)s %(prog_name)s
"""

ZSH = r"""#compdef %(prog_name)s
%(complete_func)s() {
    local -a names keys described
    local line type value about
    for line in "${(@f)$(env COMP_WORDS="${(j: :)words[1,CURRENT]}" COMP_CWORD=$((CURRENT-1)) \
                         %(complete_var)s=zsh_complete ${(Q)words[1]} 2>/dev/null)}"; do
        type="${line%%%%,*}" value="${line#*,}" about="${value#*$'\t'}" value="${value%%%%$'\t'*}"
        case "$type" in
            file) _files ;;
            dir) _files -/ ;;
            plain) if [[ $value == *= ]]; then keys+=("$value")
                   elif [[ -n $about ]]; then described+=("$value:$about")
                   else names+=("$value"); fi ;;
        esac
    done
    (( $#described )) && _describe -V 'tessbed' described
    (( $#names )) && compadd -V names -a names
    (( $#keys )) && compadd -S '' -V keys -a keys
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""


class Bash(ShellComplete):
    """Bash: words are ours to split, since bash cuts them at `=`, and completes what is behind the cut."""

    name = "bash"
    source_template = BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, and that one."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if not line or line[-1].isspace() else (words[:-1], words[-1] if words else "")

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """`type,value`: what bash puts in place of the part of the word behind its last cut."""
        value, breaks = str(item.value), os.environ.get("COMP_BREAKS", "")
        cut = max((self.get_completion_args()[1].rfind(char) for char in "=:" if char in breaks), default=-1)
        quoted = split_quote(os.environ["COMP_WORDS"])
        return f"{item.type},{value if quoted else value[cut + 1 :]}"


def split_quote(line: str) -> str:
    """The quote that is still open at the end of a line, or nothing."""
    quote = ""
    for char in line:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
    return quote


class Zsh(ZshComplete):
    """Zsh: keys are no files, and no space comes behind `=`."""

    source_template = ZSH

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """`type,value`, a tab, and what it is about; zsh itself quotes."""
        about = (item.help or "").replace("\n", " ").replace("\t", " ")
        value = str(item.value).replace(":", r"\:") if about and not str(item.value).endswith("=") else item.value
        return f"{item.type},{value}\t{about}"


def _classes() -> None:
    add_completion_class(Bash)
    add_completion_class(Zsh)
    add_completion_class(FishComplete)


def script(shell: str) -> str:
    """The completion script of a shell."""
    _classes()
    kind: Any = get_completion_class(shell)
    return kind(group.group, {}, group.PROGRAM, VARIABLE).source().lstrip("\n")


def complete(instruction: str) -> int:
    """What a shell asks for; returns the exit code."""
    shell, _, wanted = instruction.partition("_")
    if shell not in SHELLS or wanted not in ("source", "complete"):
        text = f'got "{instruction}", wanted a shell and a task such as bash_source'
        raise click.BadParameter(text, param_hint=VARIABLE)
    if wanted == "source":
        echo_file(script(shell))
        return 0
    _classes()
    kind: Any = get_completion_class(shell)
    words, _ = kind(group.group, {}, group.PROGRAM, VARIABLE).get_completion_args()
    found = kind(group.group, {"obj": words[1:]}, group.PROGRAM, VARIABLE).complete()
    echo_file(f"{found}\n")
    return 0
