"""Preset files: a device of one's own is named by its file, and every error of it has its location."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import Location, ScenarioError
from tessbed.scenarios.format.presets.preset_file import PresetSource, read_preset
from tessbed.scenarios.library import load
from tessbed.sim.spec.device_spec import DeviceSpec, load_preset, override
from tests.cli.conftest import HEAD, Tessbed
from tests.cli.conftest import tessbed as command

__all__ = ["command"]
ON_MYCHIP = HEAD.replace("[[jobs]]", '[device]\npreset = "chips/mychip.toml"\nslots = 3\n[[jobs]]')
MYCHIP = 'about = "ours"\npreset = "ev74-axi"\ncores = 2\nworkers = 2\ndma = { outstanding = 8 }\n'


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario whose device is a file beside it."""
    (tmp_path / "chips").mkdir()
    (tmp_path / "chips" / "mychip.toml").write_text(MYCHIP)
    path = tmp_path / "head.toml"
    path.write_text(ON_MYCHIP)
    return path


def test_a_preset_file_is_relative_to_the_scenario(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's fields lie over its own preset, the scenario's over the file's; where one is does not matter."""
    monkeypatch.chdir("/")
    spec = load(str(scenario)).device
    assert spec == override(load_preset("ev74-axi"), {"cores": 2, "workers": 2, "dma": {"outstanding": 8}, "slots": 3})


def test_a_preset_of_an_option_is_relative_to_the_working_folder(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--set device.preset=` names a file from where the command runs, whatever scenario it is."""
    monkeypatch.chdir(scenario.parent / "chips")
    assert load("luma", ["device.preset=mychip.toml"]).device.cores == 2
    assert load(str(scenario), ["device.preset=mychip.toml"]).device.slots == 3


def test_presets_on_presets(tmp_path: Path) -> None:
    """A file may start from another, relative to itself; a circle is refused."""
    (tmp_path / "a.toml").write_text('preset = "deep/b.toml"\nworkers = 3\n')
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.toml").write_text("slots = 4\n")
    here = PresetSource(tmp_path, Location("device"))
    assert read_preset("a.toml", here).device == override(DeviceSpec(), {"slots": 4, "workers": 3})
    (tmp_path / "deep" / "b.toml").write_text('preset = "../a.toml"\n')
    with pytest.raises(ScenarioError, match=r"b.toml:1:10: preset: got a.toml, wanted presets without a circle: "):
        read_preset("a.toml", here)


MISTAKES = {
    "fields": ("coers = 2\nslots = 0\n", ["mychip.toml:1:1: coers: unknown field 'coers'; did you mean 'cores'?",
        "mychip.toml:2:9: slots: got 0, wanted an integer from 1 to 8 (slots)"]),
    "a table": ("dma.outstanding = 0\n", ["mychip.toml:1:19: dma.outstanding: got 0, wanted an integer from 1 to"]),
    "together": ("cores = 2\ncore_ids = [1]\n", ["mychip.toml:2:12: core_ids: got [1], wanted no ids or one"]),
    "syntax": ("cores = \n", ["mychip.toml:1:9: "]),
    "about": ("about = 5\ncores = 0\n", ["mychip.toml:1:9: about: got 5, wanted text", "mychip.toml:2:9: cores: "]),
    "a scenario": (HEAD, ["mychip.toml:1:8: ", "mychip.toml:2:3: jobs: got a key of a scenario, wanted a preset: "]),
    "its preset": ('preset = "ev74-4cor"\n', ["mychip.toml:1:10: preset: unknown preset 'ev74-4cor'; did you mean"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), MISTAKES.values(), ids=MISTAKES.keys())
def test_errors_have_their_place(text: str, lines: list[str], scenario: Path, command: Tessbed) -> None:
    """Each error of a preset file is at its line and column there, beside those of the scenario."""
    (scenario.parent / "chips" / "mychip.toml").write_text(text)
    scenario.write_text(ON_MYCHIP.replace("slots = 3", "slots = 3\nsolts = 1"))
    said = command("validate", scenario)
    assert said.code == 2
    assert f"{scenario}:5:1: device.solts: unknown field" in said.err
    if text != HEAD:
        assert all(f"{scenario.parent}/chips/{line}" in said.err for line in lines), said.err
    else:
        assert lines[1] in said.err


def test_a_preset_that_is_not_there(scenario: Path, command: Tessbed) -> None:
    """A missing file is an error at the key; a bare name whose file lies beside is a hint."""
    scenario.write_text(ON_MYCHIP.replace("chips/mychip.toml", "mychip.toml"))
    assert (
        f'{scenario}:3:10: device.preset: got "mychip.toml", wanted a preset or its file: '
        in command("run", scenario).err
    )
    scenario.with_name("mychip.toml").write_text(MYCHIP)
    scenario.write_text(ON_MYCHIP.replace("chips/mychip.toml", "mychip"))
    assert "unknown preset 'mychip'; did you mean the file 'mychip.toml'?" in command("run", scenario).err


def test_a_run_folder_holds_its_device(scenario: Path, command: Tessbed) -> None:
    """The folder runs again by itself, without the preset file, to the same folder."""
    first, second = scenario.with_name("first"), scenario.with_name("second")
    assert command("run", scenario, "-o", first).code == 0
    (scenario.parent / "chips" / "mychip.toml").unlink()
    assert command("run", first / "scenario.toml", "-o", second).code == 0
    files = [path.relative_to(first) for path in first.rglob("*") if path.is_file() and path.name != "run.json"]
    assert [str(name) for name in files if (first / name).read_bytes() != (second / name).read_bytes()] == []
    assert (first / "devices" / "mychip.toml").is_file()


def test_a_sweep_over_preset_files(scenario: Path, command: Tessbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of one's own are values of an axis like any other."""
    monkeypatch.chdir(scenario.parent)
    said = command(
        "sweep", "head.toml", "--vary", "device.preset=ev74-1core,chips/mychip.toml", "--executor", "here", "--json"
    )
    rows = json.loads(said.out)["rows"]
    assert [row["device.preset"] for row in rows] == ["ev74-1core", "chips/mychip.toml"]
    assert rows[0]["device_ticks"] != rows[1]["device_ticks"]


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment with a package that brings presets, and fails when it is imported."""
    site = tmp_path / "site"
    package, about = site / "mychip_devices" / "boards", site / "mychip_devices-1.0.dist-info"
    for folder in (package, about):
        folder.mkdir(parents=True)
    (site / "mychip_devices" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (site / "mychip_devices" / "mychip.toml").write_text(MYCHIP)
    (package / "wide.toml").write_text("dma = { outstanding = 0 }\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mychip_devices\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[tessbed.presets]\nmychip = mychip_devices\nwide = mychip_devices.boards\n"
        "gone = mychip_devices\naway = not_there\nev74-axi = mychip_devices\n"
    )
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *sys.path])}


def run(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The command with that environment."""
    command = [sys.executable, "-m", "tessbed", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_presets_of_packages(installed: dict[str, str], scenario: Path) -> None:
    """A package's presets are listed and used by name without importing it; what is wrong with one is said."""
    listed = json.loads(run("list", "--json", environment=installed).stdout)["devices"]
    about = {entry["device"]: (entry["from"], entry["about"]) for entry in listed}
    assert about["mychip"] == ("mychip_devices", "ours")
    assert about["gone"] == ("mychip_devices", "the package mychip_devices has no file gone.toml")
    assert about["away"] == ("not_there", "the package not_there, which the entry point names, is not there")
    assert "wide.toml:1:" in about["wide"][1]
    assert about["ev74-axi"][0] == "tessbed"
    used = run("show", "luma", "--set", "device.preset=mychip", environment=installed)
    assert "device  mychip, as it is" in used.stdout
    near = run("show", "luma", "--set", "device.preset=mychp", environment=installed)
    assert near.stderr == "--set device.preset: unknown preset 'mychp'; did you mean 'mychip'?\n"
    folder = scenario.with_name("folder")
    assert run("run", "luma", "--set", "device.preset=mychip", "-o", str(folder), environment=installed).returncode == 0
    assert run("run", str(folder / "scenario.toml"), environment=dict(os.environ)).returncode == 0
