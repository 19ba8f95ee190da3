"""Provenance: every report names the calibrated preset, and says where a study leaves what was measured."""

import json
from pathlib import Path

import pytest

import tessbed as package
from tessbed.scenarios.library import load
from tessbed.scenarios.provenance.basis_words import basis_document, scenario_words
from tessbed.scenarios.provenance.tick_basis import tick_basis
from tests.cli.conftest import Tessbed
from tests.cli.conftest import tessbed as command

__all__ = ["command"]
PRESET = """
dma = { setup_ticks = { value = 71, interval = [69, 73], provenance = "calibrated: board 7" } }

[calibration]
board = "board 7"
date = "2026-12-01"
percent = 90
workers = [1, 8]
output_bytes = [4096, 2457600]
jobs = ["tess bf16"]
"""
ON_BOARD = "device.preset=board.toml"
NAMED = "calibrated: preset board.toml, board 7, 2026-12-01, 1 of 56 parameters with intervals of 90 %"
UNNAMED = "not calibrated on silicon"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("board.toml").write_text(PRESET)


LEAVES = {
    "nothing": ("luma", [], []),
    "workers": ("luma", ["device.workers=16"], ["workers = 16 (measured: 1 to 8)"]),
    "fewer workers": ("luma", ["device.workers=1"], []),
    "a job's workers": ("luma", ["device.workers=16", "jobs.0.workers=8"], []),
    "a measured field": ("luma", ["device.dma.setup_ticks=80"], ["dma.setup_ticks = 80 (measured: 71)"]),
    "another field": ("luma", ["device.cores=2"], ["cores = 2 (measured: no; calibrated with 4)"]),
    "fields that never change a tick": ("luma", ["device.data_movement=at_issue", "device.core_ids=[3,2,1,0]"], []),
    "an operation": ("detr-classes-int8", [], ["job = detessdequant int8 (measured: tess bf16)"]),
    "a size": ("documents-2x17", ["jobs.*.backend=ev74"],
        ["output bytes = 64 to 128 (measured: 4,096 to 2,457,600)",
         "job = detess bf16, tess int8 (measured: tess bf16)"]),
    "jobs of the A65": ("documents-2x17", ["jobs.*.backend=a65"], []),
}  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "reasons"), LEAVES.values(), ids=LEAVES)
def test_what_leaves_the_range_is_named(name: str, settings: list[str], reasons: list[str]) -> None:
    """Workers, sizes, operations and parameters that were not measured, each with what was; nothing else."""
    found = basis_document([tick_basis(load(name, [ON_BOARD, *settings]))])
    assert found["words"] == NAMED
    assert found["extrapolated"] == reasons


def test_a_preset_without_a_board_is_not_calibrated() -> None:
    """A provenance alone is no measurement."""
    Path("own.toml").write_text('slots = { value = 3, provenance = "our document" }\n')
    assert scenario_words(load("luma", ["device.preset=own.toml"])) == UNNAMED
    assert scenario_words(load("luma")) == UNNAMED


def test_several_together_say_what_each_rests_on() -> None:
    """A sweep over presets names those that are calibrated and those that are not; values of one reason go together."""
    every = ["device.preset=ev74-4core", ON_BOARD]
    found = basis_document(tick_basis(load("luma", [preset])) for preset in every)
    assert found["words"] == f"{NAMED}; not calibrated: preset ev74-4core"
    varied = basis_document(tick_basis(load("luma", [ON_BOARD, f"device.workers={n}"])) for n in range(7, 17))
    assert varied["extrapolated"] == ["workers = 9 to 16 (measured: 1 to 8)"]


