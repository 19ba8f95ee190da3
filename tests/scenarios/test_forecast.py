"""Forecasts: what a run will take is known from its plans, before any of it is begun."""

import pytest

from tessbed.scenarios import forecast, library
from tessbed.scenarios.runner import run_scenario


@pytest.mark.parametrize("name", ["luma", "superpoint", "documents-2x17", "yolov8n-heads-int8"])
def test_no_more_than_there_is(name: str) -> None:
    """No job has fewer transfers than were forecast for it."""
    scenario = library.load(name, ["jobs.*.backend=ev74"])
    made = {entry.job.name: entry.outcomes[0] for entry in run_scenario(scenario, engine="exact", trace=True).jobs}
    found = forecast.forecasts(scenario)
    assert found
    for one in found:
        result = made[one.job].run.result
        assert 0 < one.transfers <= len(result.stats.trace)


def test_a_million_tiles() -> None:
    """Tiles are counted without walking them."""
    settings = ["jobs.0.shape=[1000, 1000, 16]", "jobs.0.tiled.tile=[1, 1, 1, 16]", "jobs.0.tiled.axes=[-1, 0, 1, 2]"]
    scenario = library.load("luma", [*settings, "jobs.*.backend=ev74"])
    (first, *_) = forecast.forecasts(scenario)
    assert (first.tiles, first.bands, first.long) == (1_000_000, 1_000_000, True)


def test_a_trace_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before the run, with what would do."""
    found = [forecast.Forecast("j", 1_000, 1_000)]
    forecast.check_trace(found)
    monkeypatch.setattr(forecast, "free_bytes", lambda: 1_000)
    with pytest.raises(MemoryError, match=r"take about 900,000 bytes .* 1,000 free; job 'j' .* run without -o"):
        forecast.check_trace(found)
