"""The way from a plan to a preset, with a twin in place of a board, as the guide shows it."""

import json
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "calibration"


def hidden() -> dict[str, int]:
    """What the twin hides, by the paths of the device."""
    spec = spec_from_file_location("twin", DEMO / "twin.py")
    assert spec is not None
    assert spec.loader is not None
    twin = module_from_spec(spec)
    spec.loader.exec_module(twin)
    return {path.removeprefix("device."): value for path, value in twin.HIDDEN.items()}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_demo_finds_what_the_twin_hides(tmp_path: Path) -> None:
    """Every command ends well; what is called determined is near the truth, and a report names the twin."""
    done = subprocess.run(
        ["sh", DEMO / "demo.sh", sys.executable, tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    fit = json.loads((tmp_path / "board" / "fit.json").read_text())
    truth = hidden()
    found = {one["path"]: one for one in fit["estimates"] if one["verdict"] == "determined" and one["path"] in truth}
    assert len(found) >= len(truth) // 2
    for path, one in found.items():
        reach = one["high"] - one["low"]  # twice the interval: an interval of 90 % may miss
        assert one["low"] - reach / 2 <= truth[path] <= one["high"] + reach / 2, (path, truth[path], one)
    assert re.search(r"ticks: .*calibrated: preset \S*twin.toml, a twin, 2026-12-01, \d+ of 56", done.stdout)
