"""The check of a table: each way in which measurements go wrong is named, with its line; a good table passes."""

from itertools import combinations, permutations
from math import exp
from pathlib import Path
from random import Random

import attrs
import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.study.calibration.board_data import Observation
from tessbed.scenarios.study.calibration.board_files.finding import TableFinding
from tessbed.scenarios.study.calibration.board_files.repeat_check import OUTLIER, _chance
from tessbed.scenarios.study.calibration.board_files.table_check import (
    check_board,
    check_document,
    check_lines,
    read_board,
    usable_board,
)
from tests.scenarios.study.calibration.board_files.board import SETUP, Spoil, changed, scenario, write_board


def findings(folder: Path, spoil: Spoil = lambda row: row, setup: str = SETUP, repeats: int = 8) -> list[TableFinding]:
    """What is found in a folder with these lines."""
    return check_board(read_board(write_board(folder / "board", spoil, setup, repeats)))


def test_a_good_table_has_no_finding(tmp_path: Path) -> None:
    """1 % of noise on a device as it was guessed is nothing to report, and its scatter is seen."""
    board = read_board(write_board(tmp_path / "board"))
    assert check_board(board) == []
    assert 0.7 < check_document(board, [])["scatter_percent"] < 1.4
    assert list(check_lines(board, []))[-1] == "ok: 0 errors, 0 warnings; no line was dropped"


@pytest.mark.parametrize("repeats", [3, 4, 5, 12])
def test_noise_alone_is_no_outlier_and_no_drift(repeats: int, tmp_path: Path) -> None:
    """However few repetitions there are."""
    assert findings(tmp_path, repeats=repeats) == []


def renamed(row: Observation) -> Observation:
    """An experiment that nobody planned."""
    return attrs.evolve(row, experiment="lumma.w1") if row.experiment == "luma.w1" else row


def warming(row: Observation) -> Observation:
    """A board that slows down with each repetition."""
    return attrs.evolve(row, value=row.value * 1.01**row.repeat)


def in_ticks(row: Observation) -> Observation:
    """Ticks, in a column that says microseconds."""
    return attrs.evolve(row, value=row.value * 1000)


def slower(row: Observation) -> Observation:
    """A board that is nearly five times as slow as was guessed: the guesses are wrong, not the units."""
    return attrs.evolve(row, value=round(row.value * 4.7, 3))


def ten_times(row: Observation) -> Observation:
    """Every time is ten times what it should be, as on a clock of a tenth."""
    return attrs.evolve(row, value=round(row.value * 10, 3))


def tenth_in_ticks(row: Observation) -> Observation:
    """Ticks of a counter that runs at a tenth of the clock."""
    return attrs.evolve(row, value=row.value * 100, unit="ticks")


def steps(row: Observation) -> Observation:
    """A timer that steps by 10 microseconds."""
    return attrs.evolve(row, value=max(10.0, 10 * round(row.value / 10)))


def unsplit(row: Observation) -> Observation:
    """Nothing held out."""
    return attrs.evolve(row, split="fit")


def one_grid(row: Observation) -> Observation:
    """One grid of a shape held out, the other fitted."""
    return attrs.evolve(row, split="validate") if row.experiment == "luma.w4" else row


def swapped(row: Observation) -> Observation:
    """The observables of one experiment mixed up."""
    other = {"device": "job", "job": "device"}[row.observable]
    return attrs.evolve(row, observable=other) if row.experiment == "image.w1" else row


def half(row: Observation) -> Observation | None:
    """One experiment left out."""
    return None if row.experiment == "luma.w1" else row


def copied(row: Observation) -> Observation:
    """The same number for each repetition, none of them a round one."""
    number = sum(map(ord, f"{row.experiment} {row.observable}"))
    base = {"device": 2.3, "job": 700.0}[row.observable] if row.experiment.startswith("small") else 300.0
    return attrs.evolve(row, value=base + number / 1001 + (1000 if row.observable == "job" else 0))


def once(row: Observation) -> Observation | None:
    """Single measurements."""
    return row if row.repeat == 0 else None


