"""Figures: the style of all plots, their axes and captions, and the files that they are saved to.

A picture is the same, byte for byte, for the same document and the same matplotlib. The caption says what the ticks
are: of which device, at which clock, and that they are model ticks; beside the axis of ticks is one of microseconds.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from textwrap import wrap
from typing import Any, TypeVar

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.output.files import replacing, unusable
from tessbed.scenarios.provenance.basis_words import NOT_CALIBRATED, basis_document, scenario_words
from tessbed.scenarios.provenance.tick_basis import tick_basis

INCHES = (9, 5)
ROW_INCHES = 0.3
TICKS = "device ticks"
HEADROOM = 1.08
SHARE = 0.07  # of the longest bar: a smaller part of a bar has no room for its share
WORDS = 0.35  # of what bars take, at each end, for the words behind them
LEGEND = 12  # entries that are still read
NAMES = 4  # of one entry
CAPTION = 140  # characters of a line
STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "0.4",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "tessbed",
    "svg.fonttype": "none",
}
"""The style sheet of all plots."""
# The formats, with what would hold the time of day.
FORMATS: dict[str, dict[str, None]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}

F = TypeVar("F", bound=Callable[..., Any])


@attrs.frozen
class DeviceCaption:
    """What a caption says of the device; without a preset the device is one of those that were varied."""

    preset: str = ""
    clock_mhz: int = 0
    basis: str = NOT_CALIBRATED

    @classmethod
    def of(cls, scenario: Scenario) -> "DeviceCaption":
        """That of a scenario's device; one that was changed says so."""
        changed = "" if scenario.device == scenario.preset_device else ", changed"
        return cls(scenario.preset + changed, scenario.device.clock_mhz, scenario_words(scenario))

    @classmethod
    def of_both(cls, before: Scenario, after: Scenario) -> "DeviceCaption":
        """That of two runs; without a clock where they have two."""
        one, other = cls.of(before), cls.of(after)
        if one == other:
            return one
        clock = one.clock_mhz if one.clock_mhz == other.clock_mhz else 0
        basis = str(basis_document(map(tick_basis, (before, after)))["words"])
        return cls(" and ".join(dict.fromkeys((one.preset, other.preset))), clock, basis)

    def with_varied(self, keys: Sequence[str]) -> "DeviceCaption":
        """That of devices on which these keys are varied."""
        if not keys:
            return self
        varied = [key.removeprefix("device.") for key in keys]
        fixed = not {"preset", "clock_mhz"} & {*varied}
        return attrs.evolve(
            self, preset=f"{self.preset} with varied {', '.join(varied)}", clock_mhz=self.clock_mhz if fixed else 0
        )

    def words(self, *more: str) -> str:
        """The caption."""
        device = [f"device {self.preset}"] if self.preset else ["devices as varied"]
        clock = f" at {self.clock_mhz:,} MHz" if self.clock_mhz else ""
        return "; ".join([device[0] + clock, f"model ticks, {self.basis}", *more])

    def time(self, ticks: float) -> str:
        """As " = 52.35 µs"; nothing without a clock."""
        return f" = {ticks / self.clock_mhz:,.2f} µs" if self.clock_mhz else ""

    def rate(self, nbytes: int, ticks: int) -> str:
        """As ", 12.22 GB/s"; nothing without a clock."""
        return f", {nbytes * self.clock_mhz / ticks / 1000:,.2f} GB/s" if self.clock_mhz and ticks else ""


def styled(draw: F) -> F:
    """A function that draws in the style of all plots."""

    @wraps(draw)
    def drawn(*arguments: Any, **named: Any) -> Any:
        with matplotlib_or_error().rc_context(STYLE):
            return draw(*arguments, **named)

    return drawn  # pyright: ignore[reportReturnType]


def check_plot_file(path: Path) -> None:
    """Raise ScenarioError for a file that can not be drawn: reported before the work, and not after it."""
    if path.suffix.lower() not in FORMATS:
        raise _wrong(f"got the suffix {path.suffix!r}, wanted {', '.join(FORMATS)}")
    if problem := unusable(path):
        raise _wrong(problem)
    matplotlib_or_error()


def save(figure: Any, path: Path) -> None:
    """Write the picture in the format of its suffix; text stays text in an SVG. Raises OSError that names the file."""
    with matplotlib_or_error().rc_context(STYLE), replacing(path) as part:
        figure.savefig(part, metadata=FORMATS[path.suffix.lower()])


def new_axes(title: str, caption: str, rows: int = 0) -> tuple[Any, Any]:
    """A figure with its caption, high enough for so many rows, and its axes."""
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

    figure = Figure(figsize=(INCHES[0], max(INCHES[1], 1.6 + ROW_INCHES * rows)), layout="constrained")
    axes = figure.subplots()
    axes.set_title(plain_text(title))
    figure.supxlabel(plain_text("\n".join(wrap(caption, CAPTION))), x=0.01, ha="left", fontsize="small", color="0.35")
    return figure, axes


