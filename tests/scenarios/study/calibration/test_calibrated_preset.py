"""From a fit to a preset: what each verdict becomes, what keeps its guess, and that any command takes the file."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from tessbed.scenarios.format.diagnostics import Location, ScenarioError
from tessbed.scenarios.format.presets.preset_file import DevicePreset, PresetSource, read_preset
from tessbed.scenarios.study.calibration.calibrated_preset import calibrated_preset, document, lines, read_fit
from tessbed.scenarios.study.calibration.estimate import (
    Calibration,
    Combination,
    Domain,
    Estimate,
    to_document,
)
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.cli.conftest import Tessbed
from tests.cli.conftest import tessbed as command

__all__ = ["command"]
SUM = "dispatch_ticks + decode_ticks"
ESTIMATES = (
    Estimate("dma.setup_ticks", 64, 71, "determined", "calibrated", 69.4, 72.6),
    Estimate("dma.outstanding", 16, 16, "at_least", "guess", 12.0, None),
    Estimate("dma.outstanding_bursts", 16, 20, "at_least", "bound", 20.0, None),
    Estimate("dispatch_ticks", 100_000, 91_400, "combination", "combination", None, None, SUM),
    Estimate("decode_ticks", 2_000, 2_000, "combination", "guess", None, None, SUM),
    Estimate("compute.run_ticks", 6, 6, "untouched", "guess"),
    Estimate("memory.background_percent", 0, 10, "known", "setup", 10.0, 10.0),
)
FIT = Calibration(
    board="board 7",
    preset="ev74-4core",
    clock_mhz=950,
    clock_source="measured",
    confidence=0.9,
    seed=0,
    estimates=ESTIMATES,
    combinations=(Combination(SUM, "sum", ("dispatch_ticks", "decode_ticks"), 93_400.0, 92_800.0, 94_100.0),),
    choices=(("dma.arbitration", ("round_robin", "fifo")),),
    domain=Domain((1, 8), (4_096, 2_457_600), ("tess bf16",)),
    noise=0.02,
    misfit=0.01,
    rows=100,
    experiments=25,
    table_sha256="0" * 64,
    version="0.2.0",
)


def test_each_verdict_becomes_what_it_may_claim() -> None:
    """Only what is determined has an interval, in whole numbers that hold the real one; guesses say nothing."""
    made = calibrated_preset(FIT, DevicePreset(DeviceSpec()), "2026-12-01")
    said = {field.path: (field.value, field.interval, field.provenance) for field in made.origins.fields}
    assert said == {
        "clock_mhz": (950, None, "setup: board 7, clock measured"),
        "dma.setup_ticks": (71, (69, 73), "calibrated: board 7, 2026-12-01, 90 %"),
        "dma.outstanding_bursts": (20, None, "bound: at least 20: board 7, 2026-12-01, 90 %"),
        "dispatch_ticks": (91_400, None, f"in combination: {SUM}: board 7, 2026-12-01, 90 %"),
        "memory.background_percent": (10, None, "setup: board 7"),
        "dma.arbitration": ("round_robin", None, "chosen, as good: fifo: board 7, 2026-12-01, 90 %"),
    }
    dma = {"setup_ticks": 71, "outstanding_bursts": 20, "arbitration": "round_robin"}
    wanted = {"clock_mhz": 950, "dispatch_ticks": 91_400, "dma": dma, "memory": {"background_percent": 10}}
    assert made.device == override(DeviceSpec(), wanted)


@pytest.mark.parametrize("value", [68, 74])
def test_a_value_outside_of_its_interval_is_refused(value: int) -> None:
    """It is not held by widening the interval: a fit that says both is wrong somewhere."""
    wrong = attrs.evolve(ESTIMATES[0], value=value)
    with pytest.raises(ScenarioError, match=f"dma.setup_ticks: got {value} with an interval of 69.4 to 72.6, wanted a"):
        calibrated_preset(attrs.evolve(FIT, estimates=(wrong,)), DevicePreset(DeviceSpec()), "2026-12-01")


def test_the_file_reads_back_as_the_preset(tmp_path: Path) -> None:
    """Device, origins and board; and it says no more than what differs from the guesses or is known."""
    made = calibrated_preset(FIT, DevicePreset(DeviceSpec()), "2026-12-01")
    (tmp_path / "board.toml").write_text(made.text("ev74-4core"))
    found = read_preset("board.toml", PresetSource(tmp_path, Location("here")))
    assert (found.device, found.origins) == (made.device, made.origins)
    assert "slots" not in made.text("ev74-4core")


def test_the_report_names_every_parameter() -> None:
    """Those that the preset speaks of in a table, combinations with their own interval, and all guesses."""
    found = list(lines(document(calibrated_preset(FIT, DevicePreset(DeviceSpec()), "2026-12-01"))))
    assert f"together: {SUM} = 93,400 (92,800 to 94,100)" in found
    assert "keep their guesses: dma.outstanding, decode_ticks, compute.run_ticks" in found
    assert found[-1] == "1 determined, 2 at least, 2 combination, 1 untouched, 1 known"


def test_apply_writes_a_preset_that_any_command_takes(
    tmp_path: Path, command: Tessbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the preset of the guesses, wherever that file and the new one are; reports then name the board."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fits").mkdir()
    (tmp_path / "fits" / "guesses.toml").write_text("slots = 3\n")
    fit = attrs.evolve(FIT, preset="guesses.toml")
    (tmp_path / "fits" / "fit.json").write_text(json.dumps(to_document(fit)))
    (tmp_path / "presets").mkdir()
    said = command("calibrate", "apply", "fits/fit.json", "-o", "presets/board.toml", "--date", "2026-12-01")
    assert (said.code, said.err) == (
        0, "wrote presets/board.toml; use it: tessbed run SCENARIO --set device.preset=presets/board.toml\n",
    )  # fmt: skip
    assert 'preset = "../fits/guesses.toml"' in (tmp_path / "presets" / "board.toml").read_text()
    ran = command("run", "luma", "--set", "device.preset=presets/board.toml")
    assert ran.code == 0
    assert "calibrated: preset presets/board.toml, board 7, 2026-12-01, 1 of 56 parameters with intervals" in ran.out


REPORTING = [
    ("run", "low-rank"), ("explain", "low-rank"), ("bound", "low-rank"), ("advise", "low-rank"),
    ("whatif", "low-rank", "--top", "1"), ("compare", "low-rank", "low-rank"), ("profile", "low-rank"),
    ("show", "low-rank"), ("sweep", "low-rank", "--vary", "device.workers=1,2", "--executor", "here"),
    ("search", "low-rank", "--over", "device.workers=1..4", "--trials", "2"), ("load", "yolov8n-four-cameras-int8"),
    ("soak", "soak", "--jobs", "10"), ("check", f"{Path(__file__).parents[4] / 'examples' / 'copy.py'}:copy"),
]  # fmt: skip


@pytest.mark.parametrize("line", REPORTING, ids=[line[0] for line in REPORTING])
def test_every_report_with_ticks_names_the_board(
    line: tuple[str, ...], tmp_path: Path, command: Tessbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a text and as a document."""
    monkeypatch.chdir(tmp_path)
    made = calibrated_preset(FIT, DevicePreset(DeviceSpec()), "2026-12-01")
    (tmp_path / "board.toml").write_text(made.text("ev74-4core"))
    preset = ("--device", "board.toml") if line[0] == "check" else ("--set", "device.preset=board.toml")
    assert "calibrated: preset board.toml, board 7" in command(*line, *preset).out
    if line[0] != "show":
        printed = json.loads(command(*line, *preset, "--json").out)
        document = printed["before"] if line[0] == "compare" else printed
        assert document["calibration"]["words"].startswith("calibrated: preset board.toml, board 7")


WRONG: dict[str, tuple[Any, str]] = {
    "no JSON": ("x", "got something else (JSONDecodeError: "),
    "another document": ({"schema_version": 1, "name": "x"}, "wanted the document that `tessbed calibrate fit` writes"),
    "another version": ({**to_document(FIT), "schema_version": 9}, "schema_version 9"),
    "a list": ([], "got something else (TypeError"),
}


@pytest.mark.parametrize(("content", "part"), WRONG.values(), ids=WRONG)
def test_what_is_no_fit_is_refused(content: Any, part: str, tmp_path: Path) -> None:
    """With the file, and what it should be."""
    (tmp_path / "fit.json").write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ScenarioError) as refused:
        read_fit(tmp_path / "fit.json")
    assert part in str(refused.value)


def test_a_date_that_is_none_is_refused(tmp_path: Path, command: Tessbed) -> None:
    """As any option."""
    said = command("calibrate", "apply", "fit.json", "-o", "x.toml", "--date", "yesterday")
    assert said.code == 2
    assert 'got "yesterday", wanted a date such as 2026-12-01' in said.err
