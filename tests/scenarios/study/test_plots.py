"""Pictures: what they draw is what the document says, in axes with the right names."""

import pytest

from tessbed.interface.scenario import Scenario
from tessbed.scenarios.library import load
from tessbed.scenarios.study import attribution_report, comparison, lower_bounds, sensitivity, worker_scaling
from tessbed.scenarios.study.measurement import measure_scenario, studied

pytest.importorskip("matplotlib")

from tessbed.scenarios.study.plots.figure import DeviceCaption, save
from tessbed.scenarios.study.plots.loads import plot_load
from tessbed.scenarios.study.plots.spaces import plot_search, plot_sweep
from tessbed.scenarios.study.plots.studies import (
    plot_attribution,
    plot_bounds,
    plot_comparison,
    plot_scaling,
    plot_sensitivity,
)

HEADS = studied(load("yolov8n-heads-int8", ["jobs.*.backend=ev74"]))
DEVICE = DeviceCaption.of(HEADS)


def labels(figure):
    """The entries of its legend."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def names(figure):
    """(title, x, y) of its axes."""
    (axes,) = figure.axes
    return axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel()


def test_an_account_is_a_bar_as_long_as_the_makespan() -> None:
    """The parts of a bar touch, in the order of the legend, and end at the device ticks of the job."""
    reported = attribution_report.document(measure_scenario(HEADS))
    figure = plot_attribution(reported, DEVICE)
    (axes,) = figure.axes
    assert names(figure) == (reported["name"], "device ticks", "")
    assert [text.get_text() for text in axes.get_yticklabels()] == [job["name"] for job in reported["jobs"]]
    for row, job in enumerate(reported["jobs"]):
        bars = [bars[row] for bars in axes.containers]
        ends = [bar.get_x() + bar.get_width() for bar in bars]
        assert [bar.get_x() for bar in bars] == [0, *ends[:-1]]
        assert ends[-1] == job["device_ticks"]
        widths = {label: bar.get_width() for label, bar in zip(labels(figure), bars, strict=True) if bar.get_width()}
        resources = {term["resource"] for term in job["account"]}
        assert widths == {
            name: sum(term["ticks"] for term in job["account"] if term["resource"] == name) for name in resources
        }
    assert len({bars[0].get_facecolor() for bars in axes.containers}) == len(axes.containers)
    assert axes.yaxis_inverted()


def test_advice_is_drawn_with_its_bounds_and_knees() -> None:
    """Three lines for each job: ticks by workers, bounds dashed, and the knee."""
    reported = worker_scaling.document(HEADS, 6, 5, "exact")
    figure = plot_scaling(reported, DEVICE)
    (axes,) = figure.axes
    assert names(figure) == (reported["name"], "workers", "device ticks")
    for number, job in enumerate(reported["jobs"]):
        ticks, bound, knee = axes.lines[3 * number : 3 * number + 3]
        assert list(ticks.get_xdata()) == [1, 2, 3, 4, 5, 6]
        assert list(ticks.get_ydata()) == [point["device_ticks"] for point in job["points"]]
        assert list(bound.get_ydata()) == [point["bound_ticks"] for point in job["points"]]
        assert bound.get_linestyle() == "--"
        assert list(knee.get_xdata()) == [job["knee"]]
        assert list(knee.get_ydata()) == [job["points"][job["knee"] - 1]["device_ticks"]]
        assert ticks.get_color() == bound.get_color() == knee.get_color()
    *jobs, bound, knee = labels(figure)
    assert (bound, knee) == ("lower bound", "knee")
    for words, job in zip(jobs, reported["jobs"], strict=True):
        least = job["points"][job["knee"] - 1]["device_ticks"]
        assert words == f"{job['name']}: {least:,} = {least / 1000:,.2f} µs with {job['knee']}"
    assert axes.get_ylim()[0] == 0


def test_curves_of_numbers_and_of_words() -> None:
    """Numbers are where they belong and in order, words as they were given, without a line between them."""
    figure = plot_sweep(
        "a sweep", "device.slots", [4, 1, 2], "device.cores", {"3": {4: 70, 1: 90}, "4": {2: 80}}, DEVICE
    )
    (axes,) = figure.axes
    assert names(figure) == ("a sweep", "device.slots", "device ticks")
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines] == [
        ([1, 4], [90, 70]),
        ([2], [80]),
    ]
    assert [legend.get_title().get_text() for legend in figure.legends] == ["device.cores"]
    assert labels(figure) == ["3", "4"]
    assert axes.get_ylim()[1] > 90
    figure = plot_sweep(
        "x", "key", ['"round_robin"', '"fifo"', 3], "", {"x": {'"fifo"': 5, 3: 7, '"round_robin"': 6}}, DEVICE
    )
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["round_robin", "fifo", "3"]
    assert list(axes.lines[0].get_ydata()) == [6, 5, 7]
    assert axes.lines[0].get_linestyle() == "None"
    assert labels(figure) == []


def test_a_legend_stays_short() -> None:
    """Of a hundred curves a dozen are named at most, and no two look the same."""
    figure = plot_sweep("x", "key", [1, 2], "other", {str(n): {1: n, 2: n + 1} for n in range(100)}, DEVICE)
    assert len(labels(figure)) == 12
    assert len({line.get_color() for line in figure.axes[0].lines}) == 100


def test_the_course_of_a_search() -> None:
    """Dots for trials with a result, steps for the best so far, a line for the scenario as it stands."""
    trials = [{"trial": n, "ticks": ticks} for n, ticks in enumerate([None, 9, 7, 8], 1)]
    reported = {"name": "x", "minimise": "job_ticks", "as_it_stands_ticks": 8, "trials": trials}
    figure = plot_search(reported, [(2, 9), (3, 7), (4, 7)], DEVICE)
    (axes,) = figure.axes
    assert names(figure) == ("x", "trial", "job ticks")
    dots, steps, base_line = axes.lines
    assert [*zip(dots.get_xdata(), dots.get_ydata(), strict=True)] == [(2, 9), (3, 7), (4, 8)]
    assert [*zip(steps.get_xdata(), steps.get_ydata(), strict=True)] == [(2, 9), (3, 7), (4, 7)]
    assert steps.get_drawstyle() == "steps-post"
    assert list(base_line.get_ydata()) == [8, 8]
    nothing = plot_search({**reported, "as_it_stands_ticks": None, "trials": trials[:1]}, [], DEVICE)
    assert labels(nothing) == []


def test_slower_trials_are_at_the_upper_edge() -> None:
    """One bad trial does not hide what the search gained."""
    trials = [{"trial": n, "ticks": ticks} for n, ticks in enumerate([1000, 90_000, 990, 985], 1)]
    reported = {"name": "x", "minimise": "ticks", "as_it_stands_ticks": 1000, "trials": trials}
    (axes,) = plot_search(reported, [(1, 1000), (2, 1000), (3, 990), (4, 985)], DEVICE).axes
    low, high = axes.get_ylim()
    dots, slower, *_ = axes.lines
    assert list(dots.get_xdata()) == [1, 3, 4]
    assert list(slower.get_xdata()) == [2]
    assert all(low < y < high for y in [*dots.get_ydata(), *slower.get_ydata()])
    assert high < 1100


def test_equal_lines_are_one() -> None:
    """Lines that would hide each other are drawn once, with all their names, the first few of many."""
    lines = {"1": {1: 9, 2: 5}, **{str(n): {1: 8, 2: 4} for n in range(2, 8)}}
    figure = plot_sweep("x", "workers", [1, 2], "slots", lines, DEVICE)
    assert len(figure.axes[0].lines) == 2
    assert labels(figure) == ["1", "2, 3, 4, 5 ..."]


def test_names_are_no_formulas(tmp_path) -> None:
    """Dollars and a leading underscore are shown as they are."""
    lines = {r"$\nonsense{$": {1: 1}, "_hidden": {1: 2}}
    figure = plot_sweep(r"a $title", "$key$", [1], "$legend", lines, DEVICE)
    save(figure, tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    for name in (r"$\nonsense{$", "_hidden", "a $title", "$key$", "$legend"):
        assert name in text


def texts(figure) -> list[str]:
    """The words within its axes."""
    return [text.get_text() for text in figure.axes[0].texts]


def caption(figure) -> str:
    """The words below it, on one line."""
    return figure._supxlabel.get_text().replace("\n", " ")


def test_every_plot_says_what_its_ticks_are() -> None:
    """The device, its clock, that they are model ticks, and where the axis begins; microseconds beside them."""
    measured = measure_scenario(HEADS)
    reported = attribution_report.document(measured)
    trials = [{"trial": 1, "ticks": 9}, {"trial": 2, "ticks": 7}]
    searched = {"name": "x", "minimise": "ticks", "as_it_stands_ticks": 9, "trials": trials}
    figures = {
        "explain": plot_attribution(reported, DEVICE),
        "bound": plot_bounds(lower_bounds.document(measured), DEVICE),
        "sweep": plot_sweep("x", "key", [1, 2], "", {"x": {1: 2, 2: 3}}, DEVICE),
        "search": plot_search(searched, [(1, 9), (2, 7)], DEVICE),
    }
    for figure in figures.values():
        assert "device ev74-4core at 1,000 MHz; model ticks, not calibrated on silicon" in caption(figure)
        (beside,) = figure.axes[0].child_axes
        assert "µs" in (beside.get_xlabel(), beside.get_ylabel())
    assert "does not begin at 0" in caption(figures["search"])
    assert "begins at 0" in caption(figures["explain"])
    assert "the axis of ticks begins at 0; the least is 2 = 0.00 µs with key = 1" in caption(figures["sweep"])
    job = reported["jobs"][0]
    rate = job["written_bytes"] / job["device_ticks"]
    assert f" {job['device_ticks']:,} = {job['device_ticks'] / 1000:,.2f} µs, {rate:,.2f} GB/s" in texts(
        figures["explain"]
    )


def test_bounds_are_bars_with_their_values() -> None:
    """A bar for each bound of each job, and the ticks of the job as a line through its bars."""
    reported = lower_bounds.document(measure_scenario(HEADS))
    figure = plot_bounds(reported, DEVICE)
    ticks = [bound["ticks"] for job in reported["jobs"] for bound in job["bounds"]]
    assert [bar.get_width() for bar in figure.axes[0].containers[0]] == ticks
    assert all(f"{one:,} = " in words for one, words in zip(ticks, texts(figure), strict=True))
    assert labels(figure) == ["the run", "binding bound", "lower bound"]


def test_what_a_parameter_is_worth() -> None:
    """The ends of a bar are the best and the worst change of a parameter; what is cut keeps its value."""
    cells = {"up": {"value": 3, "ticks": 90, "anomaly": False}, "down": {"value": 1, "ticks": 900, "anomaly": False}}
    idle = {"up": {"value": 3, "ticks": 100, "anomaly": False}}
    rows = [{"path": "device.slots", "value": 2, "cells": cells}, {"path": "device.x", "value": 1, "cells": idle}]
    figure = plot_sensitivity({"name": "x", "device_ticks": 100, "rows": rows}, DEVICE)
    best, worst = figure.axes[0].containers
    assert [bar.get_width() for bar in (*best, *worst)] == [-10, 30]
    assert texts(figure) == ["-10 (-10.0 %)", "+800 (+800.0 %)"]
    assert "cut" in caption(figure)
    scenario = studied(load("luma", ["jobs.*.backend=ev74"]))
    base, found = sensitivity.sensitivities(scenario, "exact")
    assert plot_sensitivity(sensitivity.document(base, found), DeviceCaption.of(scenario)).axes


def test_a_comparison_is_drawn_term_by_term() -> None:
    """The largest difference first, each with its sign and its value."""
    before, after = (
        measure_scenario(studied(load("chroma", ["jobs.*.backend=ev74", more])))
        for more in ("device.slots=2", "device.slots=1")
    )
    reported = comparison.document(("a", "b"), before, after)
    caption_of = DeviceCaption.of_both(before.scenario, after.scenario)
    figure = plot_comparison(reported, caption_of)
    widths = [bar.get_width() for bar in figure.axes[0].containers[0]]
    assert [abs(width) for width in widths] == sorted((abs(width) for width in widths), reverse=True)
    assert texts(figure) == [f"{width:+,}" for width in widths]
    assert caption_of.preset == "ev74-4core and ev74-4core, changed"


def test_a_load_is_a_bar_of_its_mean_latency() -> None:
    """The parts touch and sum to the mean; the deadline is a mark."""
    parts = {"entry": 5.0, "waits": {"ev74": 0.0, "mla": 10.0}, "served": {"device": 85.0}}
    ticks = {"mean": 100.0, "p50": 90, "p90": 100, "p95": 100, "p99": None, "max": 120}
    stream = {"name": "camera", "parts_ticks": parts, "latency_ticks": ticks, "deadline_ticks": 150}
    figure = plot_load({"name": "x", "streams": [stream]}, DEVICE)
    bars = [bars[0] for bars in figure.axes[0].containers]
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(0, 5), (5, 10), (15, 85)]
    assert {"waiting to enter", "waiting for mla", "device", "deadline", "max"} <= {*labels(figure)}
    assert [text for text in texts(figure) if text] == ["85 %", "mean 100 = 0.10 µs"]


def test_varied_devices_are_named() -> None:
    """A caption says which keys of the device were varied, and no clock where that was one of them."""
    assert DEVICE.with_varied([]) == DEVICE
    assert DEVICE.with_varied(["device.slots"]).words() == (
        "device ev74-4core with varied slots at 1,000 MHz; model ticks, not calibrated on silicon"
    )
    assert DEVICE.with_varied(["device.clock_mhz"]).clock_mhz == 0
    assert DeviceCaption().words().startswith("devices as varied; model ticks")


def _compared():
    before, after = (
        measure_scenario(studied(load("chroma", ["jobs.*.backend=ev74", more])))
        for more in ("device.slots=2", "device.slots=1")
    )
    return plot_comparison(comparison.document(("a", "b"), before, after), DEVICE)


def _sensitivity():
    found = sensitivity.sensitivities(studied(load("luma", ["jobs.*.backend=ev74"])), "exact")
    return plot_sensitivity(sensitivity.document(*found), DEVICE)


def _loaded():
    return plot_load(Scenario.load("yolov8n-four-cameras-int8").run_load().document, DEVICE)


STUDIES = {
    "explain": lambda: plot_attribution(attribution_report.document(measure_scenario(HEADS)), DEVICE),
    "bound": lambda: plot_bounds(lower_bounds.document(measure_scenario(HEADS)), DEVICE),
    "advise": lambda: plot_scaling(worker_scaling.document(HEADS, 6, 5, "exact"), DEVICE),
    "whatif": _sensitivity,
    "compare": _compared,
    "sweep": lambda: plot_sweep("x", "workers", [1, 2], "slots", {"1": {1: 60_000, 2: 31_000}}, DEVICE),
    "load": _loaded,
}


def drawn_words(figure):
    """The words at bars and points, beside the marks of the axes, and in the legend, as (text, place in pixels)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    (axes,) = figure.axes
    marks = [
        label
        for axis in (axes.xaxis, axes.yaxis)
        for place, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        if min(axis.get_view_interval()) <= place <= max(axis.get_view_interval())
    ]
    shown = [*axes.texts, *marks, *(text for legend in figure.legends for text in legend.get_texts())]
    return [(one.get_text(), one.get_window_extent(renderer)) for one in shown if one.get_text().strip()]


