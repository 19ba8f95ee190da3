"""Table files: what reads, and every mistake with its line, its column, and what to write instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessbed.scenarios.format.diagnostics import Location, ScenarioError
from tessbed.scenarios.study.calibration.board_data import Observation, Table
from tessbed.scenarios.study.calibration.board_files.table_file import TableReader, read_table, table_text

HEADER = "experiment,observable,repeat,value,unit,split,note\n"


def table(text: str) -> Table:
    """The table of that text."""
    return TableReader().table(text, "t.csv")


def test_what_a_table_may_look_like() -> None:
    """Comments, empty lines, spaces, quotes, Windows ends, columns in another order or absent."""
    text = '# a board\n\n value , unit,experiment,observable,repeat,note\r\n 1e3 ,us,a,device,0,"said ""x"", ok"\r\n'
    found = table(text)
    assert found.observations == (Observation("a", "device", 0, 1000.0, "us", "fit", 'said "x", ok'),)
    assert found.observations[0].place == Location("t.csv", 4, 2)
    assert table("value,unit,experiment,observable,repeat\n2.5,ticks,a,job,7\n").observations == (
        Observation("a", "job", 7, 2.5, "ticks"),
    )


MISTAKES = {
    "empty": ("", ["t.csv:1:1: got an empty file, wanted the header experiment,observable,repeat"]),
    "a header alone": (HEADER, ["t.csv:1:1: got a header alone"]),
    "semicolons": ("experiment;observable;repeat;value;unit\na;device;0;1;us\n", ["t.csv:1:1: got columns that ;"]),
    "tabs": ("experiment\tobservable\trepeat\tvalue\tunit\n", ["t.csv:1:1: got columns that ; or a tab separates"]),
    "no unit": ("experiment,observable,repeat,value\na,device,0,1\n", ['t.csv:1:1: no column "unit", wanted the']),
    "a column": ("experiment,observable,repeat,valeu,unit\n", ['t.csv:1:30: got the column "valeu"', "mean value?"]),
    "a column twice": ("experiment,observable,repeat,value,unit,unit\n", ['t.csv:1:41: got the column "unit" twice']),
    "a decimal comma": (HEADER + "a,device,0,12,5,us,fit,\n", ["t.csv:2:1: got 8 fields, wanted 7", "a decimal point"]),
    "too few": (HEADER + "a,device,0,12\n", ["t.csv:2:1: got 4 fields, wanted 7: experiment,observable"]),
    "an observable": (HEADER + "a,divice,0,1,us,,\n", ['t.csv:2:3: observable: got "divice"', "did you mean device?"]),
    "micro": (HEADER + "a,device,0,1,µs,,\n", ['t.csv:2:14: unit: got "µs", wanted ticks, ns, us, ms, s; write us']),
    "cycles": (HEADER + "a,device,0,1,cycles,,\n", ["t.csv:2:14: unit: ", "; write ticks"]),
    "capitals": (HEADER + "a,device,0,1,US,,\n", ["t.csv:2:14: unit: ", "; write us"]),
    "a unit that can not be": (HEADER + "a,device,0,1,GB/s,,\n", ['t.csv:2:14: unit: got "GB/s", wanted ticks, ns']),
    "no unit of a value": (HEADER + "a,device,0,1,,,\n", ["t.csv:2:14: unit: got nothing, wanted ticks, ns"]),
    "no value at all": (HEADER + "a,device,0,,us,,\na,device,1,,us,,\n",
        ["t.csv:2:12: none of 2 lines has a value"]),
    "zero": (HEADER + "a,device,0,0,us,,\n", ['t.csv:2:12: value: got "0", wanted a number above 0']),
    "negative": (HEADER + "a,device,0,-3,us,,\n", ['t.csv:2:12: value: got "-3"']),
    "not a number": (HEADER + "a,device,0,nan,us,,\na,device,1,inf,us,,\na,device,2,1e999,us,,\na,device,3,0x5,us,,\n",
        ['t.csv:2:12: value: got "nan"', 't.csv:3:12: value: got "inf"', 't.csv:4:12: ', 't.csv:5:12: ']),
    "a repetition": (HEADER + "a,device,x,1,us,,\n", ['t.csv:2:10: repeat: got "x", wanted 0, 1, ...']),
    "a repetition twice": (HEADER + "a,device,0,1,us,,\na,device,0,2,us,,\n",
        ["t.csv:3:10: repeat: got 0 of a device again, as in line 2"]),
    "two units": (HEADER + "a,device,0,1,us,,\na,device,1,2,ms,,\n", ["t.csv:3:14: unit: got ms, line 2 has us"]),
    "two splits": (HEADER + "a,device,0,1,us,fit,\na,job,0,2,us,validate,\n",
        ["t.csv:3:14: split: got validate, line 2 has fit; wanted one split for all of a"]),
    "a split": (HEADER + "a,device,0,1,us,train,\n", ['t.csv:2:17: split: got "train", wanted fit, validate']),
    "an experiment's path": (HEADER + "../a,device,0,1,us,,\n", ['t.csv:2:1: experiment: got "../a"']),
    "an open quote": (HEADER + 'a,device,0,1,us,fit,"ab\n', ["t.csv:2:21: ", "wanted a quote around"]),
    "text behind a quote": (HEADER + 'a,device,0,"1"2,us,,\n', ["t.csv:2:12: value: got "]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "parts"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_at_its_place(text: str, parts: list[str]) -> None:
    """With line and column, what was got, and what to write."""
    with pytest.raises(ScenarioError) as refused:
        table(text)
    said = str(refused.value)
    assert [part for part in parts if part not in said] == [], said


def test_a_line_without_a_value_is_not_measured() -> None:
    """As a plan writes it: it is no row, and its place is known."""
    reader = TableReader()
    found = reader.table(HEADER + "a,device,0,1,us,,\na,device,1,,us,,\n", "t.csv")
    assert len(found.observations) == 1
    assert reader.unmeasured == [Location("t.csv", 3, 12)]


def test_all_mistakes_are_reported_at_once() -> None:
    """A line that is wrong does not hide the next."""
    with pytest.raises(ScenarioError) as refused:
        table(HEADER + "a,device,0,-1,us,,\nb,device,0,1,xx,,\nc,device,0,1\n")
    assert [problem.place.line for problem in refused.value.problems] == [2, 3, 4]


def test_a_file_that_is_no_text(tmp_path) -> None:
    """A spreadsheet's own file, say: refused, with the place of the first byte that is no text."""
    (tmp_path / "t.csv").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(
        ScenarioError, match=r"t\.csv:1:5: got the byte 0xff, wanted UTF-8 text: save it as CSV in UTF-8"
    ):
        read_table(tmp_path / "t.csv")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing else than the documented error is raised."""
    for head in ("", HEADER):
        try:
            table(head + text)
        except ScenarioError:
            continue


NAMES = st.text("ab.-w1", min_size=1, max_size=8)
NOTES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs")), max_size=12).map(str.strip)
ROWS = st.builds(
    Observation,
    NAMES,
    st.sampled_from(["device", "job"]),
    st.integers(0, 99),
    st.integers(1, 10**9).map(lambda value: value / 8),
    st.just("us"),
    st.just("fit"),
    NOTES,
)


@given(st.lists(ROWS, min_size=1, max_size=6, unique_by=lambda row: (row.experiment, row.observable, row.repeat)))
def test_a_written_table_reads_back(rows: list[Observation]) -> None:
    """Every value that a row may have comes through, with commas and quotes in its note."""
    assert table(table_text(Table(tuple(rows)))).observations == tuple(rows)
