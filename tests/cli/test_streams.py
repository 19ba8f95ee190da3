"""Every command on every kind of stream: what can not be written, read or shown ends as the page says."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tessbed.commands.group import COMMANDS, CommandGroup
from tessbed.scenarios.study.calibration.estimate import to_document
from tessbed.scenarios.study.calibration.parameter_space import PARAMETERS, parameter_value
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.cli import forks
from tests.cli.conftest import HEAD
from tests.kernels.ev74.cases import FOLDER
from tests.scenarios.study.calibration.board_files.board import SETUP, write_board
from tests.scenarios.study.calibration.board_files.test_bench_output import OUTPUT
from tests.scenarios.study.calibration.test_calibrated_preset import FIT

PACKET, OTHER = str(FOLDER / "cast-head.bin"), str(FOLDER / "detess-2x3.bin")
ON_DEVICE = ("--set", "jobs.0.backend=ev74")
# command: (arguments, where {file} is a small scenario; its exit code)
LINES: dict[str, tuple[tuple[str, ...], int]] = {
    "run": (("{file}",), 0),
    "load": (("stream.toml",), 0),
    "list": ((), 0),
    "show": (("{file}",), 0),
    "validate": (("{file}",), 0),
    "encode": (("{file}", "-o", "packets"), 0),
    "disasm": ((PACKET,), 0),
    "diff": ((PACKET, OTHER), 1),
    "verify": ((PACKET,), 0),
    "check": (("kernel.py:copy",), 0),
    "drill": (("stale-cache",), 0),
    "explore": (("{file}", "--orders", "2"), 0),
    "soak": (("{file}", "--jobs", "5"), 0),
    "explain": (("{file}",), 0),
    "trace": (("{file}", *ON_DEVICE, "-o", "t.pftrace"), 0),
    "profile": (("{file}", *ON_DEVICE), 0),
    "report": (("{file}", "-o", "report.html"), 0),
    "bound": (("{file}",), 0),
    "advise": (("{file}", "--max-workers", "2"), 0),
    "whatif": (("{file}", "-j", "1"), 0),
    "compare": (("{file}", "{file}"), 0),
    "sweep": (("{file}", "--vary", "device.workers=1,2", "--executor", "here"), 0),
    "search": (("{file}", "--over", "device.workers=1,2", "--sampler", "grid"), 0),
    "calibrate plan": (("--budget", "3", "-o", "plan", "--match", "dma.one-", "--points", "1"), 0),
    "calibrate bench": (("bench.txt",), 0),
    "calibrate check": (("board",), 0),
    "calibrate fit": (("known", "--executor", "here", "--starts", "1"), 0),
    "calibrate validate": (("board", "--fit", "fit.json"), 1),
    "calibrate apply": (("fit.json", "-o", "preset.toml", "--date", "2026-12-01"), 0),
    "bench": (("--match", "bf16 2 KiB", "--rounds", "1"), 0),
    "doctor": ((), 0),
    "completion": (("bash",), 0),
    "man": ((), 0),
}
KERNEL = """
import tessbed

@tessbed.kernel(inputs={"src": "uint8[64]"}, outputs={"dst": "uint8[64]"}, api=1)
def copy(w, src, dst):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same)

def same(source, target):
    target[...] = source

@copy.reference
def expected(src):
    return src
"""
STREAM = """
[[streams]]
name = "camera"
arrivals = { every = 1_000_000 }

