"""`tessbed trace`, `profile` and `run --trace`: what they write, what they say, what they refuse."""

import json
from pathlib import Path

import pytest

from tessbed.cli import main
from tessbed.scenarios.shipped import failure_cases
from tessbed.scenarios.verification.explore import token
from tessbed.scenarios.verification.explore.exploration import explore
from tessbed.scenarios.verification.explore.shrink import shrink
from tests.firmware_models.mutants import MUTANTS
from tests.scenarios.texts import SMALL
from tests.scenarios.timeline.decoded import decode_trace
from tests.scenarios.verification.explore.test_exploration import case_of


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """A small scenario in the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def said(capsys, *arguments) -> tuple[object, str, str]:
    """Exit code, stdout, stderr."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return ended.value.code, *capsys.readouterr()


def test_a_trace_has_the_name_of_its_scenario(small, capsys) -> None:
    """Without -o the file is beside the caller, and stderr says how to open it; stdout has the verdict."""
    code, out, err = said(capsys, "trace", "small.toml")
    assert code == 0
    assert out.rstrip().splitlines()[-1].startswith("ok:")
    assert "wrote small.pftrace" in err
    assert "ui.perfetto.dev" in err
    assert decode_trace(Path("small.pftrace")).arrows


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["--vcd"], ["small.vcd", "small.gtkw", "small.sucl"]),
        (["--jsonl"], ["small.jsonl"]),
        (["-o", "x.perfetto-trace"], ["x.perfetto-trace"]),
        (["-o", "x.JSONL"], ["x.JSONL"]),
        (["--vcd", "-o", "waves"], ["waves", "waves.gtkw", "waves.sucl"]),
    ],
)
def test_the_format_is_the_options_or_the_suffixs(small, capsys, arguments, files) -> None:
    """A format that is asked for goes to any name; else the suffix says it."""
    code, _, err = said(capsys, "trace", "small.toml", *arguments)
    assert code == 0
    assert [path.name for path in sorted(Path().iterdir()) if path.name != "small.toml"] == sorted(files)
    assert all(name in err for name in files)