@pytest.mark.parametrize("study", STUDIES)
def test_no_word_hides_another_one(study) -> None:
    """In the plots of a real scenario all words are inside the picture, and none lies on another."""
    figure = STUDIES[study]()
    words = drawn_words(figure)
    assert len(words) > 8
    outside = [
        text
        for text, at in words
        if not (at.x0 >= -1 and at.y0 >= -1 and at.x1 <= figure.bbox.x1 + 1 and at.y1 <= figure.bbox.y1 + 1)
    ]
    assert outside == []
    hidden = [
        (text, other)
        for number, (text, at) in enumerate(words)
        for other, there in words[:number]
        if at.padded(-1).overlaps(there.padded(-1))
    ]
    assert hidden == []


def test_the_legend_has_the_colours_of_the_bars() -> None:
    """Bounds that bind and others are told apart by colour, in the legend as in the bars."""
    figure = plot_bounds(lower_bounds.document(measure_scenario(HEADS)), DEVICE)
    (legend,) = figure.legends
    keys = dict(zip(labels(figure), (handle.get_facecolor() for handle in legend.get_patches()), strict=False))
    (axes,) = figure.axes
    assert len(set(keys.values())) == 2
    assert {bar.get_facecolor() for bar in axes.containers[0]} == set(keys.values())
