"""Candidates: the experiments that a plan can choose from: jobs of the catalogue and DMA probes, on several grids."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import Location
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import Source
from tessbed.scenarios.library import catalogue, load
from tessbed.scenarios.model import ScenarioJob, to_values
from tessbed.scenarios.study.calibration.experiment import NOT_SHAPE, Experiment, experiment_of

GRIDS = (1, 2, 4, 8)
PROBE_FILE = Path(__file__).with_name("dma_probe.py")
GOLDEN = {"pattern": "golden"}

# name: arguments of the DMA probe, what differs from its defaults. Together they vary each price of a transfer by
# itself: how many reads wait together, bytes, rows, pages, bursts, segments of a chain, partial granules.
PROBES: Mapping[str, Mapping[str, int]] = {
    "one-small-read": {"bands": 64, "reads": 1, "rows": 1, "row_bytes": 64, "write_bytes": 64},
    "8-small-reads": {"bands": 32, "reads": 8, "rows": 1, "row_bytes": 64, "write_bytes": 64},
    "16-small-reads": {"bands": 32, "reads": 16, "rows": 1, "row_bytes": 64, "write_bytes": 64},
    "one-row": {"bands": 64, "reads": 1, "rows": 1, "row_bytes": 4096, "columns": 4096, "write_bytes": 64},
    "8-rows-at-once": {"bands": 16, "reads": 8, "rows": 1, "row_bytes": 2048, "columns": 2048, "write_bytes": 64},
    "16-rows-at-once": {"bands": 16, "reads": 16, "rows": 1, "row_bytes": 1024, "columns": 1024, "write_bytes": 64},
    "many-rows": {"bands": 16, "reads": 1, "rows": 256, "row_bytes": 16, "columns": 64, "write_bytes": 64},
    "many-rows-dense": {"bands": 16, "reads": 1, "rows": 256, "row_bytes": 64, "columns": 64, "write_bytes": 64},
    "rows-on-pages": {"bands": 8, "reads": 1, "rows": 64, "row_bytes": 64, "columns": 4160, "write_bytes": 64},
    "wide-rows": {"bands": 8, "reads": 4, "rows": 16, "row_bytes": 512, "columns": 1024, "write_bytes": 64},
    "odd-pitch": {"bands": 16, "reads": 8, "rows": 16, "row_bytes": 200, "columns": 327, "write_bytes": 64},
    "many-bursts": {"bands": 8, "reads": 1, "rows": 8, "row_bytes": 4096, "columns": 4352, "write_bytes": 64},
    "one-write": {"bands": 64, "reads": 1, "rows": 1, "row_bytes": 16, "write_bytes": 512},
    "long-writes": {"bands": 32, "reads": 1, "rows": 1, "row_bytes": 16, "write_bytes": 8192, "strip_bytes": 8192},
    "chain-of-4": {"bands": 32, "reads": 1, "rows": 1, "row_bytes": 16, "chain": 4, "write_bytes": 64},
    "chain-of-16": {"bands": 16, "reads": 1, "rows": 1, "row_bytes": 16, "chain": 16, "write_bytes": 64},
    "chain-of-long": {"bands": 16, "reads": 1, "rows": 1, "row_bytes": 16, "chain": 8, "write_bytes": 512},
    "partial-granules": {"bands": 32, "reads": 1, "rows": 1, "row_bytes": 16, "write_bytes": 100, "shift": 7},
    "partial-chain": {"bands": 16, "reads": 1, "rows": 1, "row_bytes": 16, "chain": 8, "write_bytes": 40, "shift": 5},
    "one-band": {"bands": 8, "reads": 1, "rows": 1, "row_bytes": 64, "write_bytes": 64},
    "read-and-write": {"bands": 32, "reads": 8, "rows": 1, "row_bytes": 512, "write_bytes": 4096, "strip_bytes": 4096},
    "long-both": {"bands": 16, "reads": 8, "rows": 2, "row_bytes": 1024, "columns": 1024, "write_bytes": 16384,
                  "strip_bytes": 16384},
}  # fmt: skip


@attrs.frozen(eq=False)
class Candidate:
    """An experiment that may be chosen, and the values of its scenario file."""

    experiment: Experiment
    values: dict[str, Any]


def candidates(preset: str, folder: Path, grids: tuple[int, ...] = GRIDS, match: str = "") -> list[Candidate]:
    """Those with `match` in their names, on the device of a preset; a preset file's name is relative to `folder`."""
    named = (*_catalogue_jobs(), *_probe_jobs())
    wanted = ((title, job, grid) for title, job in named for grid in grids if match in experiment_name(title, grid))
    return [_candidate(title, job, grid, preset, folder, max(grids)) for title, job, grid in wanted]


def experiment_name(title: str, grid: int) -> str:
    """The name of the experiment that runs a job on so many workers: part of a file's."""
    return f"{_slug(title)}.w{grid}"


def _catalogue_jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    """The different shapes of the catalogue, each once, by a title."""
    known: set[str] = set()
    for name in catalogue():
        scenario = attrs.evolve(load(name), load=None)
        described = to_values(scenario)["jobs"]
        for job, values in zip(scenario.jobs, described, strict=True):
            if not isinstance(job, ScenarioJob) or job.faults or job.timeout_ticks is not None or job.empty:
                continue
            own = {key: value for key, value in values.items() if key not in NOT_SHAPE}
            if str(own) not in known:
                known.add(str(own))
                yield f"{name}.{job.name}", own | {"input": GOLDEN}


def _probe_jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, arguments in PROBES.items():
        yield f"dma.{name}", {"kernel": f"{PROBE_FILE.name}:dma_probe", "args": dict(arguments)}


def _candidate(title: str, job: dict[str, Any], grid: int, preset: str, folder: Path, most: int) -> Candidate:
    name = experiment_name(title, grid)
    kernel = "kernel" in job
    values = {
        "name": name,
        "device": {"preset": preset, "workers": most},
        "jobs": [{"name": title, **({} if kernel else {"backend": "ev74"}), **job, "workers": grid}],
    }
    source = Source(name, values, {}, {(): Location(name)})
    scenario = compose(source, PROBE_FILE.parent if kernel else folder)
    return Candidate(experiment_of(name, scenario, Location(name)), values)


def _slug(text: str) -> str:
    """The text as part of a file name."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")
