"""Plots of studies, with matplotlib (the extra `plot`)."""

from pathlib import Path
from typing import Any

from tessbed.scenarios.problems import Place, Problem, ScenarioError

INCHES = (9, 5)


def _axes() -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]
    except ImportError:
        text = "needs matplotlib: pip install 'tessbed[plot]'"
        raise ScenarioError([Problem(Place("--plot"), text)]) from None
    figure = Figure(figsize=INCHES, layout="constrained")
    return figure, figure.subplots()


def stacked(path: Path, told: dict[str, Any]) -> None:
    """The accounts of `explain`: a bar for each job, a part for each resource."""
    figure, axes = _axes()
    names = [job["name"] for job in told["jobs"]]
    ticks: dict[str, list[int]] = {}
    for index, job in enumerate(told["jobs"]):
        for term in job["account"]:
            ticks.setdefault(term["resource"], [0] * len(names))[index] += term["ticks"]
    left = [0] * len(names)
    for resource, parts in sorted(ticks.items(), key=lambda item: -sum(item[1])):
        axes.barh(names, parts, left=left, label=resource)
        left = [start + part for start, part in zip(left, parts, strict=True)]
    axes.invert_yaxis()
    axes.set(xlabel="model ticks", title=told["name"])
    axes.legend(fontsize="small")
    figure.savefig(path)


def curves(path: Path, title: str, xlabel: str, curves: dict[str, list[tuple[float, float]]]) -> None:
    """Lines of (x, ticks) points, one for each name."""
    figure, axes = _axes()
    for name, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set(xlabel=xlabel, ylabel="model ticks", title=title, ylim=(0, None))
    axes.legend(fontsize="small")
    figure.savefig(path)
