"""Pictures: what they draw is what the document says, in axes with the right names."""

import pytest

from tessbed.scenarios.library import load
from tessbed.scenarios.study import attribution_report, plots, worker_scaling
from tessbed.scenarios.study.measurement import measure_scenario, studied

pytest.importorskip("matplotlib")

HEADS = studied(load("yolov8n-heads-int8", ["jobs.*.backend=ev74"]))


def labels(figure):
    """The entries of its legend."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def names(figure):
    """(title, x, y) of its axes."""
    (axes,) = figure.axes
    return axes.get_title(), axes.get_xlabel(), axes.get_ylabel()


def test_an_account_is_a_bar_as_long_as_the_makespan() -> None:
    """The parts of a bar touch, in the order of the legend, and end at the device ticks of the job."""
    reported = attribution_report.document(measure_scenario(HEADS))
    figure = plots.plot_attribution(reported)
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
    figure = plots.plot_scaling(reported)
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
    assert labels(figure) == [*(job["name"] for job in reported["jobs"]), "lower bound", "knee"]
    assert axes.get_ylim()[0] == 0


def test_curves_of_numbers_and_of_words() -> None:
    """Numbers are where they belong and in order, words as they were given, without a line between them."""
    figure = plots.curves("a sweep", "device.slots", [4, 1, 2], "device.cores", {"3": {4: 70, 1: 90}, "4": {2: 80}})
    (axes,) = figure.axes
    assert names(figure) == ("a sweep", "device.slots", "device ticks")
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines] == [
        ([1, 4], [90, 70]),
        ([2], [80]),
    ]
    assert [legend.get_title().get_text() for legend in figure.legends] == ["device.cores"]
    assert labels(figure) == ["3", "4"]
    assert axes.get_ylim()[1] > 90
    figure = plots.curves(
        "x", "key", ['"round_robin"', '"fifo"', 3], "", {"x": {'"fifo"': 5, 3: 7, '"round_robin"': 6}}
    )
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["round_robin", "fifo", "3"]
    assert list(axes.lines[0].get_ydata()) == [6, 5, 7]
    assert axes.lines[0].get_linestyle() == "None"
    assert labels(figure) == []


def test_a_legend_stays_short() -> None:
    """Of a hundred curves a dozen are named at most, and no two look the same."""
    figure = plots.curves("x", "key", [1, 2], "other", {str(n): {1: n, 2: n + 1} for n in range(100)})
    assert len(labels(figure)) == 12
    assert len({line.get_color() for line in figure.axes[0].lines}) == 100


def test_the_course_of_a_search() -> None:
    """Dots for trials with a result, steps for the best so far, a line for the scenario as it stands."""
    trials = [{"trial": n, "ticks": ticks} for n, ticks in enumerate([None, 9, 7, 8], 1)]
    reported = {"name": "x", "minimise": "job_ticks", "as_it_stands_ticks": 8, "trials": trials}
    figure = plots.course(reported, [(2, 9), (3, 7), (4, 7)])
    (axes,) = figure.axes
    assert names(figure) == ("x", "trial", "job ticks")
    dots, steps, base_line = axes.lines
    assert [*zip(dots.get_xdata(), dots.get_ydata(), strict=True)] == [(2, 9), (3, 7), (4, 8)]
    assert [*zip(steps.get_xdata(), steps.get_ydata(), strict=True)] == [(2, 9), (3, 7), (4, 7)]
    assert steps.get_drawstyle() == "steps-post"
    assert list(base_line.get_ydata()) == [8, 8]
    nothing = plots.course({**reported, "as_it_stands_ticks": None, "trials": trials[:1]}, [])
    assert labels(nothing) == []


def test_slower_trials_are_at_the_upper_edge() -> None:
    """One bad trial does not hide what the search gained."""
    trials = [{"trial": n, "ticks": ticks} for n, ticks in enumerate([1000, 90_000, 990, 985], 1)]
    reported = {"name": "x", "minimise": "ticks", "as_it_stands_ticks": 1000, "trials": trials}
    (axes,) = plots.course(reported, [(1, 1000), (2, 1000), (3, 990), (4, 985)]).axes
    low, high = axes.get_ylim()
    dots, slower, *_ = axes.lines
    assert list(dots.get_xdata()) == [1, 3, 4]
    assert list(slower.get_xdata()) == [2]
    assert all(low < y < high for y in [*dots.get_ydata(), *slower.get_ydata()])
    assert high < 1100


def test_equal_lines_are_one() -> None:
    """Lines that would hide each other are drawn once, with all their names, the first few of many."""
    lines = {"1": {1: 9, 2: 5}, **{str(n): {1: 8, 2: 4} for n in range(2, 8)}}
    figure = plots.curves("x", "workers", [1, 2], "slots", lines)
    assert len(figure.axes[0].lines) == 2
    assert labels(figure) == ["1", "2, 3, 4, 5 ..."]


def test_names_are_no_formulas(tmp_path) -> None:
    """Dollars and a leading underscore are shown as they are."""
    lines = {r"$\nonsense{$": {1: 1}, "_hidden": {1: 2}}
    figure = plots.curves(r"a $title", "$key$", [1], "$legend", lines)
    plots.save(figure, tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    for name in (r"$\nonsense{$", "_hidden", "a $title", "$key$", "$legend"):
        assert name in text
