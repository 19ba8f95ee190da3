"""Table check: a calibration's folder, read and judged before anything is fitted to it; as a document and as lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.format.presets.preset_file import PresetSource, read_preset
from tessbed.scenarios.study.calibration.board_data import Setup
from tessbed.scenarios.study.calibration.board_files.finding import Board, TableFinding, count_of
from tessbed.scenarios.study.calibration.board_files.plan_check import order_findings, plan_findings
from tessbed.scenarios.study.calibration.board_files.repeat_check import repeat_findings, scatter
from tessbed.scenarios.study.calibration.board_files.setup_file import read_setup
from tessbed.scenarios.study.calibration.board_files.table_file import read_lines
from tessbed.scenarios.study.calibration.board_files.unit_check import unit_findings
from tessbed.scenarios.study.calibration.experiment import Experiment, read_experiment
from tessbed.scenarios.study.calibration.folder_files import EXPERIMENTS, SETUP_FILE, TABLE_FILE
from tessbed.scenarios.study.calibration.observables import OBSERVABLES
from tessbed.scenarios.study.measurement import measure_scenario, whole
from tessbed.sim.spec.device_spec import DeviceSpec

SEVERITIES = ("error", "warning")
FATAL = ("unplanned",)
"""Errors that no one can fit or validate despite of."""


def read_board(folder: Path) -> Board:
    """Everything in the folder of a calibration. Raises ScenarioError with every problem of its files."""
    problems: list[Problem] = []
    found: dict[str, Any] = {}
    for name, read in ((SETUP_FILE, read_setup), (TABLE_FILE, read_lines)):
        try:
            found[name] = read(_there(folder / name))
        except ScenarioError as error:
            problems += error.problems
    experiments = _experiments(folder, problems)
    guesses = _guesses(folder, found.get(SETUP_FILE), problems)
    if problems:
        raise ScenarioError(problems)
    table, unmeasured = found[TABLE_FILE]
    measured = set(table.experiments)
    expected = {
        (name, observable): ticks
        for name, experiment in experiments.items()
        if name in measured
        for observable, ticks in expected_ticks(experiment).items()
    }
    return Board(folder, found[SETUP_FILE], table, experiments, guesses, expected, unmeasured)


def expected_ticks(experiment: Experiment) -> dict[str, float]:
    """The ticks of each observable as the experiment's own device predicts them: the guesses."""
    stats = whole(measure_scenario(experiment.scenario, trace=False)).jobs[0].stats
    parts = stats.parts | {"load": experiment.device.kernel_load_ticks}
    return {name: float(sum(parts[part] for part in of)) for name, of in OBSERVABLES.items()}


def check_board(board: Board) -> list[TableFinding]:
    """Every finding, errors first, each in the order of the file."""
    found = [*plan_findings(board), *order_findings(board), *unit_findings(board), *repeat_findings(board)]
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), one.place.order))


def usable_board(folder: Path, *, despite_errors: bool = False) -> Board:
    """The board of a folder whose table can be used. Raises ScenarioError with every error that `check_board` finds.

    `despite_errors` those alone that leave nothing to compute.
    """
    board = read_board(folder)
    errors = [one for one in check_board(board) if one.severity == "error"]
    fatal = [one for one in errors if one.kind in FATAL or not despite_errors]
    if fatal:
        raise ScenarioError([Problem(one.place, one.text, one.kind) for one in fatal])
    return board


def check_document(board: Board, findings: list[TableFinding]) -> dict[str, Any]:
    """The check as a JSON document."""
    return {
        "schema_version": 1,
        "board": board.setup.board,
        "rows": len(board.table.observations),
        "measurements": len(board.groups),
        "experiments": len(board.table.experiments),
        "planned": len(board.experiments),
        "scatter_percent": 100 * scatter(board.groups),
        "errors": sum(one.severity == "error" for one in findings),
        "warnings": sum(one.severity == "warning" for one in findings),
        "findings": [one.document for one in findings],
    }


def check_lines(board: Board, findings: list[TableFinding]) -> Iterator[str]:
    """The check for a person; the verdict is the last line."""
    found = check_document(board, findings)
    yield (
        f"{found['board']}: {count_of(found['rows'], 'line')}, {count_of(found['measurements'], 'measurement')} of"
        f" {count_of(found['experiments'], 'experiment')}, {found['planned']:,} planned; scatter of a repetition"
        f" {found['scatter_percent']:.2g} %"
    )
    if findings:
        yield ""
        yield from map(str, findings)
    yield ""
    counts = f"{count_of(found['errors'], 'error')}, {count_of(found['warnings'], 'warning')}"
    yield f"failed: {counts}" if found["errors"] else f"ok: {counts}; no line was dropped"


def _guesses(folder: Path, setup: Setup | None, problems: list[Problem]) -> DeviceSpec:
    """The device of the setup's preset, a file of which is beside the setup."""
    if setup is None:
        return DeviceSpec()
    try:
        place = setup.places.get("preset", Location(str(folder / SETUP_FILE)))
        return read_preset(setup.preset, PresetSource(folder, place, "preset")).device
    except ScenarioError as error:
        problems += error.problems
        return DeviceSpec()


def _there(path: Path) -> Path:
    if not path.is_file():
        text = "no such file, wanted the folder of a calibration: `tessbed calibrate plan -o FOLDER` makes one"
        raise ScenarioError([Problem(Location(str(path)), text, "no_such_file")])
    return path


def _experiments(folder: Path, problems: list[Problem]) -> dict[str, Experiment]:
    """The planned ones, by their names in order; adds what is wrong with them."""
    found = {}
    for path in sorted((folder / EXPERIMENTS).glob("*.toml")):
        try:
            found[path.stem] = read_experiment(folder, path.stem)
        except ScenarioError as error:
            problems += error.problems
    if not found and not problems:
        text = "no scenario of an experiment, wanted those that `tessbed calibrate plan` writes"
        problems.append(Problem(Location(str(folder / EXPERIMENTS)), text, "no_such_file"))
    return found
