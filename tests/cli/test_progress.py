"""Progress and interrupts: a long command is announced, shows how far it is on a terminal alone, and stops at once."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TILES = """
name = "tiles"
device.memory.window_bytes = 1099511627776
[[jobs]]
name = "pack"
op = "tess"
backend = "{backend}"
dtype = "int8"
shape = [{rows}, {columns}, 16]
tiled = {{ axes = [-1, 0, 1, 2], tile = [1, {tile}, 1, 16] }}
input = {{ pattern = "golden" }}
"""


@pytest.fixture(name="tiles")
def tiles_file(tmp_path: Path):
    """A scenario of `rows` x `columns` tiles on a backend. Of tiles of height 0, which are cut at edges, no two rows
    begin at equal places in their pages."""

    def written(rows: int, columns: int, backend: str = "ev74", tile: int = 1) -> str:
        path = tmp_path / "tiles.toml"
        text = TILES.format(rows=rows, columns=columns, backend=backend, tile=tile)
        if not tile:
            text = TILES.format(rows=4 * rows - 1, columns=4 * columns - 1, backend=backend, tile=4)
            text = text.replace("16]", "5]").replace("4, 1, 5]", "4, 4, 5]").replace("int8", "bf16")
        path.write_text(text)
        return str(path)

    return written


IMPATIENT = """
import sys
from tessbed.cli import main
from tessbed.commands import progress
from tessbed.scenarios import forecast
progress.AFTER_SECONDS, progress.EVERY_SECONDS, forecast.LONG_SECONDS = 0.05, 0.02, 0.1
main(sys.argv[1:])
"""
"""The command for a person who waits a tenth as long: what is a tenth of the work is announced, and shows a bar."""
COMMAND = ("-m", "tessbed")
SOONER = ("-c", IMPATIENT)


def on_a_terminal(
    *arguments: str,
    interrupt: str = "",
    folder: Path | None = None,
    command: tuple[str, ...] = COMMAND,
    **extra: str,
) -> tuple[int, str]:
    """The exit code of a command with a terminal as stderr, and what it wrote there.

    `interrupt` is what must be there before Ctrl-C is sent; then the command must end within seconds.
    """
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", **extra}
    process = subprocess.Popen(
        [sys.executable, *command, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=folder,
    )
    os.close(follower)
    said, sent = b"", False
    while select.select([leader], [], [], 120)[0]:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
        if interrupt and not sent and re.search(interrupt, said.decode(errors="replace")):
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
    os.close(leader)
    code = process.wait()
    assert not interrupt or (sent and time.monotonic() - sent < 20)
    return code, said.decode()


def assert_shown_and_gone(said: str) -> None:
    """Percentages that grow to 100 %, and a bar that is erased by the end of them."""
    percentages = [int(found) for found in re.findall(r"(\d+)%", said)]
    assert len(set(percentages)) > 2
    assert percentages == sorted(percentages)
    assert percentages[-1] == 100
    assert said[said.rindex("%") :].count("\x1b[2K") >= 1


RUN = ("run", "--engine", "exact")
CUT = (3000, 3000, "ev74", 0)


@pytest.mark.parametrize(
    ("line", "shape", "announced"),
    [
        (RUN, CUT, "9,000,000 tiles, at least 9,000,000 bands and 18,000,000 transfers: this takes a while"),
        (("run",), (100, 30), "3,000 tiles, at least 3,000 bands and 6,000 transfers, 96,000 bytes: this"),
        (("run",), (600, 2000, "a65"), "on a65: 1,200,000 tiles, 38,400,000 bytes: this takes a while"),
        ((*RUN, "-o", "made"), (40, 1000), "80,000 transfers, 48,000,000 bytes of trace: this takes a while"),
        (("bound",), (1000, 3000, "ev74", 0), "3,000,000 tiles"),
        (("advise", "--max-workers", "2"), (6, 1000), "bytes of trace, in each of 2 runs: this takes a while"),
        (("whatif", "--set", "device.preset=ev74-1core"), (20, 600), "12,000 tiles"),
        (("compare", "tiles.toml"), (8, 1000), "8,000 tiles"),
        (("explain",), (8, 1000), "8,000 tiles"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) and isinstance(value[0], str) else "",
)
def test_a_percentage_within_a_job(line: tuple[str, ...], shape: tuple, announced: str, tiles, tmp_path: Path) -> None:
    """Whatever takes long is announced with how much it is, and shows a percentage, on either backend and engine."""
    command = COMMAND if shape == CUT else SOONER
    code, said = on_a_terminal(line[0], tiles(*shape), *line[1:], folder=tmp_path, command=command)
    assert code == 0
    assert announced in said
    for bar in said.split("\x1b[?25l")[1:]:
        assert_shown_and_gone(bar)
    assert "\x1b[?25l" in said


@pytest.mark.parametrize(
    "line",
    [
        ("sweep", "--vary", "device.workers=1..9", "--executor", "here"),
        ("search", "--over", "device.workers=1..9", "--sampler", "grid"),
        ("soak", "--jobs", "20"),
        ("explore", "--orders", "10"),
        ("verify", "--census"),
        ("bench", "--match", "bf16 2 KiB", "--rounds", "1"),
    ],
    ids=lambda line: line[0],
)
def test_a_percentage_of_many(line: tuple[str, ...], tiles, tmp_path: Path) -> None:
    """Commands of many parts show how many are done; their bars are gone at the end, too."""
    file = [] if line[0] == "bench" else [tiles(3, 3)]
    said = on_a_terminal(line[0], *file, *line[1:], folder=tmp_path)[1]
    percentages = [int(found) for found in re.findall(r"(\d+)%", said)]
    assert (percentages[0], percentages[-1]) == (0, 100)
    assert percentages == sorted(percentages)
    assert "\x1b[2K" in said[said.rindex("100%") :]


SLOW_KERNEL = """
import time
import tessbed

