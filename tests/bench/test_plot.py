"""The bench's plot: every ratio as a bar from equal speed, with its value."""

import pytest

from tessbed.bench.report import run_bench
from tests.bench.test_report import SMALL

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_bars_go_from_equal_speed_to_the_ratio() -> None:
    """Two columns with a row for each case; a bar ends at its ratio, and its value is beside it."""
    from tessbed.bench.plot import draw_bench

    report = run_bench(SMALL[:3], rounds=1)
    figure = draw_bench(report)
    names = [entry.name for entry in report.measurements]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == names
    for axes, ratio in zip(figure.axes, ("copy_ratio", "user_ratio"), strict=True):
        wanted = [getattr(entry, ratio) for entry in report.measurements]
        assert [bar.get_x() + bar.get_width() for bar in axes.patches] == pytest.approx(wanted)
        assert [float(text.get_text()) for text in axes.texts] == pytest.approx(wanted, abs=0.05)
        low, high = axes.get_xlim()
        assert all(low < mark < high for mark in [1, *wanted])
    assert "no A65" in figure.get_supxlabel()