FOUND: dict[str, tuple[Spoil, str, list[tuple[str, str]], list[str]]] = {
    "unplanned": (renamed, SETUP, [("error", "unplanned"), ("warning", "missing")], [
        "experiment lumma.w1 was not planned, wanted one of the 10 in ", "did you mean luma.w1?"]),
    "ticks for microseconds, everywhere": (in_ticks, SETUP, [("error", "unit"), ("warning", "resolution")],
        ["20 measurements are 999 times what the guesses predict, in the median", "would fit in ticks, ns"]),
    "ticks for microseconds, in one": (changed("chroma.w4")(value=lambda v: v * 1000), SETUP, [("error", "unit")] * 1
        + [("error", "order")], ["chroma.w4 device: got 5", "is it in ticks, ns?", "are the columns mixed up?"]),
    "too small a unit, in one": (changed("chroma.w4", "job")(value=lambda v: v / 1000), SETUP,
        [("error", "order"), ("error", "unit")], ["chroma.w4 job: got 0.", "is it in ms?"]),
    "every line held out": (lambda row: attrs.evolve(row, split="validate"), SETUP, [("error", "held_out")],
        ["table.csv:2:", "every line is held out: nothing is left to fit"]),
    "milliseconds": (changed("chroma.w4", "job")(unit=lambda unit: "ms"), SETUP, [("error", "unit")], ["is it in us?"]),
    "slow": (slower, SETUP, [], []),
    "a clock wrong by ten": (lambda row: row, SETUP.replace("= 1000", "= 10000"), [("error", "clock")],
        ["setup.toml:2:", "20 measurements are 9.99 times what the guesses predict, in the median, from ",
         "is the clock 1,000 MHz, not 10,000?"]),
    "a clock wrong by a tenth": (ten_times, SETUP, [("error", "clock"), ("warning", "resolution")],
        ["is the clock 100 MHz, not 1,000?"]),
    "ticks of another counter": (tenth_in_ticks, SETUP, [("error", "clock")],
        ["are 1/10 of what the guesses predict", "do the ticks count another clock than that of the vision "]),
    "mixed up": (swapped, SETUP, [("error", "order")], ["image.w1: job is ", "device alone is "]),
    "drift": (warming, SETUP, [("warning", "drift")], ["20 of 20 measurements drift alike: a repetition rises by 0"]),
    "an outlier": (changed("small.w1", "device", (5,))(value=lambda v: v * 1.4), SETUP, [("warning", "outlier")],
        ["small.w1 device: repetition 5 is ", "outlier 1 of 1 in 160 lines; it counts in a fit until"]),
    "a coarse timer": (lambda row: row, SETUP.replace("= 1.0", "= 2000.0"), [("warning", "resolution")],
        ["a step of the timer, 2000 ns, is ", "measure many runs in one interval"]),
    "another step": (steps, SETUP, [("warning", "resolution")], ["all 160 values are multiples of 10000 ns"]),
    "nothing held out": (unsplit, SETUP, [("warning", "held_out")], ["0 shapes are held out, wanted 3 or more"]),
    "half of a shape": (one_grid, SETUP, [("error", "mixed_shape")], ["luma.w4 is held out, luma.w1 of the same"]),
    "missing": (half, SETUP, [("warning", "missing")], ["1 of 10 experiments have no value: luma.w1"]),
    "one repetition in ticks": (changed("small.w1", repeats=(5,))(value=lambda v: v * 1000), SETUP, [("error", "unit")],
        ["small.w1 device: repetition 5 is ", "the median 5.6", "is it in ticks, ns?"]),
    "a slip of the pen": (changed("small.w1", "device", (5,))(value=lambda v: v * 1e9), SETUP, [("error", "unit")],
        ["is it a slip of the pen?"]),
    "means, copied": (copied, SETUP, [("warning", "repeats")], ["all repetitions of 20 measurements are equal"]),
    "another preset": (lambda row: row, SETUP + 'preset = "ev74-1core"\n', [("error", "preset")],
        ["the setup starts from ev74-1core, 10 experiments from another device: chroma.w1 from ev74-4core"]),
    "once": (once, SETUP, [("warning", "repeats")], ["20 of 20 measurements have fewer than 3 repetitions"]),
    "an assumed clock": (lambda row: row, SETUP.replace('"measured"', '"assumed"'), [("warning", "clock")],
        ["the clock of 1,000 MHz is only assumed"]),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "setup", "kinds", "parts"), FOUND.values(), ids=FOUND)
def test_what_is_wrong_is_named(
    spoil: Spoil, setup: str, kinds: list[tuple[str, str]], parts: list[str], tmp_path: Path
) -> None:
    """That and nothing else; errors first; in words that say what to do."""
    found = findings(tmp_path, spoil, setup)
    assert [(one.severity, one.kind) for one in found] == kinds, found
    said = "\n".join(map(str, found))
    assert [part for part in parts if part not in said] == [], said


def test_one_measurement_that_drifts_is_named(tmp_path: Path) -> None:
    """Among others that do not; by exact chances, since its repetitions are few."""

    def spoil(row: Observation) -> Observation:
        drifts = (row.experiment, row.observable) == ("luma.w4", "device")
        return attrs.evolve(row, value=row.value * 1.008**row.repeat) if drifts else row

    (found,) = findings(tmp_path, spoil, repeats=12)
    assert (found.kind, found.count) == ("drift", 12)
    assert "luma.w4 device rises by 0.67 %" in found.text


