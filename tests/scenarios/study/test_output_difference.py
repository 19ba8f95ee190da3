"""Outputs of two run folders: counted byte by byte, and the first difference named by the scalar that it is part of."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from tessbed.cli import main
from tessbed.scenarios.judgement import oracle_case
from tessbed.scenarios.oracle.comparison import expected_output, place_of_byte, verify
from tests.geometries import name_of, random_geometries
from tests.scenarios.verification.explore.test_exploration import case_of

ROWS = """\
name = "rows"
[[jobs]]
name = "rows"
op = "detess"
backend = "ev74"
dtype = "bf16"
shape = [6, 5, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 5, 3] }
input = { pattern = "golden" }
[[jobs]]
name = "same"
op = "tess"
backend = "ev74"
dtype = "int8"
shape = [6, 5, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 5, 3] }
input = { pattern = "ramp" }
"""


def said(capsys, *arguments) -> str:
    """What a command that ends well prints."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.fixture
def folders(tmp_path, capsys) -> tuple[Path, Path]:
    """Two run folders of one scenario."""
    (tmp_path / "rows.toml").write_text(ROWS, encoding="utf-8")
    for name in ("one", "other"):
        said(capsys, "run", tmp_path / "rows.toml", "-q", "-o", tmp_path / name)
    return tmp_path / "one", tmp_path / "other"


def test_equal_outputs_are_said_to_be_equal(folders, capsys) -> None:
    """Both outputs are equal; the document has a row for each."""
    assert "outputs of 2 of 2 equal, byte for byte" in said(capsys, "compare", *folders)
    rows = json.loads(said(capsys, "compare", *folders, "--json"))["outputs"]
    assert [(row["job"], row["bytes"], row["differing_bytes"], row["first"]) for row in rows] == [
        ("rows", [180, 180], 0, None),
        ("same", [96, 96], 0, None),
    ]


def test_the_first_byte_that_differs_is_named(folders, capsys) -> None:
    """Three bytes changed: their number, the first one's values, and its scalar, byte 1 of a BF16 word."""
    path = folders[1] / "outputs" / "00-rows.bin"
    raw = bytearray(path.read_bytes())
    for offset in (2 * (1 * 15 + 2 * 3 + 1) + 1, 120, 179):  # the scalar [1, 2, 1]
        raw[offset] ^= 0xFF
    path.write_bytes(raw)
    text = said(capsys, "compare", *folders)
    before = (folders[0] / "outputs" / "00-rows.bin").read_bytes()[45]
    values = f"{before:#04x} and {before ^ 0xFF:#04x}"
    assert f"rows: 3 of 180 bytes differ, the first at 45: {values} (byte 1 of scalar [1, 2, 1])" in text
    assert "outputs of 1 of 2 equal" in text


def test_outputs_that_are_not_there_or_of_another_size(folders, capsys) -> None:
    """A folder without an output is named; sizes that differ are given, and no scalar."""
    (folders[1] / "outputs" / "00-rows.bin").unlink()
    path = folders[1] / "outputs" / "01-same.bin"
    path.write_bytes(path.read_bytes()[:80])
    text = said(capsys, "compare", *folders)
    assert f"rows: no output is kept in {folders[1]}" in text
    assert "same: 96 bytes and 80 bytes of output" in text


def test_scenarios_have_no_outputs(folders, capsys) -> None:
    """Only two folders keep any."""
    scenario = folders[0].parent / "rows.toml"
    assert json.loads(said(capsys, "compare", folders[0], scenario, "--json"))["outputs"] is None


@pytest.mark.parametrize("geometry", [g for g in random_geometries(36, 41) if 0 not in g.shape], ids=name_of)
def test_a_byte_is_where_the_oracle_finds_it(geometry) -> None:
    """For bytes all over an output: what it is, is what the oracle says of that byte where it alone is wrong."""
    wanted, rng = case_of(geometry).geometry, random.Random(name_of(geometry))
    case, size = oracle_case(wanted), wanted.admit().input.required_bytes
    source = np.frombuffer(rng.randbytes(size), np.uint8)
    right = expected_output(case, source, 0xC3)
    for offset in {0, right.size - 1, *(rng.randrange(right.size) for _ in range(8))}:
        wrong = right.copy()
        wrong[offset] ^= 1
        found = verify(case, source, wrong, 0xC3)
        assert found == place_of_byte(case, offset, int(wrong[offset]), int(right[offset]))
