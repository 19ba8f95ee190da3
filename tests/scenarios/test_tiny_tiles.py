"""Jobs of very many tiles run in memory for their tensors, and for nothing else that grows with them."""

from pathlib import Path

import pytest

from tests.bench_tiny_tiles import HERE, OPERATIONS, run, scenario

TILE_BYTES = 16
COPIES = 3
"""Input, output, and what the oracle expects of it."""
SLACK_MIB = 2.0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize(
    ("few", "many"), [(5_000, 25_000), pytest.param(20_000, 200_000, marks=pytest.mark.long)], ids=["25k", "200k"]
)
def test_the_peak_follows_the_tensors_alone(op: str, few: int, many: int, tmp_path: Path) -> None:
    """Drains, transfers and events of tiles that are done leave nothing behind; all is moved, checked and verified."""
    path, peaks = tmp_path / "tiny.toml", []
    for tiles in (few, many):
        path.write_text(scenario(op, tiles), encoding="utf-8")
        cost = run(HERE, path)
        assert "right" in cost.line.split()
        peaks.append(cost.peak_mib)
    assert peaks[1] - peaks[0] < COPIES * TILE_BYTES * (many - few) / 2**20 + SLACK_MIB