def test_chances_of_an_order_are_exact() -> None:
    """Of all orders of five values, as many as were counted one by one."""
    scores = [sum((b > a) - (b < a) for a, b in combinations(order, 2)) for order in permutations(range(5))]
    for score in range(0, 11, 2):
        assert _chance(5, score) == pytest.approx(min(1, sum(abs(each) >= score for each in scores) / len(scores)))


def test_a_finding_has_the_line(tmp_path: Path) -> None:
    """That of the value itself: the third column of numbers of the line in the file."""
    (found,) = findings(tmp_path, changed("small.w1", "device", (5,))(value=lambda v: v * 1.4))
    line = (tmp_path / "board" / "table.csv").read_text().splitlines()[found.place.line - 1]
    assert line.startswith("small.w1,device,5,")
    assert line[found.place.column - 1 :].startswith(line.split(",")[3])


def test_lines_without_a_value_are_counted(tmp_path: Path) -> None:
    """A warning, with the first of them."""
    write_board(tmp_path / "board")
    table = tmp_path / "board" / "table.csv"
    table.write_text(table.read_text() + "luma.w1,record,0,,us,fit,\nluma.w1,record,1,,us,fit,\n")
    (found,) = check_board(read_board(tmp_path / "board"))
    assert (found.severity, found.kind, found.place.line, found.count) == ("warning", "missing", 162, 2)
    assert "2 lines without a value, 162, 163: not measured, and not fitted" in found.text


def test_outliers_are_found_as_often_as_they_are_planted(tmp_path: Path) -> None:
    """Of 20 outliers of 20 % each is named, and none beside them; every line still counts."""
    random = Random(1)
    planted = {(f"{name}.w{w}", ob): random.randrange(8) for name in ("luma", "chroma", "image", "small", "rows")
               for w in (1, 4) for ob in ("device", "job")}  # fmt: skip

    def spoil(row: Observation) -> Observation:
        far = planted[row.experiment, row.observable] == row.repeat
        return attrs.evolve(row, value=row.value * exp(0.2)) if far else row

    found = findings(tmp_path, spoil)
    lines = (tmp_path / "board" / "table.csv").read_text().splitlines()
    named = {tuple(lines[one.place.line - 1].split(",")[:3]) for one in found if one.kind == "outlier"}
    assert named == {(*key, str(repeat)) for key, repeat in planted.items()}
    assert OUTLIER * 0.01 < 0.2


def test_a_table_with_errors_is_not_fitted(tmp_path: Path) -> None:
    """Each is raised with its place; whoever insists gets the board, but for what nothing can be computed of."""
    folder = write_board(tmp_path / "board", in_ticks)
    with pytest.raises(
        ScenarioError, match=r"table\.csv:2:\d+: 20 measurements are 999 times what the guesses predict"
    ):
        usable_board(folder)
    assert usable_board(folder, despite_errors=True).setup.board == "board 7"
    unplanned = write_board(tmp_path / "unplanned", renamed)
    with pytest.raises(ScenarioError, match=r"experiment lumma\.w1 was not planned"):
        usable_board(unplanned, despite_errors=True)


def test_a_table_with_warnings_alone_is_fitted(tmp_path: Path) -> None:
    """They are for whoever knows the board to judge."""
    assert usable_board(write_board(tmp_path / "board", warming)).table.observations


WRONG = {
    "no folder": (lambda folder: None, "setup.toml: no such file, wanted the folder of a calibration"),
    "no experiments": (lambda folder: [path.unlink() for path in (folder / "experiments").iterdir()],
        "experiments: no scenario of an experiment"),
    "an experiment of two jobs": (lambda folder: (folder / "experiments" / "luma.w1.toml").write_text(
        scenario("luma", 1) + scenario("chroma", 1).partition("workers = 8\n")[2]), "got 2 jobs, wanted one job"),
    "table and setup": (lambda folder: [(folder / "table.csv").write_text(""), (folder / "setup.toml").write_text("")],
        "table.csv:1:1: got an empty file"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "part"), WRONG.values(), ids=WRONG)
def test_a_folder_that_is_none_is_refused(change, part: str, tmp_path: Path) -> None:
    """With what is missing or wrong, of all of its files at once."""
    folder = tmp_path / "board"
    if part.startswith("setup.toml"):
        folder.mkdir()
    else:
        write_board(folder)
    change(folder)
    with pytest.raises(ScenarioError) as refused:
        read_board(folder)
    assert part in str(refused.value)