def bar_rows(axes: Any, names: Sequence[str]) -> None:
    """Rows of bars with these names, the first on top."""
    axes.set_yticks(range(len(names)), [plain_text(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def label_shares(axes: Any, bars: Any, parts: Sequence[float], wholes: Sequence[float], largest: float) -> None:
    """The share of the whole in each part of stacked bars, where there is room for it on an axis up to `largest`."""
    pairs = zip(parts, wholes, strict=True)
    shares = [share_of(part, whole) if part >= SHARE * largest else "" for part, whole in pairs]
    axes.bar_label(bars, shares, label_type="center", fontsize="x-small", color="white")


def share_of(part: float, whole: float) -> str:
    """As "12 %"."""
    return f"{100 * part / max(1, whole):.0f} %"


def ticks_across(axes: Any, device: DeviceCaption, largest: float, label: str = TICKS) -> None:
    """The x axis is of ticks from 0, with room for words behind the bars; above it are microseconds."""
    axes.set_xlim(0, 1.45 * max(1, largest))
    axes.set_xlabel(label)
    thousands(axes.xaxis)
    if device.clock_mhz:
        add_times(axes.secondary_xaxis("top", functions=_times(device.clock_mhz)).xaxis)


def changes_across(axes: Any, device: DeviceCaption) -> None:
    """The x axis is of changes in ticks, with room for words at both ends; above it are microseconds."""
    axes.axvline(0, color="0.3", linewidth=1)
    low, high = axes.get_xlim()
    axes.set_xlim(low - WORDS * (high - low), high + WORDS * (high - low))
    axes.set_xlabel(f"change of the {TICKS}")
    axes.xaxis.get_major_locator().set_params(nbins=6)
    thousands(axes.xaxis)
    if device.clock_mhz:
        add_times(axes.secondary_xaxis("top", functions=_times(device.clock_mhz)).xaxis)


def ticks_up(axes: Any, device: DeviceCaption, label: str = TICKS) -> None:
    """The y axis begins at 0, so that half as high is half as long; beside it are microseconds."""
    tallest = max((y for line in axes.lines for y in line.get_ydata()), default=1)
    axes.set_ylim(0, HEADROOM * max(1, tallest))
    label_ticks(axes, device, label)


def label_ticks(axes: Any, device: DeviceCaption, label: str) -> None:
    """The y axis is of ticks; beside it are microseconds."""
    axes.set_ylabel(label)
    thousands(axes.yaxis)
    if device.clock_mhz:
        add_times(axes.secondary_yaxis("right", functions=_times(device.clock_mhz)).yaxis)


def add_times(axis: Any) -> None:
    """An axis beside one of ticks is of microseconds."""
    axis.set_label_text("µs")
    axis.set_major_formatter("{x:,.10g}")


def _times(clock_mhz: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return lambda ticks: ticks / clock_mhz, lambda time: time * clock_mhz


def lines_together(lines: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Lines that would hide each other, as one with all their names."""
    found: list[tuple[list[str], Any]] = []
    for name, points in lines:
        names = next((names for names, known in found if known == points), None)
        if names is None:
            found.append(([name], points))
        else:
            names.append(name)
    return [
        (plain_text(", ".join(names[:NAMES]) + (" ..." if len(names) > NAMES else "")), points)
        for names, points in found
    ]


def thousands(axis: Any) -> None:
    """Numbers with commas."""
    axis.set_major_formatter("{x:,.0f}")


def whole_numbers(axis: Any) -> None:
    """Marks at integers alone."""
    axis.get_major_locator().set_params(integer=True)


def add_legend(figure: Any, axes: Any, title: str | None = None, most: int = LEGEND) -> None:
    """Beside the axes, where it hides nothing; of many lines, some."""
    handles, labels = axes.get_legend_handles_labels()
    some = slice(None, None, -(-len(handles) // max(1, most)) or 1)
    if len(handles) > 1:
        place: dict[str, Any] = {"loc": "outside right upper", "fontsize": "small", "title_fontsize": "small"}
        figure.legend(handles[some], labels[some], title=title, **place)


def add_keys(axes: Any, colours: dict[str, str]) -> None:
    """Entries of the legend for colours that no bars have as a whole."""
    for name, colour in colours.items():
        axes.barh([0], [0], color=colour, label=name)  # without any bar, the legend would not know the colour


def plain_text(name: str) -> str:
    """A name as it is: matplotlib takes dollars for formulas, and hides what begins with an underscore."""
    return ("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$")


def matplotlib_or_error() -> Any:
    """The library. Raises ScenarioError where it is not installed."""
    try:
        import matplotlib  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise _wrong("needs matplotlib: pip install 'tessbed[plot]'") from None
    return matplotlib


def _wrong(text: str) -> ScenarioError:
    return ScenarioError([Problem(Location("--plot"), text, "usage")])
