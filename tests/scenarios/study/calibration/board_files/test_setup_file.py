"""Setup files: what reads, what is refused, and that a written one reads back."""

from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.study.calibration.board_data import Setup
from tessbed.scenarios.study.calibration.board_files.setup_file import read_setup, setup_text

TEXT = """board = "board 7"
clock_mhz = 1_000
clock_source = "measured"
timer = "cycle counter"
timer_resolution_ns = 1.0
[ranges]
"dma.setup_ticks" = [50, 100]
[choices]
"dma.arbitration" = ["fifo", "round_robin"]
"""


def setup(folder: Path, text: str) -> Setup:
    """The setup of that text."""
    (folder / "setup.toml").write_text(text)
    return read_setup(folder / "setup.toml")


def test_a_setup_reads_and_writes(tmp_path: Path) -> None:
    """Every key, and the defaults of those that are absent."""
    found = setup(tmp_path, TEXT)
    ranges, choices = {"dma.setup_ticks": (50, 100)}, {"dma.arbitration": ("fifo", "round_robin")}
    assert found == Setup("board 7", 1000, "measured", "", "cycle counter", 1.0, "ev74-4core", ranges, choices)
    assert setup(tmp_path, setup_text(found)) == found


MISTAKES = {
    "nothing": ("", ["board: missing", "clock_mhz: missing", "clock_source: missing", "timer: missing"]),
    "a key": (TEXT.replace("timer =", "timr ="), ["4:1: timr: unknown key", "did you mean timer?"]),
    "a source": (TEXT.replace("measured", "guessed"), ['3:16: clock_source: got the text "guessed", wanted']),
    "a clock": (TEXT.replace("1_000", "0"), ["2:13: clock_mhz: got 0, wanted an integer from 1"]),
    "a step of 0": (TEXT.replace("= 1.0", "= 0"), ["5:23: timer_resolution_ns: got 0, wanted a number of nanoseconds"]),
    "no number": (TEXT.replace("= 1.0", "= nan"), ["5:23: timer_resolution_ns: "]),
    "a hash": ('firmware_sha256 = "abc"\n' + TEXT, ["1:19: firmware_sha256: ", "64 hexadecimal digits"]),
    "a parameter": (TEXT.replace("setup_ticks", "setup_tick"), ["7:1: ranges.dma.setup_tick: unknown parameter",
        "did you mean dma.setup_ticks?"]),
    "a range": (TEXT.replace("[50, 100]", "[100, 50]"), ["7:21: ranges.dma.setup_ticks: got ", "the lowest"]),
    "a choice": (TEXT.replace('"fifo", ', '"lifo", '), ["9:21: choices.dma.arbitration: got ", '"round_robin"']),
    "a value that no device has": (TEXT.replace('"dma.setup_ticks" = [50', '"memory.background_percent" = [50'),
        ["7:31: ranges.memory.background_percent: got a list of 2: [50, 100]: ", "background_percent"]),
    "a rate of 0": (TEXT.replace('"dma.setup_ticks" = [50', '"dma.bytes_per_tick" = [0'), ["7:24: ranges.dma.bytes"]),
    "ticks below 0": (TEXT.replace("[50, 100]", "[-5, 100]"), ["7:21: ranges.dma.setup_ticks: got a list of 2: [-5"]),
    "a path without quotes": (TEXT.replace('"dma.setup_ticks"', "dma.setup_ticks"), ["its whole path in quotes"]),
    "a choice twice": (TEXT.replace('"fifo", ', '"round_robin", '), ["9:21: choices.dma.arbitration: ", "each once"]),
    "a choice of another type": (TEXT.replace('"dma.arbitration" = ["fifo", "round_robin"]',
        '"memory.split_port" = [0, 1]'), ["9:23: choices.memory.split_port: got ", "false, true"]),
    "a choice of lists": (TEXT.replace('"fifo", ', "[], "), ["9:21: choices.dma.arbitration: got "]),
    "ranges as text": (TEXT.split("[ranges]")[0] + 'ranges = "x"\n', ['6:10: ranges: got the text "x", wanted']),
}  # fmt: skip


@pytest.mark.parametrize(("text", "parts"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_at_its_place(text: str, parts: list[str], tmp_path: Path) -> None:
    """With line, column, and what was wanted."""
    with pytest.raises(ScenarioError) as refused:
        setup(tmp_path, text)
    said = str(refused.value)
    assert [part for part in parts if part not in said] == [], said
