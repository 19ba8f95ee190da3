"""Plots of studies, with matplotlib (the extra `plot`): each function draws the document of one command.

A picture is the same, byte for byte, for the same document and the same matplotlib.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.output.files import replacing, unusable

INCHES = (9, 5)
TICKS = "device ticks"
HEADROOM = 1.08
LEGEND = 12  # entries that are still read
NAMES = 4  # of one entry
# The formats, with what would hold the time of day.
FORMATS: dict[str, dict[str, None]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_plot_file(path: Path) -> None:
    """Raise ScenarioError for a file that can not be drawn: reported before the work, and not after it."""
    if path.suffix.lower() not in FORMATS:
        raise _wrong(f"got the suffix {path.suffix!r}, wanted {', '.join(FORMATS)}")
    if problem := unusable(path):
        raise _wrong(problem)
    _matplotlib()


def save(figure: Any, path: Path) -> None:
    """Write the picture in the format of its suffix; text stays text in an SVG. Raises OSError that names the file."""
    with _matplotlib().rc_context({"svg.hashsalt": "tessbed", "svg.fonttype": "none"}), replacing(path) as part:
        figure.savefig(part, metadata=FORMATS[path.suffix.lower()])


def plot_attribution(reported: dict[str, Any]) -> Any:
    """`explain`: a bar for each job, in it a part for each resource, the largest first."""
    figure, axes = _axes(reported["name"])
    names = [job["name"] for job in reported["jobs"]]
    ticks: dict[str, list[int]] = {}
    for index, job in enumerate(reported["jobs"]):
        for term in job["account"]:
            ticks.setdefault(term["resource"], [0] * len(names))[index] += term["ticks"]
    colours = _matplotlib().colormaps["tab20"].colors
    left = [0] * len(names)
    for number, (resource, parts) in enumerate(sorted(ticks.items(), key=lambda item: (-sum(item[1]), item[0]))):
        colour = colours[(2 * number + number // 10) % 20]
        axes.barh(range(len(names)), parts, left=left, label=resource, color=colour)
        left = [start + part for start, part in zip(left, parts, strict=True)]
    axes.set_yticks(range(len(names)), [_text(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(TICKS)
    _thousands(axes.xaxis)
    _legend(figure, axes, most=len(ticks))
    return figure


def plot_scaling(reported: dict[str, Any]) -> Any:
    """`advise`: for each job its ticks by workers, the knee in a ring, and the bound below, dashed."""
    figure, axes = _axes(reported["name"])
    for names, job in _together([(job["name"], {**job, "name": ""}) for job in reported["jobs"]]):
        workers = [point["workers"] for point in job["points"]]
        ticks = [point["device_ticks"] for point in job["points"]]
        (line,) = axes.plot(workers, ticks, marker="o", label=names)
        axes.plot(workers, [point["bound_ticks"] for point in job["points"]], "--", color=line.get_color(), alpha=0.5)
        axes.plot(job["knee"], ticks[workers.index(job["knee"])], "o", color=line.get_color(), ms=13, mfc="none")
    for style, label in (("--", "lower bound"), ("o", "knee")):
        axes.plot([], [], style, color="gray", mfc="none", ms=13, label=label)
    _whole(axes.xaxis)
    axes.set_xlabel("workers")
    _ticks_from_zero(axes, TICKS)
    _legend(figure, axes)
    return figure


def curves(title: str, xlabel: str, values: Sequence[Any], legend: str, lines: dict[str, dict[Any, int]]) -> Any:
    """`sweep`: ticks over the values of a parameter, in lines; points alone where one of the values is a word."""
    figure, axes = _axes(title)
    words = any(isinstance(value, str) for value in values)
    order = list(values) if words else sorted(values)
    colours = _matplotlib().colormaps["viridis"]
    together = _together(lines.items())
    for number, (names, points) in enumerate(together):
        there = [value for value in order if value in points]
        places = [order.index(value) for value in there] if words else there
        colour = {"color": colours(number / (len(together) - 1))} if len(together) > 10 else {}
        axes.plot(places, [points[v] for v in there], "o" if words else "o-", label=names, **colour)
    if words:
        axes.set_xticks(range(len(order)), [_text(str(value).strip("\"'")) for value in order])
    elif all(isinstance(value, int) for value in values):
        _whole(axes.xaxis)
    axes.set_xlabel(_text(xlabel))
    _ticks_from_zero(axes, TICKS)
    _legend(figure, axes, _text(legend))
    return figure


def course(reported: dict[str, Any], best: Iterable[tuple[int, int]]) -> Any:
    """`search`: every trial, the `best` so far as (trial, ticks), and the scenario as it is.

    Ticks are shown from the best to somewhat above what the search began with; slower trials are at the upper edge.
    """
    figure, axes = _axes(reported["name"])
    steps, base = list(best), reported["as_it_stands_ticks"]
    good = [(trial["trial"], trial["ticks"]) for trial in reported["trials"] if trial["ticks"] is not None]
    if steps:
        least, first = steps[-1][1], max(steps[0][1], base or 0)
        span = max(first - least, least // 20, 1)
        top = first + span / 2
        axes.set_ylim(least - span / 10, top + span / 10)
        axes.plot(
            *zip(*[place for place in good if place[1] <= top], strict=True), ".", color="tab:gray", label="trial"
        )
        slower = [trial for trial, ticks in good if ticks > top]
        if slower:
            axes.plot(slower, [top] * len(slower), "^", color="tab:gray", label="slower trial")
        axes.step(*zip(*steps, strict=True), where="post", label="best so far")
    if base is not None:
        axes.axhline(base, linestyle="--", color="tab:orange", label="as it stands")
    _whole(axes.xaxis)
    axes.set_xlabel("trial")
    _labelled(axes, TICKS if reported["minimise"] == "ticks" else reported["minimise"].replace("_", " "))
    _legend(figure, axes)
    return figure


def _together(lines: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Lines that would hide each other, as one with all their names."""
    found: list[tuple[list[str], Any]] = []
    for name, points in lines:
        names = next((names for names, known in found if known == points), None)
        if names is None:
            found.append(([name], points))
        else:
            names.append(name)
    return [
        (_text(", ".join(names[:NAMES]) + (" ..." if len(names) > NAMES else "")), points) for names, points in found
    ]