@tessbed.kernel(inputs={"src": "uint8[64]"}, outputs={"dst": "uint8[64]"}, api=1)
def copy(w, src, dst):
    for box in w.own(dst):
        time.sleep(1)
        yield w.band(src[box], dst[box], same)

def same(source, target):
    target[...] = source
"""


def test_a_kernel_that_nobody_can_forecast(tmp_path: Path) -> None:
    """It shows that something is under way, and ends at 100 %, too."""
    (tmp_path / "slow.py").write_text(SLOW_KERNEL)
    (tmp_path / "slow.toml").write_text('name = "s"\n[[jobs]]\nname = "k"\nkernel = "slow.py:copy"\n')
    code, said = on_a_terminal("run", "slow.toml", folder=tmp_path)
    assert code == 0
    assert "k on ev74" in said
    assert set(re.findall(r"(\d+)%", said)) == {"100"}
    assert "\x1b[2K" in said[said.rindex("100%") :]


def test_quiet(tiles) -> None:
    """With -q nothing is said and nothing shown, and a short run shows no bar."""
    assert on_a_terminal("run", tiles(600, 1000), "--engine", "exact", "-q") == (0, "")
    assert on_a_terminal("run", tiles(3, 3)) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "shape", "when", "form"),
    [
        (("run",), (1000, 1000), r"[1-9]%", ""),
        (RUN, CUT, r"\d%", "native"),
        (RUN, CUT, r"\d%", "python"),
        ((*RUN, "-o", "made"), (100, 1000), r"the run folder", ""),
        (("run",), (6000, 2000, "a65"), r"MB/s", ""),
        (("whatif",), (6000, 2000), r"[1-9]%", ""),
        (("sweep", "--vary", "device.workers=1..16", "--executor", "here"), (100, 1000), r"\d%", ""),
        (("sweep", "--vary", "device.workers=1..16", "-j", "2"), (100, 1000), r"\d%", ""),
    ],
    ids=["events", "in C", "in Python", "folder", "a65", "whatif", "sweep here", "sweep"],
)
def test_an_interrupt(arguments: tuple[str, ...], shape: tuple, when: str, form: str, tiles, tmp_path: Path) -> None:
    """Ctrl-C while a bar is shown ends the command with 130 and one word; nothing half done is left."""
    line = (arguments[0], tiles(*shape), *arguments[1:])
    extra = {"TESSBED_EXACT": form} if form else {}
    command = SOONER if "-o" in line else COMMAND
    code, said = on_a_terminal(*line, interrupt=when, folder=tmp_path, command=command, **extra)
    assert code == 130
    assert said.rstrip().endswith("interrupted")
    assert "Traceback" not in said
    assert not (tmp_path / "made").exists()
    assert said.count("\x1b[?25h") == said.count("\x1b[?25l"), "the cursor is shown again"
