"""`tessbed trace`, `profile` and `run --trace`: what they write, what they say, what they refuse."""

import json
from pathlib import Path

import pytest

from tessbed.cli import main
from tests.scenarios.texts import SMALL
from tests.scenarios.timeline.decoded import decode_trace


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