[load]
frames = 5
"""
UNWRITTEN = "standard output: can not be written: No space left on device"
Fork = Callable[..., Any]


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Fork:
    """`fork(*arguments, out=..., err=..., encoding=...)`, in a folder of its own with a small scenario in it."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "head.toml").write_text(HEAD)
    (folder / "stream.toml").write_text(f"{HEAD}{STREAM}")
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "bench.txt").write_text(OUTPUT)
    (folder / "fit.json").write_text(json.dumps(to_document(FIT)))
    few = ("small", "rows", "luma")
    write_board(folder / "board", jobs=few)
    known = (
        f'"{one.path}" = [{guess}, {guess}]'
        for one in PARAMETERS[:-1]
        for guess in [parameter_value(DeviceSpec(), one.path)]
    )
    write_board(folder / "known", jobs=few, setup="\n".join((SETUP, "[ranges]", *known, "")))

    def run(*arguments: str, **streams: str) -> Any:
        return forks.fork(*(word.format(file="head.toml") for word in arguments), folder=folder, **streams)

    return run


def test_every_command_has_a_line() -> None:
    """The table above knows all commands, and those of groups."""
    commands = [(name, import_module(f"tessbed.commands.{name}").command) for name in COMMANDS]
    groups = {name: list(found.table) for name, found in commands if isinstance(found, CommandGroup)}
    names = [[f"{name} {inner}" for inner in groups.get(name, ())] or [name] for name in COMMANDS]
    assert list(LINES) == [name for several in names for name in several]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", LINES)
def test_a_command_on_every_kind_of_stream(command: str, fork: Fork) -> None:
    """Written, unread, full, closed; each on stdout and on stderr: the exit code of the page, and no traceback."""
    arguments, code = LINES[command]
    line = (*command.split(), *arguments)
    usual = fork(*line)
    assert (usual["code"], bool(usual["out"])) == (code, True)
    gone = fork(*line, out="gone")
    assert (gone["code"], "Traceback" in gone["err"], "can not be written" in gone["err"]) == (141, False, False)
    full = fork(*line, out="full")
    assert (full["code"], full["err"].splitlines()[-1]) == (74, UNWRITTEN)
    closed = fork(*line, out="closed")
    assert (closed["code"], "Traceback" in closed["err"]) == (code, False)
    for err in ("gone", "full", "closed"):
        quiet = fork(*line, err=err)
        assert (quiet["code"], bool(quiet["out"])) == (code, True)
    assert fork(*line, out="full", err="full")["code"] == 74
    assert fork(*line, out="closed", err="closed")["code"] == code


@pytest.mark.parametrize("command", LINES)
def test_a_command_on_a_terminal(command: str, fork: Fork) -> None:
    """On a terminal of another encoding a command ends as it does elsewhere."""
    arguments, code = LINES[command]
    for encoding in ("latin-1", "ascii", "utf-8"):
        shown = fork(*command.split(), *arguments, out="tty", err="tty", encoding=encoding)
        assert (shown["code"], bool(shown["out"])) == (code, True)
        assert "Traceback" not in shown["out"] + shown["err"]


@pytest.mark.parametrize("command", LINES)
def test_an_error_on_streams_that_fail(command: str, fork: Fork) -> None:
    """A usage error is exit 2 though stderr can not be written, and one line where it can; with --json a document."""
    assert fork(*command.split(), "--nope", err="full")["code"] == 2
    assert fork(*command.split(), "--nope", err="closed")["code"] == 2
    reported = fork(*command.split(), "--nope", "--json", encoding="ascii")
    assert (reported["code"], reported["err"].count("\n")) == (2, 1)
    assert reported["err"].startswith(f"tessbed {command}: got the option --nope, wanted ")
    assert json.loads(reported["out"])["diagnostics"][0]["code"] == "usage"
    assert fork(*command.split(), "--help", out="gone")["code"] == 141
    assert fork(*command.split(), "--help", out="full")["code"] == 74


@pytest.mark.parametrize("line", [(), ("--help",), ("--version",), ("-V",), ("help", "run")], ids=" ".join)
def test_the_answers_of_the_group_itself(line: tuple[str, ...], fork: Fork) -> None:
    """Help and version go through the same stream."""
    assert fork(*line)["code"] == 0
    assert fork(*line, out="gone")["code"] == 141
    assert fork(*line, out="full")["code"] == 74
    assert fork(*line, out="closed")["code"] == 0