def _axes(title: str) -> tuple[Any, Any]:
    _matplotlib()
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.subplots()
    axes.set_title(_text(title))
    return figure, axes


def _ticks_from_zero(axes: Any, label: str) -> None:
    """The y axis begins at 0, so that half as high is half as long."""
    tallest = max((y for line in axes.lines for y in line.get_ydata()), default=1)
    axes.set_ylim(0, HEADROOM * tallest)
    _labelled(axes, label)


def _labelled(axes: Any, label: str) -> None:
    axes.set_ylabel(label)
    _thousands(axes.yaxis)


def _thousands(axis: Any) -> None:
    axis.set_major_formatter("{x:,.0f}")


def _whole(axis: Any) -> None:
    axis.get_major_locator().set_params(integer=True)


def _legend(figure: Any, axes: Any, title: str | None = None, most: int = LEGEND) -> None:
    """Beside the axes, where it hides nothing; of many lines, some."""
    handles, labels = axes.get_legend_handles_labels()
    some = slice(None, None, -(-len(handles) // max(1, most)) or 1)
    if len(handles) > 1:
        place: dict[str, Any] = {"loc": "outside right upper", "fontsize": "small", "title_fontsize": "small"}
        figure.legend(handles[some], labels[some], title=title, **place)


def _text(name: str) -> str:
    """A name as it is: matplotlib takes dollars for formulas, and hides what begins with an underscore."""
    return ("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$")


def _matplotlib() -> Any:
    try:
        import matplotlib  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise _wrong("needs matplotlib: pip install 'tessbed[plot]'") from None
    return matplotlib


def _wrong(text: str) -> ScenarioError:
    return ScenarioError([Problem(Location("--plot"), text, "usage")])
