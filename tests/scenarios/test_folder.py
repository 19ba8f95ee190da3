"""The run folder: complete, the same bytes for the same scenario, and never in the way of other files."""

import hashlib
import json
from pathlib import Path

import pytest

from tessbed.kernels.ev74.packet import decode
from tessbed.scenarios import library
from tessbed.scenarios.folder import RunFolder, contents
from tessbed.scenarios.run import Run, run


def run_of(name: str) -> Run:
    """A scenario of the catalogue, run with the trace that a folder wants."""
    return run(library.load(name), trace=True)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file by its name in the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["documents-2x17", "fault-dma-error", "fault-stalled-channel", "empty"])
def test_same_bytes(tmp_path: Path, name: str) -> None:
    """Two runs, and a run of the resolved scenario of the first, differ in run.json only."""
    for folder, source in (("a", name), ("b", name), ("c", str(tmp_path / "a" / "scenario.toml"))):
        RunFolder.open(tmp_path / folder).write(run(library.load(source), trace=True), 0.25)
    first, second, third = (files_of(tmp_path / folder) for folder in "abc")
    for files in (first, second, third):
        assert json.loads(files.pop("run.json"))["wall_seconds"] == 0.25
    assert first == second == third


def test_contents() -> None:
    """The files hang together: hash, packets that decode, transfers that add up, events in order."""
    done = run_of("documents-2x17")
    files = contents(done)
    digest = hashlib.sha256(files["scenario.toml"]).hexdigest()
    assert files["scenario.sha256"].decode() == f"{digest}  scenario.toml\n"
    stats = json.loads(files["stats.json"])
    assert (stats["schema_version"], stats["scenario_sha256"]) == (1, digest)
    assert decode(files["packets/02-compact-back-again.bin"])["op"] == 2
    assert b"packet of 216 bytes, valid, bound" in files["packets/02-compact-back-again.txt"]
    rows = files["transfers/00-compact.csv"].decode().splitlines()
    told = stats["jobs"][0]["results"]["ev74"]
    assert len(rows) - 1 == sum(told["transfers"].values())
    assert sum(int(row.rsplit(",", 1)[1]) for row in rows[1:]) == sum(told["payload_bytes"].values())
    events = [json.loads(line) for line in files["events.jsonl"].splitlines()]
    assert [event["tick"] for event in events] == sorted(event["tick"] for event in events)
    assert [event["state"] for event in events if event["job"] == "padded"][-1] == "retired"


def test_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    """Nothing of an earlier run stays behind."""
    RunFolder.open(tmp_path / "run").write(run_of("documents-2x17"), 1)
    RunFolder.open(tmp_path / "run").write(run_of("documents-pitched"), 1)
    assert sorted(path.name for path in (tmp_path / "run" / "packets").glob("*.bin")) == [
        "00-pitched.bin",
        "01-dense.bin",
    ]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """A folder that holds anything else is refused, before anything runs."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(FileExistsError, match=r"holds thesis.tex, which is no file of a run"):
        RunFolder.open(tmp_path)


def test_hostile_names(tmp_path: Path) -> None:
    """A job's name can not lead out of the folder."""
    text = library.catalogue()["documents-pitched"].read_text(encoding="utf-8")
    scenario = tmp_path / "x.toml"
    scenario.write_text(text.replace('"pitched"', '"../../a/b"').replace('"dense"', '"..."'))
    names = contents(run(library.load(str(scenario)), trace=True))
    assert sorted(name for name in names if name.endswith(".bin")) == ["packets/00-a-b.bin", "packets/01.bin"]
