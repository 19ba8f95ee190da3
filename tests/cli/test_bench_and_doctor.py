"""The commands that look at the machine: what `doctor` finds, what `bench` measures."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from tessbed.commands import bench, doctor
from tessbed.kernels.a65 import native_rows
from tessbed.sim.exact import native

ROOT = Path(__file__).parents[2]


def test_doctor_names_the_rows_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report follows TESSBED_ROWS, and says that it does."""
    monkeypatch.setenv("TESSBED_ROWS", "numpy")
    reported = CliRunner().invoke(doctor.command, [], standalone_mode=False).output
    assert "A65 rows  numpy, as TESSBED_ROWS asks" in reported


def test_doctor_says_why_native_rows_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extension the reason is reported, and numpy is in use."""
    monkeypatch.delenv("TESSBED_ROWS", raising=False)
    monkeypatch.setattr(native_rows, "missing", "no module of that name")
    found = json.loads(CliRunner().invoke(doctor.command, ["--json"], standalone_mode=False).output)
    assert found["a65_rows"]["engine"] == "numpy"
    assert found["a65_rows"]["native_missing"] == "no module of that name"


def test_doctor_names_both_parts_in_c_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a C compiler at install, each of the two says why it is not there, and how to get it."""
    for variable in ("TESSBED_ROWS", "TESSBED_EXACT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(native_rows, "missing", "no rows")
    monkeypatch.setattr(native, "missing", "no counting")
    reported = CliRunner().invoke(doctor.command, [], standalone_mode=False).output
    assert "A65 rows  numpy" in reported
    assert "exact     python" in reported
    assert "the native form is missing: no rows\n" in reported
    assert "the native form is missing: no counting\n" in reported
    assert reported.count("install again with a C compiler") == 2


def test_doctor_knows_every_extra_for_users() -> None:
    """An extra of the package that is not for its developers has a line."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {extra for extra, _ in doctor.EXTRAS.values()} == set(extras) - {"test", "bench", "check", "docs"}


def test_bench_measures_the_cases_asked_for() -> None:
    """The document holds one measurement for each case whose name matches, and no other."""
    arguments = ["--match", "bf16 2 KiB", "--rounds", "1", "--json"]
    document = json.loads(CliRunner().invoke(bench.command, arguments, standalone_mode=False).output)
    names = [entry["name"] for entry in document["measurements"]]
    operations = ("tess", "detess", "detesscast", "casttess")
    assert [name for name in names if name.endswith("8x8x16")] == [f"{op} bf16 2 KiB, 8x8x16" for op in operations]
    assert all("bf16 2 KiB" in name for name in names)
    assert all(entry["call_ns"] > 0 for entry in document["measurements"])


def test_bench_refuses_a_name_that_no_case_has() -> None:
    """An empty selection is an error in the command, with an example of a name."""
    result = CliRunner().invoke(bench.command, ["--match", "nowhere"])
    assert result.exit_code == 2
    assert "wanted part of a case's name such as" in result.output
