"""Plots of loads: where the mean latency of each stream goes, and how far its percentiles and its deadline are."""

from typing import Any

from tessbed.scenarios.study.plots.figure import (
    DeviceCaption,
    add_legend,
    bar_rows,
    label_shares,
    matplotlib_or_error,
    new_axes,
    plain_text,
    styled,
    ticks_across,
)

MARKS = {"p50": "|", "p99": "D", "max": "x"}
"""Marks through which each other can be seen, where they lie on one place."""


@styled
def plot_load(reported: dict[str, Any], device: DeviceCaption) -> Any:
    """`load`: a bar for each stream, its mean latency part by part; percentiles and the deadline as marks."""
    streams = reported["streams"]
    figure, axes = new_axes(reported["name"], device.words("the axis begins at 0"), len(streams))
    parts = [dict(_parts(stream)) for stream in streams]
    colours = matplotlib_or_error().colormaps["tab20"].colors
    late = [(stream["deadline_ticks"], row) for row, stream in enumerate(streams) if stream["deadline_ticks"]]
    ends = [*(sum(one.values()) for one in parts), *(s["latency_ticks"]["max"] or 0 for s in streams)]
    farthest = max([*ends, *(x for x, _ in late)], default=1)
    left = [0.0] * len(streams)
    for number, name in enumerate(dict.fromkeys(name for one in parts for name in one)):
        sizes = [one.get(name, 0.0) for one in parts]
        colour = colours[(2 * number + number // 10) % 20]
        bars = axes.barh(range(len(streams)), sizes, left=left, label=plain_text(name), color=colour, height=0.5)
        label_shares(axes, bars, sizes, [sum(one.values()) for one in parts], farthest)
        left = [start + size for start, size in zip(left, sizes, strict=True)]
    for name, mark in MARKS.items():
        places = [
            (s["latency_ticks"][name], row) for row, s in enumerate(streams) if s["latency_ticks"][name] is not None
        ]
        if places:
            axes.plot(*zip(*places, strict=True), mark, color="black", mfc="none", ms=12, label=name)
    for row in range(len(streams)):
        axes.text(
            left[row], row - 0.38, f"mean {left[row]:,.0f}{device.time(left[row])}", fontsize="x-small", ha="right"
        )
    if late:
        axes.plot(*zip(*late, strict=True), "s", color="tab:red", mfc="none", ms=11, label="deadline")
    bar_rows(axes, [stream["name"] for stream in streams])
    ticks_across(axes, device, farthest / 1.3, "latency in ticks")
    add_legend(figure, axes, most=20)
    return figure


def _parts(stream: dict[str, Any]) -> list[tuple[str, float]]:
    """The parts of the mean latency by their names; none where no frame was measured."""
    parts = stream["parts_ticks"]
    if not parts:
        return []
    named = [("waiting to enter", parts["entry"])]
    named += [(f"waiting for {name}", ticks) for name, ticks in parts["waits"].items()]
    return [(name, ticks) for name, ticks in [*named, *parts["served"].items()] if ticks]
