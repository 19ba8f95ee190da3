"""`tessbed report`: a run or a study as one HTML file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessbed.commands.options import new_command, quiet_option, run_arguments
from tessbed.commands.streams import echo

if TYPE_CHECKING:
    from tessbed.scenarios.model import Scenario

HELP = """Write RUN as one HTML file: verdict, differences from the preset, where every tick went with the counts behind
it, a timeline to zoom, who wrote which granule, scratch, packets, buffers, the audit, and every parameter's provenance.

RUN is a scenario or a run folder, which are run again with every span kept, or the document that `tessbed sweep`,
`search` or `load` prints with --json, in a file. The file opens offline, and loads nothing.

Exit code: as that of `run`; for a document 0 ok, 1 no result or a saturated stream. The file is written in any case."""


def _writable(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """The file, which is refused before the work begins."""
    if path is not None:
        from tessbed.scenarios.output.files import unusable

        if path.suffix.lower() not in (".html", ".htm"):
            raise click.BadParameter(f"got {path.name}, wanted a name that ends in .html")
        if problem := unusable(path):
            raise click.BadParameter(f"{path}: {problem}")
    return path


@new_command("report", HELP)
@run_arguments
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_writable,
    help="The file to write.  [default: NAME.html]",
)
@quiet_option
def command(file: str, settings: tuple[str, ...], seed: int | None, output: Path | None, quiet: bool) -> int:
    """The report in a file; returns the exit code."""
    from tessbed.scenarios.html_report.subject import read_document, study_page
    from tessbed.scenarios.library import stem_of

    document = read_document(file)
    if document is not None:
        if settings or seed is not None:
            raise click.UsageError("--set and --seed change a scenario; a document is what it is")
        page = study_page(file, document)
        _write(output or _default(Path(file).stem), page, quiet=quiet)
        return int(page.verdict != "ok")
    path = output or _default(stem_of(file) if file != "-" else "stdin")
    return _run(file, settings, seed, path, quiet=quiet)


def _default(stem: str) -> Path:
    path = Path(f"{stem}.html")
    try:
        return _writable(click.get_current_context(), None, path) or path  # pyright: ignore[reportArgumentType]
    except click.BadParameter as error:
        raise click.BadParameter(error.message, param_hint="-o") from None


def _run(file: str, settings: tuple[str, ...], seed: int | None, path: Path, *, quiet: bool) -> int:
    """Run, and write what happened."""
    from tessbed.commands.progress import run_progress
    from tessbed.commands.scenario_run import foretell
    from tessbed.scenarios.html_report.run_report import reported_run, run_page
    from tessbed.scenarios.html_report.subject import folder_checks
    from tessbed.scenarios.library import load
    from tessbed.scenarios.report import FAILED, exit_code

    scenario = load(file, settings, seed)
    meter = foretell(scenario, "simpy", trace=True, quiet=quiet)
    with run_progress(meter, quiet=quiet):
        reported = reported_run(scenario, meter)
    checks = () if settings or seed is not None else folder_checks(file, reported)
    page = run_page(reported, checks, _load_parts(scenario))
    _write(path, page, quiet=quiet)
    return exit_code(reported.run) or (FAILED if page.verdict != "ok" else 0)


def _load_parts(scenario: "Scenario") -> tuple[Any, ...]:
    """The sections of the scenario's load, where it has one."""
    if scenario.load is None:
        return ()
    from tessbed.scenarios.html_report.study_report import load_sections
    from tessbed.scenarios.study.load.load_study import load_program, study_load

    return tuple(load_sections(study_load(scenario, load_program(scenario))))


def _write(path: Path, page: Any, *, quiet: bool) -> None:
    from tessbed.scenarios.output.files import replacing

    text = page.html().encode()
    with replacing(path) as part:
        part.write_bytes(text)
    if not quiet:
        echo(f"wrote {path}: {len(text):,} bytes, {page.verdict}; open it in a browser")
