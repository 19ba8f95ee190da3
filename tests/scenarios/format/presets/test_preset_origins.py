"""Origins in preset files: a field with its interval and provenance, the measured board, and what is refused."""

from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import Location, ScenarioError
from tessbed.scenarios.format.presets.preset_file import DevicePreset, PresetSource, read_preset
from tessbed.scenarios.format.presets.preset_text import preset_text
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.spec.origins import FieldOrigin, MeasuredBoard
from tests.cli.conftest import Tessbed
from tests.cli.conftest import tessbed as command

__all__ = ["command"]
BOARD = """
[calibration]
board = "board 7"
date = 2026-12-01
percent = 90
workers = [1, 8]
output_bytes = [4096, 2457600]
jobs = ["tess bf16", "detess int8"]
combinations = ["dispatch_ticks + decode_ticks = 93,400 (92,800 to 94,100)"]
"""
FIELDS = """
dispatch_ticks = { value = 91_400, interval = [90_800, 92_100], provenance = "calibrated: board 7" }
slots = { value = 3, provenance = "documented" }
dma = { setup_ticks = { value = 71, interval = [69, 73], provenance = "calibrated: board 7" }, row_ticks = 2 }
"""


def read(folder: Path, text: str, name: str = "board.toml") -> DevicePreset:
    """The preset of that text."""
    (folder / name).write_text(text)
    return read_preset(name, PresetSource(folder, Location("device")))


def test_a_field_carries_value_interval_and_provenance(tmp_path: Path) -> None:
    """The device has the values; what is said of them is beside it, and the board with its range."""
    found = read(tmp_path, FIELDS + BOARD)
    changes = {"dispatch_ticks": 91_400, "slots": 3, "dma": {"setup_ticks": 71, "row_ticks": 2}}
    assert found.device == override(DeviceSpec(), changes)
    assert found.origins.fields == (
        FieldOrigin("dispatch_ticks", 91_400, "calibrated: board 7", (90_800, 92_100)),
        FieldOrigin("slots", 3, "documented"),
        FieldOrigin("dma.setup_ticks", 71, "calibrated: board 7", (69, 73)),
    )
    assert [field.path for field in found.origins.measured] == ["dispatch_ticks", "dma.setup_ticks"]
    assert found.origins.board == MeasuredBoard(
        "board 7", "2026-12-01", 90, (1, 8), (4096, 2457600), ("tess bf16", "detess int8"),
        ("dispatch_ticks + decode_ticks = 93,400 (92,800 to 94,100)",),
    )  # fmt: skip


def test_a_written_preset_reads_back(tmp_path: Path) -> None:
    """The text of a preset gives the same device, the same origins and the same board."""
    first = read(tmp_path, FIELDS + BOARD)
    again = read(tmp_path, preset_text(first.device, first.origins, "ours"), "again.toml")
    assert (again.device, again.origins, again.about) == (first.device, first.origins, "ours")


def test_a_preset_over_a_calibrated_one(tmp_path: Path) -> None:
    """It keeps the board and what was measured; a field that it sets is its own, and the calibrated device is known."""
    base = read(tmp_path, FIELDS + BOARD)
    found = read(tmp_path, 'preset = "board.toml"\ncores = 8\ndma = { setup_ticks = 80 }\n', "over.toml")
    assert found.origins.board == base.origins.board
    assert found.origins.device == base.device
    assert found.origins.origin("dma.setup_ticks", 80) is None
    assert found.origins.origin("dispatch_ticks", 91_400) is not None


WRONG = {
    "no value": ('slots = { provenance = "x" }\n', ["board.toml:1:9: slots: no value, wanted { value = ..."]),
    "no provenance": ("slots = { value = 2 }\n", ["board.toml:1:9: slots: no provenance, wanted { value = ..."]),
    "an unknown key": ('slots = { value = 2, provenance = "x", intervall = [1, 2] }\n',
        ["board.toml:1:40: slots.intervall: unknown key, wanted value, interval, provenance; did you mean interval?"]),
    "an empty provenance": ('slots = { value = 2, provenance = " " }\n', ["board.toml:1:35: slots.provenance: got "]),
    "a value outside": (BOARD.lstrip().replace("[calibration]", 'slots = { value = 4, interval = [1, 3], provenance = '
        '"x" }\n[calibration]'), ["board.toml:1:33: slots.interval: got ", "one up to 4 and one from it"]),
    "half an interval": ('slots = { value = 2, interval = [1], provenance = "x" }\n' + BOARD, ["1:33: slots.interval"]),
    "an interval of text": ('data_movement = { value = "seeded", interval = [1, 2], provenance = "x" }\n' + BOARD,
        ["1:48: data_movement.interval: got "]),
    "an interval without a board": ('slots = { value = 2, interval = [1, 3], provenance = "x" }\n',
        ["board.toml:1:33: slots: got an interval, wanted the board that was measured as well: a table"]),
    "a value that can not be": ('slots = { value = 0, provenance = "x" }\n', ["slots: got 0, wanted an integer"]),
    "a board without a name": (BOARD.replace('board = "board 7"\n', ""), ["calibration: no board, wanted the name"]),
    "a board's key": (BOARD + "precent = 5\n", ["calibration.precent: unknown key", "did you mean percent?"]),
    "a confidence": (BOARD.replace("90", "100"), ["board.toml:5:11: calibration.percent: got 100, wanted"]),
    "a range upside down": (BOARD.replace("[1, 8]", "[8, 1]"), ["calibration.workers: got "]),
    "no table": ("calibration = 5\n", ["board.toml:1:15: calibration: got 5, wanted a table"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "parts"), WRONG.values(), ids=WRONG)
def test_what_is_refused(text: str, parts: list[str], tmp_path: Path) -> None:
    """Each mistake is named with its line and column, and with what was wanted."""
    with pytest.raises(ScenarioError) as refused:
        read(tmp_path, text)
    said = str(refused.value)
    assert [part for part in parts if part not in said] == [], said


def test_a_run_folder_keeps_what_was_calibrated(tmp_path: Path, command: Tessbed, monkeypatch) -> None:
    """The folder of a run on a preset that changes a calibrated one runs again, and says the same of its ticks."""
    monkeypatch.chdir(tmp_path)
    Path("board.toml").write_text(FIELDS + BOARD)
    Path("over.toml").write_text('preset = "board.toml"\ncores = 8\n')
    first = command("run", "luma", "--set", "device.preset=over.toml", "-o", "first")
    Path("board.toml").unlink()
    Path("over.toml").unlink()
    second = command("run", "first/scenario.toml", "-o", "second")
    ticks = [line for line in first.out.splitlines() if line.startswith(("ticks: ", "extrapolated: "))]
    assert "calibrated: preset devices/over.toml, board 7, " in ticks[0]
    assert ticks[1] == "extrapolated: cores = 8 (measured: no; calibrated with 4)"
    again = [line for line in second.out.splitlines() if line.startswith(("ticks: ", "extrapolated: "))]
    assert again == ticks