REFUSED = {
    "an unknown suffix": (["trace", "small.toml", "-o", "x.txt"], 'got x.txt, wanted a name that ends in .pftrace'),
    "of run, too": (["run", "small.toml", "--trace", "x.txt"], "--trace: got x.txt, wanted"),
    "a folder": (["trace", "small.toml", "-o", "."], "is a directory"),
    "a folder that is not there": (["trace", "small.toml", "-o", "no/x.pftrace"], "no such folder"),
    "a save file that is a link": (["trace", "small.toml", "--vcd", "-o", "link.vcd"], "symbolic link"),
    "an engine without events": (["run", "small.toml", "--engine", "exact", "--trace", "x.vcd"], "no events to show"),
    "nothing on the device": (["trace", "small.toml", "--set", "jobs.*.backend=a65"], "there is nothing to trace"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "text"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_written_is_refused_before_the_run(small, capsys, arguments, text) -> None:
    """Exit code 2, the reason on stderr, and no file."""
    Path("link.gtkw").symlink_to("small.toml")
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert sorted(path.name for path in Path().iterdir()) == ["link.gtkw", "small.toml"]


def test_a_run_writes_its_timeline_beside_its_folder(small, capsys) -> None:
    """`run -o DIR --trace FILE` writes both; the folder is the one without the timeline."""
    assert said(capsys, "run", "small.toml", "-o", "one", "--trace", "t.pftrace")[0] == 0
    assert said(capsys, "run", "small.toml", "-o", "two")[0] == 0
    for path in sorted(Path("two").rglob("*")):
        if path.is_file() and path.name != "run.json":
            assert (Path("one") / path.relative_to("two")).read_bytes() == path.read_bytes()
    assert decode_trace(Path("t.pftrace")).slices


def test_a_timeline_is_the_same_every_time(small, capsys) -> None:
    """The same scenario gives the same bytes, in every format."""
    for form in ("pftrace", "vcd", "jsonl"):
        for name in ("a", "b"):
            assert said(capsys, "run", "small.toml", "--trace", f"{name}.{form}")[0] == 0
        assert Path(f"a.{form}").read_bytes() == Path(f"b.{form}").read_bytes()
    assert Path("a.gtkw").read_bytes() == Path("b.gtkw").read_bytes()


def test_a_trace_of_a_failure_has_its_exit_code(small, capsys) -> None:
    """The timeline of a run that hangs is written, and the exit code is that of the run."""
    code, _, _ = said(capsys, "trace", "fault-stalled-channel", "--set", "jobs.0.expect={}", "-o", "h.pftrace")
    assert code == 3
    assert [one.name for one in decode_trace(Path("h.pftrace")).on("faults, hazards and races")] == [
        "fault stall",
        "hang",
    ]


def test_a_profile_is_text_or_a_document(small, capsys) -> None:
    """Both have every core."""
    code, out, _ = said(capsys, "profile", "small.toml")
    assert code == 0
    assert "the longest waits" in out
    code, out, _ = said(capsys, "profile", "small.toml", "--json", "--top", "2")
    document = json.loads(out)
    assert (document["kind"], document["schema_version"], len(document["top_bands"])) == ("profile", 1, 2)
    assert "core 0" in document["cores"]


def test_a_replayed_order_has_a_timeline(small, capsys) -> None:
    """Each action is a slice of one nanosecond; the findings and the wrong byte are marks; what wrote it is named."""
    mutant = next(mutant for mutant in MUTANTS if mutant.kind == "granule_race" and mutant.corrupts)
    case = case_of(mutant.geometry, **mutant.changes)
    with mutant.applied():
        smallest = shrink(explore(case, 100, 7), 7)
        assert smallest.failure is not None
        text = token.encode_token(smallest.case, smallest.failure.order)
        assert text is not None
        code, out, err = said(capsys, "explore", "--replay", text, "--trace", "order.pftrace")
    assert code == 4
    assert "wrote order.pftrace" in err
    shown = decode_trace(Path("order.pftrace"))
    actions = [one for one in shown.slices if one.ticks == 1]
    assert sorted(one.begin for one in actions) == [*range(len(smallest.failure.order))]
    assert {one.name for one in actions} >= {"go on", "sample", "deliver", "read"}
    marks = shown.on("faults, hazards and races")
    assert marks[-1].name == "wrong byte"
    assert marks[-1].args["text"] in out
    assert any("granule_race" in one.args["text"] for one in marks if one.name == "finding")
    writers = {one.args["text"] for one in marks if one.name == "write"}
    assert len(writers) > 1
    assert all(before.end <= after.begin for before, after in shown.arrows)


@pytest.mark.parametrize("name", sorted(failure_cases()))
def test_a_failure_case_has_a_timeline(name, small, capsys) -> None:
    """Its steps are marks of the host, in their order, and its jobs go through their states."""
    plain = said(capsys, "drill", name)
    code, out, _ = said(capsys, "drill", name, "--trace", "case.pftrace")
    assert (code, out) == plain[:2]
    shown = decode_trace(Path("case.pftrace"))
    steps = shown.on("steps")
    assert len(steps) == sum(line[:2].strip().isdigit() and line[2:4] == "  " for line in out.splitlines())
    submitted = [one for one in shown.on("host") if one.name == "submit"]
    assert len(shown.tracks("jobs")) == len(submitted)


@pytest.mark.parametrize("arguments", [["explore", "chroma"], ["drill"]])
def test_a_timeline_needs_one_run_to_show(small, capsys, arguments) -> None:
    """Many orders, or a list, have no timeline."""
    code, out, err = said(capsys, *arguments, "--trace", "x.pftrace")
    assert (code, out) == (2, "")
    assert "--trace: shows one" in err
    assert not Path("x.pftrace").exists()