NASTY = ("caf\xe9", "a\x1b]0;owned\x07b", "turn\xe2\x80\xaearound", "two\nlines")
TAKES_FILES = [command for command, (arguments, _) in LINES.items() if "{file}" in arguments or PACKET in arguments]


@pytest.mark.parametrize("name", NASTY, ids=ascii)
@pytest.mark.parametrize("command", [*TAKES_FILES, "drill"])
def test_a_name_that_plays_tricks(command: str, name: str, fork: Fork, tmp_path: Path) -> None:
    """A file of any name is taken, and one that is missing reported; no raw byte of its name reaches a person."""
    arguments, code = LINES[command]
    path = os.fsencode(tmp_path) + b"/" + name.encode("latin-1") + (b".bin" if PACKET in arguments else b".toml")
    Path(os.fsdecode(path)).write_bytes(Path(PACKET).read_bytes() if PACKET in arguments else HEAD.encode())
    word = path.decode("latin-1")
    there = tuple(word if argument in ("{file}", PACKET) else argument for argument in arguments)
    if command != "drill":
        said = fork(command, *there)
        assert said["code"] == code
        assert_harmless(said["out"] + said["err"])
    missing = fork(command, *(argument.replace(".", "-no.") if argument == word else argument for argument in there))
    if command == "drill":
        missing = fork("drill", word + "-no")
    assert missing["code"] == 2
    assert_harmless(missing["out"] + missing["err"])
    assert missing["err"].count("\n") <= 2
    document = fork(command, "--json", *(a.replace(".", "-no.") if a == word else a for a in there))
    assert document["out"].isascii()
    assert "\\ud" not in document["out"]


@pytest.mark.parametrize("name", NASTY, ids=ascii)
def test_a_kernel_in_a_file_whose_name_plays_tricks(name: str, fork: Fork, tmp_path: Path) -> None:
    """So it is with the file of a kernel, there or not."""
    path = os.fsencode(tmp_path) + b"/" + name.encode("latin-1") + b".py"
    Path(os.fsdecode(path)).write_text(KERNEL)
    said = fork("check", f"{path.decode('latin-1')}:copy")
    assert (said["code"], bool(said["out"])) == (0, True)
    assert_harmless(said["out"] + said["err"])
    missing = fork("check", "--json", f"{path.decode('latin-1')}-no.py:copy")
    assert (missing["code"], missing["out"].isascii()) == (2, True)
    assert_harmless(missing["err"])


def assert_harmless(text: str) -> None:
    """Valid UTF-8, and nothing in it but printable characters and line ends."""
    assert text.encode("latin-1").decode("utf-8").replace("\n", "").isprintable()


def test_text_from_a_run_folder_is_escaped(fork: Fork, tmp_path: Path) -> None:
    """What somebody wrote into a record reaches no terminal raw."""
    folder = str(tmp_path / "made")
    assert fork("run", "{file}", "-o", folder, "-q")["code"] == 0
    stats = Path(folder) / "stats.json"
    record = json.loads(stats.read_text())
    record["tessbed"] = "9\x1b[2J"
    record["jobs"][0]["results"]["ev74"]["ticks"] = 7
    stats.write_text(json.dumps(record))
    said = fork("compare", folder, "{file}")
    assert "by tessbed 9\\x1b[2J" in said["err"]
    assert_harmless(said["err"])


PROCESS = (sys.executable, "-m", "tessbed")


