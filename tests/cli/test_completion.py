"""Completion: what Tab offers, by Click's protocol and in the real shells; and the manual page."""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tessbed.commands.man import page
from tests.cli.conftest import Tessbed

ROOT = Path(__file__).parents[2]
# a line up to the cursor: what must be offered for its last word, and what must not
OFFERED = [
    ("tessbed ", {"run", "validate", "completion"}, {"luma", "--help"}),
    ("tessbed va", {"validate"}, {"run"}),
    ("tessbed --v", {"--version"}, set()),
    ("tessbed run lu", {"luma"}, {"chroma"}),
    ("tessbed drill stale", {"stale-cache"}, {"luma"}),
    ("tessbed run --eng", {"--engine"}, set()),
    ("tessbed run luma --engine ", {"simpy", "exact", "verify"}, {"luma"}),
    ("tessbed run luma --set dev", {"device.workers=", "device.dma.outstanding="}, {"seed=", "device.preset.x="}),
    ("tessbed run luma --set jobs.", {"jobs.*.backend=", "jobs.0.backend="}, {"jobs.1.backend="}),
    ("tessbed run chroma --set jobs.1.b", {"jobs.1.backend="}, {"jobs.*.backend="}),
    ("tessbed run nowhere --set jobs.", {"jobs.*.backend="}, {"jobs.0.backend="}),
    ("tessbed run luma --set jobs.*.backend=", {"jobs.*.backend=a65", "jobs.*.backend=ev74"}, set()),
    ("tessbed run luma --set device.byte_strobes=t", {"device.byte_strobes=true"}, {"device.byte_strobes=false"}),
    ("tessbed run luma --set device.preset=ev74-1", {"device.preset=ev74-1core"}, set()),
    ("tessbed sweep luma --vary jobs.0.backend=a65,e", {"jobs.0.backend=a65,ev74"}, {"jobs.0.backend=a65,both"}),
    ("tessbed search luma --over device.w", {"device.workers="}, set()),
    ("tessbed compare luma luma --set2 device.w", {"device.workers="}, set()),
    ("tessbed completion ", {"bash", "zsh", "fish"}, set()),
    ("tessbed run 'lu", {"luma"}, set()),
]


