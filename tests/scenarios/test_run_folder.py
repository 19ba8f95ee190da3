"""The run folder: complete, the same bytes for the same scenario, and never in the way of other files."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tessbed.cli import main
from tessbed.kernels.ev74.codec import decode
from tessbed.scenarios import library
from tessbed.scenarios.judgement import fill_input
from tessbed.scenarios.model import ScenarioJob
from tessbed.scenarios.outcome import ScenarioRun
from tessbed.scenarios.run_folder import RunFolder, contents
from tessbed.scenarios.runner import run_scenario


def run_of(name: str) -> ScenarioRun:
    """A scenario of the catalogue, run with the trace that a folder wants."""
    return run_scenario(library.load(name), trace=True)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file by its name in the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["documents-2x17", "fault-dma-error", "fault-stalled-channel", "empty"])
def test_same_bytes(tmp_path: Path, name: str) -> None:
    """Two runs, and a run of the resolved scenario of the first, differ in run.json only."""
    for folder, source in (("a", name), ("b", name), ("c", str(tmp_path / "a" / "scenario.toml"))):
        RunFolder.open(tmp_path / folder).write(run_scenario(library.load(source), trace=True), 0.25)
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
    reported = stats["jobs"][0]["results"]["ev74"]
    assert len(rows) - 1 == sum(reported["transfers"].values())
    assert sum(int(row.rsplit(",", 1)[1]) for row in rows[1:]) == sum(reported["payload_bytes"].values())
    events = [json.loads(line) for line in files["events.jsonl"].splitlines()]
    assert [event["tick"] for event in events] == sorted(event["tick"] for event in events)
    assert [event["state"] for event in events if event["job"] == "padded"][-1] == "retired"


FROM_FILES = """\
name = "from files"
[[jobs]]
name = "image"
op = "tess"
dtype = "int8"
shape = [6, 5, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 5, 3] }
input = { file = "there/image.NPY" }
[[jobs]]
name = "raw"
op = "tess"
dtype = "int8"
shape = [90]
tiled = { axes = [-1, -1, -1, 0], tile = [1, 1, 1, 90] }
input = { file = "raw.bin" }
[[jobs]]
name = "raw again"
op = "tess"
dtype = "int8"
shape = [90]
tiled = { axes = [-1, -1, -1, 0], tile = [1, 1, 1, 30] }
input = { file = "raw.bin" }
"""


@pytest.fixture
def from_files(tmp_path: Path) -> Path:
    """A scenario beside the files that it reads."""
    (tmp_path / "mine" / "there").mkdir(parents=True)
    with (tmp_path / "mine" / "there" / "image.NPY").open("wb") as file:
        np.save(file, np.arange(90, dtype=np.int8).reshape(6, 5, 3))
    (tmp_path / "mine" / "raw.bin").write_bytes(bytes(range(90)))
    scenario = tmp_path / "mine" / "x.toml"
    scenario.write_text(FROM_FILES, encoding="utf-8")
    return scenario


def ran_into(folder: Path, *arguments: str) -> dict[str, bytes]:
    """The files of a run folder, all but run.json."""
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments, "-q", "-o", str(folder)])
    assert ended.value.code == 0
    return {name: content for name, content in files_of(folder).items() if name != "run.json"}


def test_a_folder_holds_its_inputs(tmp_path: Path, from_files: Path) -> None:
    """Moved away, and with the files that it was made from gone, a folder runs again into the same folder."""
    first = ran_into(tmp_path / "first", str(from_files))
    copies = {name: first[name] for name in ("inputs/image.npy", "inputs/raw.bin")}
    assert copies["inputs/raw.bin"] == (from_files.parent / "raw.bin").read_bytes()
    assert copies["inputs/image.npy"] == (from_files.parent / "there" / "image.NPY").read_bytes()
    assert {name for name in first if name.startswith("inputs")} == {*copies, "inputs/00-image.bin"}
    assert first["inputs/00-image.bin"] == bytes(range(90))
    sums = [line.split("  ") for line in first["scenario.sha256"].decode().splitlines()]
    assert [name for _, name in sums] == ["scenario.toml", *sorted(copies)]
    assert all(hashlib.sha256(first[name]).hexdigest() == digest for digest, name in sums)
    shutil.rmtree(from_files.parent)
    shutil.move(tmp_path / "first", tmp_path / "moved")
    again = str(tmp_path / "moved" / "scenario.toml")
    assert ran_into(tmp_path / "second", again) == first
    assert ran_into(tmp_path / "moved", again) == first


def test_inputs_of_an_earlier_run_go(tmp_path: Path, from_files: Path) -> None:
    """Only what the last run read stays; what nobody put there by a run is never touched."""
    ran_into(tmp_path / "run", str(from_files))
    (from_files.parent / "raw.bin").write_bytes(bytes(90))
    changed = ran_into(tmp_path / "run", str(from_files))
    assert len([name for name in changed if name.startswith("inputs")]) == 3
    assert changed == ran_into(tmp_path / "fresh", str(from_files))
    ran_into(tmp_path / "run", "documents-2x17", "--no-outputs")
    assert not (tmp_path / "run" / "inputs").exists()
    (tmp_path / "run" / "inputs").mkdir()
    (tmp_path / "run" / "inputs" / "mine.npy").write_bytes(b"x")
    with pytest.raises(FileExistsError, match=r"holds inputs/mine.npy, which is not a file of a run"):
        RunFolder.open(tmp_path / "run")


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
    with pytest.raises(FileExistsError, match=r"holds thesis.tex, which is not a file of a run"):
        RunFolder.open(tmp_path)


def test_hostile_names(tmp_path: Path) -> None:
    """A job's name can not lead out of the folder."""
    text = library.catalogue()["documents-pitched"].read_text(encoding="utf-8")
    scenario = tmp_path / "x.toml"
    scenario.write_text(text.replace('"pitched"', '"../../a/b"').replace('"dense"', '"..."'))
    names = contents(run_scenario(library.load(str(scenario)), trace=True))
    assert sorted(name for name in names if name.endswith(".bin")) == ["packets/00-a-b.bin", "packets/01.bin"]


