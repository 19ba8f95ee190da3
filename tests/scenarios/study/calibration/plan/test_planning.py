"""Plans: better than chance, honest about what they leave open, and complete as files."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from tessbed.kernels.custom.codec import check_call, is_custom
from tessbed.kernels.ev74.rules import check_packet
from tessbed.scenarios.exact.exact_device import ExactDevice
from tessbed.scenarios.study.calibration.board_data import Setup
from tessbed.scenarios.study.calibration.experiment import read_experiment
from tessbed.scenarios.study.calibration.plan.candidates import Candidate, candidates
from tessbed.scenarios.study.calibration.plan.design import best_choice, expectations, information
from tessbed.scenarios.study.calibration.plan.plan_folder import plan_files, setup_template, write_plan
from tessbed.scenarios.study.calibration.plan.planning import CalibrationPlan, PlanOptions, make_plan, plan_lines

OPTIONS = PlanOptions(budget=24, observables=("device", "job"), points=2, seed=3)


@pytest.fixture(scope="module")
def found() -> list[Candidate]:
    """The candidates on one and on four workers."""
    return candidates("ev74-4core", Path(), grids=(1, 4))


@pytest.fixture(scope="module")
def plan(found: list[Candidate]) -> CalibrationPlan:
    """A plan of 24 of them."""
    return make_plan(found, Setup("board", 1000), OPTIONS)


def test_a_chosen_set_tells_more_than_drawn_ones(found: list[Candidate]) -> None:
    """The information of 20 greedy experiments is larger than that of any of 20 draws of 20, on points of its own."""
    experiments = [one.experiment for one in found]
    setup = Setup("board", 1000)
    told = [information(experiments, ("device",), setup, noise=0.02, repeats=1, points=2, seed=seed) for seed in (0, 1)]
    chosen = best_choice(told[0], 20, range(len(found)))
    random = Random(0)

    def volume(numbers: list[int]) -> float:
        rows = told[1].rows[:, numbers].reshape(2, -1, len(told[1].parameters))
        return float(np.linalg.slogdet(np.swapaxes(rows, 1, 2) @ rows + np.diag(told[1].prior))[1].mean())

    drawn = [volume(random.sample(range(len(found)), 20)) for _ in range(20)]
    assert len(set(chosen)) == 20
    assert volume(chosen) > max(drawn)


def test_a_plan_says_what_stays_confounded(plan: CalibrationPlan) -> None:
    """Parts of a job that no observable tells apart are said to be alike, a load that nobody waits for untouched."""
    expected = {one.path: one for one in plan.expected}
    assert expected["dispatch_ticks"].alike == ("completion_ticks", "decode_ticks")
    assert expected["kernel_load_ticks"].word == "untouched"
    assert expected["dma.setup_ticks"].word in ("precise", "weak")
    text = "\n".join(plan_lines(plan))
    assert all(one.path in text for one in plan.expected)


def test_more_experiments_tell_more(found: list[Candidate]) -> None:
    """With each further experiment no expected interval grows."""
    told = information(
        [one.experiment for one in found], ("device",), Setup("b", 1000), noise=0.02, repeats=1, points=1, seed=0
    )
    chosen = best_choice(told, 12, range(len(found)))
    widths = [[one.percent for one in expectations(told, chosen[:count])] for count in (3, 6, 12)]
    assert all(a >= b - 1e-9 >= c - 2e-9 for a, b, c in zip(*widths, strict=True))


def test_whole_shapes_are_held_out(plan: CalibrationPlan) -> None:
    """No held-out shape is fitted; together they are the budget; the same options give the same plan."""
    fitted, held = ({one.experiment.shape for one in part} for part in (plan.fitted, plan.held))
    assert not fitted & held
    assert len(plan.fitted) + len(plan.held) == OPTIONS.budget
    assert len(plan.held) == 4


def test_a_plan_is_repeatable(found: list[Candidate]) -> None:
    """The same options choose the same experiments, another seed holds out others."""
    few = found[::12]
    names = [
        [one.experiment.name for one in (*plan.fitted, *plan.held)]
        for seed in (3, 3, 4)
        for plan in [make_plan(few, Setup("b", 1000), PlanOptions(budget=6, points=1, seed=seed))]
    ]
    assert names[0] == names[1] != names[2]


def files_of(plan: CalibrationPlan) -> dict[str, bytes]:
    """The files of a plan."""
    return plan_files(plan.fitted, plan.held, ("device", "job"), 3, setup_template("ev74-4core"), plan_lines(plan))


def test_the_files_are_the_experiments(plan: CalibrationPlan, tmp_path: Path) -> None:
    """Each scenario reads back as its experiment, each packet is valid and bound, and the table has every line."""
    write_plan(tmp_path, files_of(plan))
    for candidate in (*plan.fitted, *plan.held):
        name = candidate.experiment.name
        read = read_experiment(tmp_path, name)
        assert (read.shape, read.workers, read.device) == (
            candidate.experiment.shape,
            candidate.experiment.workers,
            candidate.experiment.device,
        )
        raw = (tmp_path / "packets" / f"{name}.bin").read_bytes()
        check_call(raw) if is_custom(raw) else check_packet(raw)
        assert raw == ExactDevice(read.device).launch(read.job).packet.raw
    header, *lines = (tmp_path / "table.csv").read_text().splitlines()
    assert header == "experiment,observable,repeat,value,unit,split,note"
    assert len(lines) == len(set(lines)) == plan.rows == 24 * 2 * 3
    assert sum(line.endswith(",validate,") for line in lines) == 4 * 2 * 3


def test_what_was_measured_is_never_overwritten(plan: CalibrationPlan, tmp_path: Path) -> None:
    """The same plan may be written again; once a value is in the table it is refused, and nothing changes."""
    files = files_of(plan)
    write_plan(tmp_path, files)
    write_plan(tmp_path, files)
    table = tmp_path / "table.csv"
    table.write_text(table.read_text().replace(",,us", ",231.4,us", 1))
    (tmp_path / "plan.txt").unlink()
    with pytest.raises(FileExistsError, match="nothing measured is lost"):
        write_plan(tmp_path, files)
    assert "231.4" in table.read_text()
    assert not (tmp_path / "plan.txt").exists()
