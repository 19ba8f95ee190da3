"""Subject: what a report is about: a scenario, a run folder, or the document of a sweep, a search or a load."""

import json
from pathlib import Path
from typing import Any

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.html_report.audit import Check
from tessbed.scenarios.html_report.run_report import ReportedRun, output_checks
from tessbed.scenarios.html_report.study_report import PAGES
from tessbed.scenarios.output.earlier_run import RECORD

DOCUMENT = ".json"
DATABASES = (".sqlite", ".db")
HOW = "tessbed sweep (or search, load) ... --json > study.json"


def read_document(name: str) -> dict[str, Any] | None:
    """The document of a study in a file; None for a name that is no such file's.

    Raises ScenarioError for a file that holds something else.
    """
    path = Path(name)
    if path.suffix in DATABASES and path.is_file():
        text = f"got a database of results, which does not say what was varied, wanted a document: {HOW}"
        raise _wrong(name, text)
    if path.suffix != DOCUMENT:
        return None
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise _wrong(name, error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise _wrong(name, f"got no JSON ({error}), wanted a document: {HOW}") from None
    if not isinstance(found, dict) or page_key(found) is None:
        raise _wrong(name, f"got another document, wanted that of a sweep, a search or a load: {HOW}")
    return found


def page_key(document: dict[str, Any]) -> str | None:
    """Which of PAGES a document is for."""
    return next((key for key in PAGES if isinstance(document.get(key), list)), None)


def study_page(name: str, document: dict[str, Any]) -> Any:
    """The page of a study's document. Raises ScenarioError for one that lacks something."""
    key = page_key(document)
    assert key is not None
    try:
        return PAGES[key](document)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        text = (
            f"got a document without what a report shows ({type(error).__name__}: {error}), wanted one of this version"
        )
        raise _wrong(name, text) from None


def folder_checks(name: str, reported: ReportedRun) -> tuple[Check, ...]:
    """For a run folder: whether its run wrote the same bytes in the same ticks as the run that is reported."""
    folder = Path(name)
    if not (folder / RECORD).is_file():
        return ()
    try:
        stats = json.loads((folder / "stats.json").read_bytes())
        jobs = stats["jobs"]
        hashes = _recorded(jobs, "output_sha256")
        ticks = _recorded(jobs, "ticks")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return (Check(name, "stats.json can be read", str(error), "readable"),)
    now = {
        f"{e.job.name} on {o.backend}": o.run.ticks
        for e in reported.run.jobs
        for o in e.outcomes
        if o.run and not o.trouble
    }
    same = (Check(key, "ticks in the run folder = ticks now", ticks[key], now[key]) for key in now if key in ticks)
    return (*output_checks(reported.run, hashes), *same)


def _recorded(jobs: list[Any], what: str) -> dict[str, Any]:
    """One thing of each job on each backend that has it."""
    return {
        f"{job['name']} on {backend}": result[what]
        for job in jobs
        for backend, result in job["results"].items()
        if result.get(what) is not None
    }


def _wrong(name: str, text: str) -> ScenarioError:
    return ScenarioError([Problem(Location(name), text, "usage")])