def test_input_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Two files of one name, or of names that differ in case alone, get numbers; running again keeps them."""
    job = FROM_FILES.partition("[[jobs]]")[2].rpartition("[[jobs]]")[2]
    text = 'name = "names"\n'
    for number, name in enumerate(("one/raw.bin", "two/RAW.bin", "two/.bin.bin", "one/../../x y.bin")):
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]) * 90)
        text += f"[[jobs]]{job.replace('raw again', f'job {number}').replace('raw.bin', name)}"
    (tmp_path / "mine" / "x.toml").write_text(text, encoding="utf-8")
    first = ran_into(tmp_path / "first", str(tmp_path / "mine" / "x.toml"))
    names = [name for name in first if name.startswith("inputs")]
    assert sorted(names) == ["inputs/RAW-2.bin", "inputs/bin.bin", "inputs/raw.bin", "inputs/x-y.bin"]
    assert first["inputs/RAW-2.bin"] == b"\1" * 90
    assert ran_into(tmp_path / "second", str(tmp_path / "first")) == first


def test_a_folder_holds_what_was_read_and_written(tmp_path: Path) -> None:
    """The bytes of every input that a pattern makes, and of every output, once where two backends agree."""
    first = ran_into(tmp_path / "run", "documents-2x17")
    done = run_of("documents-2x17")
    for entry in done.jobs:
        job = entry.job
        assert isinstance(job, ScenarioJob)
        name = f"{job.index:02}-{job.name.replace(', ', '-').replace(' ', '-')}"
        shas = {outcome.output_sha256 for outcome in entry.outcomes}
        assert {hashlib.sha256(first[f"outputs/{name}.bin"]).hexdigest()} == shas
        source = np.zeros(job.plan.input.required_bytes, np.uint8)
        fill_input(source, job, done.scenario.seed)
        assert first[f"inputs/{name}.bin"] == source.tobytes()
    assert sum(name.startswith(("outputs", "inputs")) for name in first) == 2 * len(done.jobs)
    bare = ran_into(tmp_path / "bare", "documents-2x17", "--no-outputs")
    assert bare == {name: content for name, content in first.items() if not name.startswith(("outputs", "inputs"))}


def test_two_backends_that_differ_have_two_outputs(tmp_path: Path) -> None:
    """Where backends write other bytes, each file has its backend's name, whichever came first."""
    (job,) = library.load("documents-pitched").jobs[:1]
    with RunFolder.open(tmp_path / "run") as folder:
        folder.keep(job, "a65", "", np.array([1, 2], np.uint8))
        folder.keep(job, "ev74", "", np.array([1, 3], np.uint8))
        made = {path.name: path.read_bytes() for path in folder._output.new.rglob("*.bin")}
    assert made == {"00-pitched.a65.bin": b"\1\2", "00-pitched.ev74.bin": b"\1\3"}


def test_outputs_need_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """--no-outputs without -o has no effect, and is refused."""
    with pytest.raises(SystemExit) as ended:
        main(["run", "documents-2x17", "--no-outputs"])
    assert ended.value.code == 2
    assert "wanted -o DIR" in capsys.readouterr().err
