"""Spaces: plots of sweeps and searches."""

from collections.abc import Iterable, Sequence
from typing import Any

from tessbed.scenarios.study.plots.figure import (
    TICKS,
    DeviceCaption,
    add_legend,
    label_ticks,
    lines_together,
    matplotlib_or_error,
    new_axes,
    plain_text,
    styled,
    ticks_up,
    whole_numbers,
)


@styled
def plot_sweep(
    title: str,
    xlabel: str,
    values: Sequence[Any],
    legend: str,
    lines: dict[str, dict[Any, int]],
    device: DeviceCaption,
    measure: str = TICKS,
) -> Any:
    """`sweep`: a measure in ticks over the values of a parameter, in lines; points alone where a value is a word."""
    words = any(isinstance(value, str) for value in values)
    order = list(values) if words else sorted(values)
    found = [(ticks, order.index(value), value) for points in lines.values() for value, ticks in points.items()]
    best = [
        f"the least is {ticks:,}{device.time(ticks)} with {xlabel} = {value}" for ticks, _, value in sorted(found)[:1]
    ]
    figure, axes = new_axes(title, device.words("the axis of ticks begins at 0", *best))
    colours = matplotlib_or_error().colormaps["viridis"]
    together = lines_together(lines.items())
    for number, (names, points) in enumerate(together):
        there = [value for value in order if value in points]
        places = [order.index(value) for value in there] if words else there
        colour = {"color": colours(number / (len(together) - 1))} if len(together) > 10 else {}
        axes.plot(places, [points[v] for v in there], "o" if words else "o-", label=names, **colour)
    if words:
        axes.set_xticks(range(len(order)), [plain_text(str(value).strip("\"'")) for value in order])
    elif all(isinstance(value, int) for value in values):
        whole_numbers(axes.xaxis)
    axes.set_xlabel(plain_text(xlabel))
    ticks_up(axes, device, measure)
    add_legend(figure, axes, plain_text(legend))
    return figure


@styled
def plot_search(reported: dict[str, Any], best: Iterable[tuple[int, int]], device: DeviceCaption) -> Any:
    """`search`: every trial, the `best` so far as (trial, ticks), and the scenario as it is.

    Ticks are shown from the best to somewhat above what the search began with; slower trials are at the upper edge.
    """
    figure, axes = new_axes(reported["name"], device.words("the axis of ticks does not begin at 0"))
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
        axes.annotate(f"{least:,}{device.time(least)}", steps[-1], (-4, 6), textcoords="offset points", ha="right")
    if base is not None:
        axes.axhline(base, linestyle="--", color="tab:orange", label="as it stands")
    whole_numbers(axes.xaxis)
    axes.set_xlabel("trial")
    label_ticks(axes, device, TICKS if reported["minimise"] == "ticks" else reported["minimise"].replace("_", " "))
    add_legend(figure, axes)
    return figure