@pytest.mark.parametrize(("line", "there", "absent"), OFFERED, ids=[line for line, _, _ in OFFERED])
def test_offers(
    line: str, there: set[str], absent: set[str], tessbed: Tessbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last word of the line is completed by what fits there, and by nothing else."""
    monkeypatch.setenv("_TESSBED_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    said = tessbed()
    offered = {entry.removeprefix("plain,") for entry in said.out.splitlines()}
    assert (said.code, said.err) == (0, "")
    assert there <= offered
    assert not absent & offered


@pytest.mark.parametrize("line", ["tessbed run ", "tessbed disasm ", "tessbed drill ", "tessbed sweep luma --out "])
def test_files_are_offered(line: str, tessbed: Tessbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file may be, the shell is asked to complete files, too."""
    monkeypatch.setenv("_TESSBED_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    assert "file," in tessbed().out.splitlines()


def test_bash_gets_what_follows_its_last_cut(tessbed: Tessbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bash cuts words at `=`, and puts what it gets behind the cut; inside quotes it cuts nothing."""
    monkeypatch.setenv("_TESSBED_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_BREAKS", " \t\n\"'><=;|&(:")
    monkeypatch.setenv("COMP_WORDS", "tessbed run luma --set jobs.0.backend=e")
    assert tessbed().out == "plain,ev74\n"
    monkeypatch.setenv("COMP_WORDS", "tessbed run luma --set 'jobs.0.backend=e")
    assert tessbed().out == "plain,jobs.0.backend=ev74\n"


def test_a_scenario_that_can_not_be_read_breaks_no_completion(
    tessbed: Tessbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever is in the file that the line names, keys are offered and nothing is said."""
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b"jobs = [\xff")
    monkeypatch.setenv("_TESSBED_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"tessbed run {broken} --set device.wo")
    said = tessbed()
    assert (said.out, said.err) == ("plain,device.workers=\n", "")


def test_an_unknown_shell_is_an_error(tessbed: Tessbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both commands that print the scripts name the shells that there are."""
    assert "did you mean fish?" in tessbed("completion", "fisch").err
    monkeypatch.setenv("_TESSBED_COMPLETE", "tcsh_source")
    assert tessbed().code == 2


UNWANTED = ("numpy", "simpy", "tree_sitter", "tessbed.kernels", "tessbed.runtime")


@pytest.mark.parametrize(
    ("line", "unwanted"),
    [
        ("tessbed r", UNWANTED),
        ("tessbed run lu", UNWANTED),
        ("tessbed sweep --v", UNWANTED),
        ("tessbed run luma --set device.w", ("simpy", "tree_sitter", "tessbed.runtime", "tessbed.sim.device.device")),
    ],
)
def test_completion_loads_no_engine(line: str, unwanted: tuple[str, ...]) -> None:
    """Tab answers without numpy, but for keys, some of which the table of operations knows."""
    code = (
        "import sys\nfrom tessbed.cli import main\ntry:\n    main([])\n"
        f"except SystemExit:\n    print([name for name in {unwanted} if name in sys.modules])"
    )
    environment = os.environ | {"_TESSBED_COMPLETE": "bash_complete", "COMP_WORDS": line}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which `tessbed` is this tree's."""
    program = tmp_path / "bin" / "tessbed"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec env PYTHONPATH="{ROOT}" "{sys.executable}" -m tessbed "$@"\n')
    program.chmod(0o755)
    (tmp_path / "some packet.bin").touch()
    return f"{program.parent}:{os.environ['PATH']}"


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(tessbed completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -D -u; eval "$(tessbed completion zsh)"'),
}
TYPED = [  # what is typed, Tab at its end, and what is then on the line, by shell
    ("tessbed valida", {"bash": "tessbed validate ", "zsh": "tessbed validate "}),
    ("tessbed run luma --set device.wor", dict.fromkeys(SHELLS, "--set device.workers=")),
    ("tessbed run luma --set jobs.0.backend=e", dict.fromkeys(SHELLS, "--set jobs.0.backend=ev74 ")),
    ("tessbed run luma --set jobs.*.bac", {"bash": "jobs.*.backend=", "zsh": "\\*.backend="}),
    ("tessbed disasm som", dict.fromkeys(SHELLS, "some\\ packet.bin ")),
]


@pytest.mark.parametrize("shell", SHELLS)
def test_in_a_real_shell(shell: str, path: str, tmp_path: Path) -> None:
    """Tab in an interactive shell completes the line, quoted as the shell needs it, without a space behind `=`."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program, setup = SHELLS[shell]
    terminal = Terminal(program, {"PATH": path, "PS1": "READY> ", "TERM": "dumb", "HOME": str(tmp_path)}, tmp_path)
    try:
        terminal.until("READY> ")
        terminal.write(f"{setup}; PS1='DO''NE> '\n")
        terminal.until("DONE> ")
        for typed, completed in TYPED:
            terminal.write(f"{typed}\t")
            terminal.until(completed[shell])
            terminal.write("\x15")  # kills the line
    finally:
        terminal.close()


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, program: list[str], environment: dict[str, str], folder: Path) -> None:
        self.child, self.descriptor = pty.fork()
        self.seen = ""
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(program[0], program, environment)

    def write(self, text: str) -> None:
        """Type."""
        self.seen = ""
        os.write(self.descriptor, text.encode())

    def until(self, wanted: str, seconds: float = 60) -> None:
        """Read until the text is on the screen."""
        end = time.monotonic() + seconds
        while wanted not in plain(self.seen):
            assert time.monotonic() < end, f"wanted {wanted!r} in {plain(self.seen)!r}"
            if select.select([self.descriptor], [], [], 0.2)[0]:
                self.seen += os.read(self.descriptor, 1 << 16).decode(errors="replace")

    def close(self) -> None:
        """End the program."""
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.descriptor)


def plain(text: str) -> str:
    """What is on the line after backspaces."""
    line: list[str] = []
    for char in text:
        if char == "\b":
            line = line[:-1]
        else:
            line.append(char)
    return "".join(line)


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("tessbed run lum", "luma"),
        ("tessbed run luma --set device.wor", "device.workers="),
        ("tessbed run luma --set jobs.0.backend=e", "jobs.0.backend=ev74"),
        ("tessbed disasm som", "some packet.bin"),
    ],
)
def test_in_fish(words: str, wanted: str, path: str, tmp_path: Path) -> None:
    """Fish offers the same."""
    script = f"tessbed completion fish | source; complete -C '{words}'"
    line, environment = ["fish", "--no-config", "-c", script], os.environ | {"PATH": path, "HOME": str(tmp_path)}
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert wanted in [entry.partition("\t")[0] for entry in done.stdout.splitlines()]


def test_the_manual_page_is_the_commands_own(tessbed: Tessbed) -> None:
    """The page that a wheel installs is what `tessbed man` prints."""
    assert tessbed("man").out == page() == (ROOT / "docs" / "tessbed.1").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_man_shows_the_page() -> None:
    """The page is roff without a warning, and holds what help says."""
    done = subprocess.run(
        ["man", "--warnings", "-l", str(ROOT / "docs" / "tessbed.1")],
        env=os.environ | {"MANWIDTH": "200", "LC_ALL": "C"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert "Write the run folder." in done.stdout
    assert "the reader of the output closed it" in done.stdout


def test_the_page_leaves_the_commands_as_they_are(tessbed: Tessbed) -> None:
    """After the page is made, -h still explains a command."""
    assert tessbed("man").code == 0
    assert tessbed("list", "-h").code == 0
