"""The bench's plot: how many times faster than a copy and than plain numpy each case is, as bars from equal speed."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from tessbed.bench.report import BenchReport
from tessbed.scenarios.study.plots.figure import CAPTION, ROW_INCHES, bar_rows, plain_text, save, styled

RATIOS = {"copy_ratio": "speed, np.copyto = 1", "user_ratio": "speed, plain numpy = 1"}
MARKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
FASTER, SLOWER = "tab:green", "tab:red"
ROOM = 2.2
"""Behind the longest bars, as a factor, for their values."""
CAPTION_WORDS = (
    "measured on this machine, whose processor is no A65; medians of interleaved rounds; the axes are logarithmic, "
    "bars begin at equal speed"
)


def write_plot(report: BenchReport, path: Path) -> None:
    """Draw it into a file. Raises ScenarioError without matplotlib, OSError that names the file."""
    save(draw_bench(report), path)


@styled
def draw_bench(report: BenchReport) -> Any:
    """Two columns of bars, a row for each case, in the order of the table."""
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

    names = [entry.name for entry in report.measurements]
    figure = Figure(figsize=(11, 1.6 + ROW_INCHES * 0.8 * len(names)), layout="constrained")
    figure.supxlabel(
        plain_text("\n".join(wrap(CAPTION_WORDS, CAPTION))), x=0.01, ha="left", fontsize="small", color="0.35"
    )
    for axes, (ratio, title) in zip(figure.subplots(1, 2, sharey=True), RATIOS.items(), strict=True):
        _draw_ratios(axes, [getattr(entry, ratio) for entry in report.measurements])
        axes.set_title(title, fontsize="medium")
        bar_rows(axes, names)
    return figure


def _draw_ratios(axes: Any, ratios: Sequence[float]) -> None:
    """Bars from 1 to each ratio, with their values; slower ones go to the left."""
    low, high = min(1, *ratios) / ROOM, max(1, *ratios) * ROOM
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.minorticks_off()
    axes.set_xticks([mark for mark in MARKS if low <= mark <= high])
    axes.xaxis.set_major_formatter("{x:g}")
    colours = [FASTER if ratio >= 1 else SLOWER for ratio in ratios]
    axes.barh(range(len(ratios)), [ratio - 1 for ratio in ratios], left=1, color=colours)
    axes.axvline(1, color="0.3", linewidth=1)
    for row, ratio in enumerate(ratios):
        side = 4 if ratio >= 1 else -4
        axes.annotate(
            f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}", (ratio, row), (side, 0), textcoords="offset points",
            ha="left" if ratio >= 1 else "right", va="center", fontsize="x-small",
        )  # fmt: skip
