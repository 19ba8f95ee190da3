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
        ran = made[one.job].run
        assert ran is not None
        assert ran.result is not None
        assert ran.result.stats is not None
        assert 0 < one.transfers <= len(ran.result.stats.trace)


def test_a_million_tiles() -> None:
    """Tiles are counted without walking them, and what is long is so for an engine."""
    settings = ["jobs.0.shape=[1000, 1000, 16]", "jobs.0.tiled.tile=[1, 1, 1, 16]", "jobs.0.tiled.axes=[-1, 0, 1, 2]"]
    scenario = library.load("luma", [*settings, "jobs.*.backend=ev74"])
    (first, *_) = forecast.forecasts(scenario)
    assert (first.tiles, first.bands) == (1_000_000, 1_000_000)
    assert first.seconds("simpy") > 10 * first.seconds("exact") > forecast.LONG_SECONDS
    assert "64,000,000 bytes" in first.words("simpy")
    assert "bytes" not in first.words("exact")
    assert "1,200,000,000 bytes of trace, in each of 3 runs" in first.words("exact", 3, trace=True)


def test_a_trace_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before the run, with what would do."""
    found = [forecast.Forecast("j", ("ev74",), 1_000, 1_000)]
    forecast.check_trace(found)
    monkeypatch.setattr(forecast, "free_bytes", lambda: 1_000)
    with pytest.raises(MemoryError, match=r"takes about 1,200,000 bytes .* 1,000 free; job 'j' .* run without -o"):
        forecast.check_trace(found)
    with pytest.raises(MemoryError, match=r"about 3,600,000 .* 2,000 or more, 3 times over: fewer"):
        forecast.check_trace(found, 3, "fewer")


@pytest.mark.parametrize("engine", ["simpy", "exact", "verify"])
@pytest.mark.parametrize("name", ["chroma", "documents-calls", "detr-classes-int8"])
def test_a_meter_comes_to_its_total(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of a run moves the meter, never back, and at least to nine tenths of what was forecast for it."""
    scenario = library.load(name)
    meter = forecast.Meter.of(forecast.forecasts(scenario), engine)
    ends, begin = [0.0], forecast.Meter.begin

    def noted(self: forecast.Meter, job: str, backend: str) -> None:
        ends.append(self.reading()[0])
        begin(self, job, backend)
        assert self.reading()[0] >= ends[-1]

    monkeypatch.setattr(forecast.Meter, "begin", noted)
    run_scenario(scenario, engine=engine, meter=meter)
    ends.append(meter.reading()[0])
    assert ends == sorted(ends)
    assert 0.9 * meter.total <= ends[-1] <= meter.total
    assert len(ends) == 2 + len(meter.steps)