COMMANDS = {
    "run": ("run", "luma"),
    "load": ("load", "yolov8n-pipeline-int8"),
    "show": ("show", "luma"),
    "explain": ("explain", "luma"),
    "compare": ("compare", "luma", "luma"),
    "bound": ("bound", "luma"),
    "advise": ("advise", "luma", "--max-workers", "2"),
    "whatif": ("whatif", "luma"),
    "profile": ("profile", "luma"),
    "sweep": ("sweep", "luma", "--vary", "device.workers=1,16", "--executor", "here"),
    "search": ("search", "luma", "--over", "device.workers=1,16", "--sampler", "grid"),
    "load --vary": ("load", "yolov8n-pipeline-int8", "--vary", "load.frames=10,20"),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_every_command_names_the_calibrated_preset(arguments: tuple[str, ...], command: Tessbed) -> None:
    """In its text and in its document, which says what is extrapolated."""
    text = command(*arguments, "--set", ON_BOARD, "--set", "device.cores=2")
    assert NAMED in text.out, text.out
    assert "extrapolated: " in text.out
    assert UNNAMED not in text.out
    if arguments[0] != "show":
        found = json.loads(command(*arguments, "--set", ON_BOARD, "--set", "device.cores=2", "--json").out)
        found = found.get("after", found)  # a comparison says it of both runs
        assert found["calibration"]["words"] == NAMED
        assert "cores = 2 (measured: no; calibrated with 4)" in found["calibration"]["extrapolated"]
        assert [one["board"] for one in found["calibration"]["calibrated"]] == ["board 7"]


def test_a_comparison_names_both(command: Tessbed) -> None:
    """Each side of a comparison says what its ticks rest on."""
    found = json.loads(command("compare", "luma", "luma", "--set2", ON_BOARD, "--json").out)
    assert [found[side]["calibration"]["words"] for side in ("before", "after")] == [UNNAMED, NAMED]


def test_reports_plots_and_timelines_name_it(command: Tessbed) -> None:
    """A page, a caption and the first span of a timeline, of a run and of a device of one's own."""
    command("report", "luma", "--set", ON_BOARD, "-o", "run.html")
    page = Path("run.html").read_text()
    assert NAMED in page
    assert "calibrated: board 7, 69 to 73" in page
    assert UNNAMED not in page
    Path("study.json").write_text(command("load", "yolov8n-pipeline-int8", "--set", ON_BOARD, "--json").out)
    command("report", "study.json", "-o", "study.html")
    assert NAMED in Path("study.html").read_text()
    command("bound", "luma", "--set", ON_BOARD, "--plot", "bound.svg")
    drawn = Path("bound.svg").read_text()
    assert "board 7" in drawn
    assert UNNAMED not in drawn
    command("trace", "luma", "--set", ON_BOARD, "-o", "run.jsonl")
    assert NAMED in Path("run.jsonl").read_text()
    ev74 = package.Ev74("board.toml", cores=2).with_fields(workers=2)
    with ev74.timeline("own.jsonl"):
        pass
    assert f"{NAMED}; extrapolated: cores = 2 (measured: no; calibrated with 4)" in Path("own.jsonl").read_text()


def test_a_report_in_html_names_the_calibrated_preset(command: Tessbed) -> None:
    """That of a run, and that of a sweep's document."""
    assert command("report", "luma", "--set", ON_BOARD, "--set", "device.cores=2", "-o", "run.html").code == 0
    varied = ("--vary", "device.workers=1,16", "--executor", "here", "--json")
    Path("sweep.json").write_text(command("sweep", "luma", "--set", ON_BOARD, *varied).out)
    assert command("report", "sweep.json", "-o", "sweep.html").code == 0
    for name in ("run.html", "sweep.html"):
        text = Path(name).read_text()
        assert "board 7, 2026-12-01" in text
        assert "extrapolated" in text
        assert UNNAMED not in text


def test_the_rows_of_a_sweep_say_where_they_extrapolate(command: Tessbed) -> None:
    """Each by itself, in the document, in the table and in the files; on guesses there is no such column."""
    varied = ("sweep", "luma", "--vary", "device.workers=1,16", "--executor", "here")
    found = command(*varied, "--set", ON_BOARD, "--out", "rows.csv", "--json")
    beyond = "workers = 16 (measured: 1 to 8)"
    assert [row["extrapolated"] for row in json.loads(found.out)["rows"]] == ["", beyond]
    assert [line.count(beyond) for line in Path("rows.csv").read_text().splitlines()] == [0, 0, 1]
    shown = command(*varied, "--set", ON_BOARD).out
    assert any(line.split()[:1] == ["16"] and line.endswith(beyond) for line in shown.splitlines())
    assert "extrapolated" not in json.loads(command(*varied, "--json").out)["rows"][0]
