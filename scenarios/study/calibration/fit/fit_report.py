"""Fit report: a calibration for a person: a line for each parameter, in the order of what may be claimed."""

from collections.abc import Iterator

from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.study.calibration.estimate import Calibration, Combination, Estimate

TITLES = {
    "determined": "determined",
    "combination": "only in combination",
    "at_least": "bounded from below",
    "at_most": "bounded from above",
    "untouched": "not touched by these data",
    "known": "given by the setup",
}


def fit_lines(found: Calibration) -> Iterator[str]:
    """The report."""
    yield f"{found.board}: {found.rows:,} rows of {found.experiments:,} experiments, seed {found.seed}"
    yield ""
    table = [row for word in TITLES for one in found.estimates if one.verdict == word for row in [_row(one)]]
    headers = ("parameter", "guess", "value", f"{100 * found.confidence:.0f} % interval", "verdict", "provenance")
    yield from aligned(headers, table, numbers=range(1, 4))
    if found.combinations:
        yield ""
        yield "determined together:"
        yield from aligned(
            ("combination", "value", "interval"), [_combination(one) for one in found.combinations], numbers=(1, 2)
        )
    for path, kept in found.choices:
        yield ""
        others = f"; not excluded: {', '.join(map(str, kept[1:]))}" if kept[1:] else ""
        yield f"{path} = {kept[0]}{others}"
    yield ""
    yield from _scatter(found)


def _scatter(found: Calibration) -> Iterator[str]:
    repeated = f"; repetitions scatter by {100 * found.noise:.2f} %" if found.noise else "; nothing was repeated"
    yield f"the fit is off by {100 * found.misfit:.2f} %{repeated}"
    if found.lack:
        yield "the model does not explain these data: it is off by more than repetitions scatter, at one percent"
    counts = {title: sum(one.verdict == word for one in found.estimates) for word, title in TITLES.items()}
    yield ", ".join(f"{number} {title}" for title, number in counts.items() if number)


def _row(one: Estimate) -> tuple[str, ...]:
    interval = f"{_number(one.low)} to {_number(one.high)}"
    shown = "-" if one.low is None and one.high is None else interval
    verdict = f"in {one.combination}" if one.combination else TITLES[one.verdict]
    return one.path, _number(one.guess), _number(one.value), shown, verdict, one.provenance


def _combination(one: Combination) -> tuple[str, ...]:
    return one.text, _number(one.value), f"{_number(one.low)} to {_number(one.high)}"


def _number(value: float | bool | str | None) -> str:
    if value is None:
        return "..."
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
