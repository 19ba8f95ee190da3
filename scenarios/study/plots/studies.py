"""Plots of the studies of a run: its account, its bounds, its workers, its parameters, and a comparison."""

from typing import Any

from tessbed.scenarios.study.plots.figure import (
    DeviceCaption,
    add_keys,
    add_legend,
    bar_rows,
    changes_across,
    label_shares,
    lines_together,
    matplotlib_or_error,
    new_axes,
    share_of,
    styled,
    ticks_across,
    ticks_up,
    whole_numbers,
)

MOST_ROWS = 20


@styled
def plot_attribution(reported: dict[str, Any], device: DeviceCaption) -> Any:
    """`explain`: a bar for each job, in it a part for each resource with its value, the largest first."""
    jobs = reported["jobs"]
    figure, axes = new_axes(reported["name"], device.words("the axis begins at 0"), len(jobs))
    ticks: dict[str, list[int]] = {}
    for index, job in enumerate(jobs):
        for term in job["account"]:
            ticks.setdefault(term["resource"], [0] * len(jobs))[index] += term["ticks"]
    colours = matplotlib_or_error().colormaps["tab20"].colors
    longest = max((job["device_ticks"] for job in jobs), default=1)
    left = [0] * len(jobs)
    for number, (resource, parts) in enumerate(sorted(ticks.items(), key=lambda item: (-sum(item[1]), item[0]))):
        colour = colours[(2 * number + number // 10) % 20]
        bars = axes.barh(range(len(jobs)), parts, left=left, label=resource, color=colour)
        label_shares(axes, bars, parts, [job["device_ticks"] for job in jobs], longest)
        left = [start + part for start, part in zip(left, parts, strict=True)]
    for row, job in enumerate(jobs):
        total = job["device_ticks"]
        rate = device.rate(job["written_bytes"], total)
        words = f" {total:,}{device.time(total)}{rate}"
        axes.text(total, row, words, va="center", fontsize="x-small")
    bar_rows(axes, [job["name"] for job in jobs])
    ticks_across(axes, device, longest)
    add_legend(figure, axes, most=len(ticks))
    return figure


@styled
def plot_bounds(reported: dict[str, Any], device: DeviceCaption) -> Any:
    """`bound`: for each job a bar for each bound with its value, and the job's device ticks as a line through them."""
    rows = [(job, bound) for job in reported["jobs"] for bound in job["bounds"]]
    caption = device.words("no order of transfers is below a bound; the axis begins at 0")
    figure, axes = new_axes(reported["name"], caption, len(rows))
    binding = [bound["ticks"] == job["bound_ticks"] for job, bound in rows]
    colours = ["tab:orange" if binds else "tab:blue" for binds in binding]
    axes.barh(range(len(rows)), [bound["ticks"] for _, bound in rows], color=colours)
    add_keys(axes, {"binding bound": "tab:orange", "lower bound": "tab:blue"})
    for row, (job, bound) in enumerate(rows):  # behind the line of the run, which would cross them out
        axes.text(job["device_ticks"], row, f"  {_bound_words(job, bound, device)}", va="center", fontsize="x-small")
    first = 0
    for number, job in enumerate(reported["jobs"]):
        end = first + len(job["bounds"])
        label = "the run" if number == 0 else None
        axes.vlines(job["device_ticks"], first - 0.5, end - 0.5, color="black", linestyle="--", label=label)
        first = end
    bar_rows(axes, [f"{job['name']}: {bound['resource']}" for job, bound in rows])
    ticks_across(axes, device, max((job["device_ticks"] for job in reported["jobs"]), default=1))
    add_legend(figure, axes)
    return figure


def _bound_words(job: dict[str, Any], bound: dict[str, Any], device: DeviceCaption) -> str:
    ticks = bound["ticks"]
    return f"{ticks:,}{device.time(ticks)}, {share_of(ticks, job['device_ticks'])} of the run"


@styled
def plot_scaling(reported: dict[str, Any], device: DeviceCaption) -> Any:
    """`advise`: for each job its ticks by workers, its bound dashed, the knee in a ring, its value in the legend."""
    figure, axes = new_axes(reported["name"], device.words("the axis of ticks begins at 0"))
    for names, job in lines_together([(job["name"], {**job, "name": ""}) for job in reported["jobs"]]):
        workers = [point["workers"] for point in job["points"]]
        ticks = [point["device_ticks"] for point in job["points"]]
        least = ticks[workers.index(job["knee"])]
        words = f"{names}: {least:,}{device.time(least)} with {job['knee']}"
        (line,) = axes.plot(workers, ticks, marker="o", label=words)
        axes.plot(workers, [point["bound_ticks"] for point in job["points"]], "--", color=line.get_color(), alpha=0.5)
        axes.plot(job["knee"], least, "o", color=line.get_color(), ms=13, mfc="none")
    for style, label in (("--", "lower bound"), ("o", "knee")):
        axes.plot([], [], style, color="gray", mfc="none", ms=13, label=label)
    whole_numbers(axes.xaxis)
    axes.set_xlabel("workers")
    ticks_up(axes, device)
    add_legend(figure, axes)
    return figure


@styled
def plot_sensitivity(reported: dict[str, Any], device: DeviceCaption) -> Any:
    """`whatif`: for each parameter what its best and its worst tried value change, in ticks; 0 is the run as it is."""
    base = reported["device_ticks"]
    moving = [row for row in reported["rows"] if any(cell["ticks"] != base for cell in row["cells"].values())]
    rows = moving[:MOST_ROWS]
    left_out = (
        [f"the first {MOST_ROWS} of {len(moving)} parameters that change something"] if moving[MOST_ROWS:] else []
    )
    changes = [[cell["ticks"] - base for cell in row["cells"].values()] for row in rows]
    limit = max([base // 10, *(-3 * min(change) for change in changes)])
    cut = ["longer bars are cut, their values are not"] if any(max(change) > limit for change in changes) else []
    caption = device.words(f"0 is the run as it is, {base:,} ticks", *left_out, *cut)
    figure, axes = new_axes(reported["name"], caption, len(rows))
    for label, colour, ends in (
        ("best value tried", "tab:green", [min(0, *change) for change in changes]),
        ("worst value tried", "tab:red", [max(0, *change) for change in changes]),
    ):
        bars = axes.barh(range(len(rows)), [min(end, limit) for end in ends], color=colour, label=label)
        words = [f"{end:+,} ({100 * end / max(1, base):+.1f} %)" if end else "" for end in ends]
        axes.bar_label(bars, words, padding=3, fontsize="x-small")
    changes_across(axes, device)
    bar_rows(axes, [f"{row['path'].removeprefix('device.')} = {row['value']:,}" for row in rows])
    add_legend(figure, axes)
    return figure


@styled
def plot_comparison(reported: dict[str, Any], device: DeviceCaption) -> Any:
    """`compare`: the terms that make the difference, the largest first, in ticks; 0 is the first run."""
    before, after = reported["before"], reported["after"]
    terms = [(job["name"], term) for job in reported["jobs"] for term in job["terms"]]
    terms.sort(key=lambda pair: -abs(pair[1]["difference_ticks"]))
    rows = terms[:MOST_ROWS]
    left_out = [f"the {MOST_ROWS} largest of {len(terms)} terms"] if terms[MOST_ROWS:] else []
    title = f"{before['run']} to {after['run']}: {reported['difference_ticks']:+,} ticks"
    figure, axes = new_axes(title, device.words("0 is the first run", *left_out), len(rows))
    changes = [term["difference_ticks"] for _, term in rows]
    colours = ["tab:red" if change > 0 else "tab:green" for change in changes]
    bars = axes.barh(range(len(rows)), changes, color=colours)
    axes.bar_label(bars, [f"{change:+,}" for change in changes], padding=3, fontsize="x-small")
    changes_across(axes, device)
    bar_rows(axes, [_term_words(job, term) for job, term in rows])
    return figure


def _term_words(job: str, term: dict[str, Any]) -> str:
    """As "head: write channel: data (slot, full tiles)"."""
    tiles = f", {term['tiles']} tiles" if term["tiles"] else ""
    return f"{job}: {term['resource']} ({term['reason']}{tiles})"