@pytest.mark.parametrize(
    ("shell", "code", "err"),
    [
        ("list >&-", 0, ""),
        ("list >/dev/full", 74, f"{UNWRITTEN}\n"),
        ("rnu 2>&-", 2, ""),
        ("rnu 2>/dev/full", 2, ""),
        ("validate - <&-", 2, "-: can not be read: standard input is closed\n"),
        ("verify - <&-", 2, "-: standard input is closed\n"),
        ("show luma --source | \"$0\" -m tessbed validate -", 0, ""),
        ("show luma --source | \"$0\" -m tessbed validate /dev/stdin", 0, ""),
        ("-V >&- 2>&- <&-", 0, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_in_a_real_shell(shell: str, code: int, err: str) -> None:
    """What the table above plays is what a shell does."""
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m tessbed {shell}', sys.executable], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, err)


@pytest.mark.parametrize(
    ("line", "source", "words"),
    [
        ("diff - -", PACKET, ""),
        ("verify - -", PACKET, "-: valid, unbound\n-: valid, unbound\n"),
        ("validate - -", "head.toml", "-: ok, 1 job\n-: ok, 1 job\n"),
        ("compare - -", "head.toml", "head: 1,515 to 1,515, +0"),
        ("sweep - --vary device.workers=1 --executor here", "head.toml", "stdin: 1 point, 0 without"),
    ],
    ids=lambda value: value.split()[0] if value else "",
)
def test_standard_input_twice(line: str, source: str, words: str, tmp_path: Path) -> None:
    """What can be read once may be named twice, and has a name that a file can bear."""
    (tmp_path / "head.toml").write_text(HEAD)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with (tmp_path / source).open("rb") as stdin:
        done = subprocess.run(
            [*PROCESS, *line.split()], stdin=stdin, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
    assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
    assert words in done.stdout
    assert not list(tmp_path.glob("-*"))


def test_a_fifo_is_a_file(tmp_path: Path) -> None:
    """A scenario comes through a FIFO, also where it is read more than once."""
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    line = [*PROCESS, "sweep", str(fifo), "--vary", "device.workers=1,2", "--executor", "here", "--db", "f.sqlite"]
    process = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    fifo.write_text(HEAD)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, "device.workers" in out) == (0, True), err


SLOW = """
import sys
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "{name}":
            import time
            sys.__stdout__.write("importing\\n"); sys.__stdout__.flush()
            time.sleep(30)
sys.meta_path.insert(0, Slow())
from tessbed.cli import main
sys.argv = ["tessbed", "run", "luma"]
main()
"""


@pytest.mark.parametrize("name", ["click", "tessbed.commands.run", "numpy", "tessbed.scenarios.runner"])
def test_an_early_interrupt(name: str) -> None:
    """Ctrl-C in the middle of an import is exit 130 and one word."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW.format(name=name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "importing\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "interrupted\n")


INTERRUPTED_LINES = """
import signal
from tessbed.commands.streams import echo, guarded_streams
signal.signal(signal.SIGALRM, signal.default_int_handler)
with guarded_streams():
    for number in range(1000):
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-6 * (number % 100 + 1))
            echo(f"line {number}", err=True)
            while True:
                pass
        except KeyboardInterrupt:
            pass
"""


def test_an_interrupt_writes_nothing_twice() -> None:
    """Whenever Ctrl-C strikes while a line is written, the line is there once at most."""
    line = [sys.executable, "-c", INTERRUPTED_LINES]
    lines = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stderr.splitlines()
    assert len(lines) > 100
    assert len(lines) == len(set(lines))


def test_a_slow_reader_of_a_non_blocking_pipe() -> None:
    """All of a document arrives, although the pipe was left non-blocking and is full; it is left so again."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    raw = b""
    with subprocess.Popen([*PROCESS, "validate", "--schema"], stdout=writing) as process:
        while process.poll() is None:
            time.sleep(0.02)
            with contextlib.suppress(BlockingIOError):
                raw += os.read(reading, 4096)
    with contextlib.suppress(BlockingIOError):
        raw += os.read(reading, 4096)
    assert (process.returncode, os.get_blocking(writing)) == (0, False)
    assert json.loads(raw)["title"] == "Tessbed scenario"
    os.close(reading)
    os.close(writing)
