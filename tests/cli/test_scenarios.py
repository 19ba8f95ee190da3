"""The scenario commands: run, list, show, validate; their words, documents and exit codes."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import HEAD, Tessbed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A sound scenario file."""
    path = tmp_path / "head.toml"
    path.write_text(HEAD)
    return path


EXITS = [
    ((), 0),
    (("--set", "jobs.0.backend=a65"), 0),
    (("--set", "jobs.0.expect.fault=dma_error"), 1),
    (("--set", f"jobs.0.expect.output_sha256={'0' * 64}"), 1),
    (("--set", "jobs.0.op=pack"), 2),
    (("--set", "jobs.0.shape=[4, 6, -1]"), 2),
    (("--set", "firmware.ops=[]"), 2),
    (("--set", "device.memory.window_bytes=4096"), 2),
    (("--set", "jobs.0.shape=[4000000000000, 6, 8]", "--set", "jobs.0.backend=a65"), 2),
    (("--set", "jobs.0.faults=[{ kind = 'dma_error' }]"), 3),
    (("--set", "jobs.0.faults=[{ kind = 'stall' }]"), 3),
    (("--set", "jobs.0.faults=[{ kind = 'lost' }]", "--set", "jobs.0.timeout_ticks=1"), 3),
]


@pytest.mark.parametrize(("arguments", "code"), EXITS, ids=[" ".join(arguments[1::2]) for arguments, _ in EXITS])
@pytest.mark.parametrize("as_json", [False, True], ids=["table", "json"])
def test_exit_codes(tessbed: Tessbed, file: Path, arguments: tuple[str, ...], code: int, as_json: bool) -> None:
    """Each end has its code; --json prints a document at every one: at 2 the diagnostics, without it nothing."""
    said = tessbed("run", file, *arguments, *["--json"] * as_json)
    assert said.code == code
    assert "Traceback" not in said.err
    if code == 2:
        assert said.err
        found = json.loads(said.out)["diagnostics"] if as_json else []
        assert [entry["message"].split(": ")[-1] in said.err for entry in found] == [True] * len(found)
        assert bool(said.out) == as_json == bool(found)
    elif as_json:
        assert json.loads(said.out)["verdict"] == ("ok" if code == 0 else "failed")
    else:
        assert said.out.splitlines()[-1].startswith("ok: " if code == 0 else "FAILED: ")


@pytest.mark.quick
def test_json(tessbed: Tessbed, file: Path) -> None:
    """The document is alone on stdout, and says nothing on stderr."""
    said = tessbed("run", file, "--json", "--seed", 3)
    reported = json.loads(said.out)
    assert (said.code, said.err) == (0, "")
    assert (reported["schema_version"], reported["verdict"], reported["seed"]) == (1, "ok", 3)
    assert reported["jobs"][0]["results"]["ev74"]["output_bytes"] == 384


def test_table(tessbed: Tessbed, file: Path) -> None:
    """Without --json a person gets a line for each result and a verdict."""
    lines = tessbed("run", file).out.splitlines()
    assert lines[0] == "head"
    assert lines[2].split() == [
        "job",
        "op",
        "backend",
        "output",
        "bytes",
        "ticks",
        *("band", "job", "ticks", "bytes", "sha256"),
    ]
    assert [line.split()[:3] for line in lines[3:5]] == [["head", "detess", "a65"], ["head", "detess", "ev74"]]
    assert lines[-1] == "ok: 2 of 2 results correct, byte for byte"


ERRORS = [  # arguments ({file}: a sound file, {folder}: its folder), and what stderr says
    (("run", "{folder}/nothing.toml"), "{folder}/nothing.toml: no such file, and no scenario of that name"),
    (("run", "yolov8n-heads-bf61"), "yolov8n-heads-bf61: no such file, and no scenario of that name; "
     "did you mean yolov8n-heads-bf16?"),
    (("run", "{folder}"), "{folder}: is a folder and no run folder, wanted a file"),
    (("run", "{file}", "--set", "device.workers=0"), "--set device.workers: got 0, wanted an integer from 1 to 64"),
    (("run", "{file}", "--seed", "x"), '--seed: got "x", wanted an integer from 0 to 18446744073709551615'),
    (("run", "{file}", "--bakend", "a65"), 'tessbed run: got the option --bakend, wanted one of `tessbed run --help`'),
    (("run",), 'tessbed run: got no SCENARIO; `tessbed run --help` shows how'),
    (("validate",), "tessbed validate: got no SCENARIO, wanted a path, or a name that `tessbed list` shows"),
    (("rnu", "{file}"), 'tessbed: got the command "rnu", wanted one that `tessbed --help` lists; did you mean run?'),
    (("run", "{file}", "-o", "{file}"), "{file}: File exists"),
    (("run", "{file}", "-o", "{file}/run"), "{file}/run: Not a directory"),
    (("run", "{file}", "-o", "{folder}"), "{folder}: holds head.toml, which is not a file of a run"),
    (("run", "{file}", "-o", "/proc/tessbed"), "/proc/tessbed: No such file or directory"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), ERRORS, ids=[" ".join(arguments) for arguments, _ in ERRORS])
def test_errors(tessbed: Tessbed, file: Path, arguments: tuple[str, ...], words: str) -> None:
    """A user's error ends with exit code 2 and words, without a traceback and without output."""
    places = {"file": file, "folder": file.parent}
    said = tessbed(*(argument.format(**places) for argument in arguments))
    assert (said.code, said.out) == (2, "")
    assert words.format(**places) in said.err
    assert "Traceback" not in said.err


BYTES = [
    (b"name = \xff", "got the byte 0xff, wanted UTF-8 text: is this a scenario file?", ":1:8: "),
    (b"\x00\x01", "TOML syntax: ", ":1:1: "),
    (b"", "name: missing", ":1:1: "),
]


@pytest.mark.parametrize(("content", "words", "place"), BYTES, ids=["latin", "binary", "empty"])
def test_no_scenarios(tessbed: Tessbed, file: Path, content: bytes, words: str, place: str) -> None:
    """A file that is no scenario at all is refused like any other error."""
    file.write_bytes(content)
    said = tessbed("validate", file)
    assert said.code == 2
    assert said.err.startswith(f"{file}{place}{words}")


def test_windows_files(tessbed: Tessbed, file: Path) -> None:
    """A byte order mark and Windows line ends are no errors, and keep places right."""
    file.write_bytes(b"\xef\xbb\xbf" + HEAD.replace("\n", "\r\n").encode())
    assert tessbed("validate", file).code == 0
    file.write_bytes(b"\xef\xbb\xbf" + HEAD.replace("\n", "\r\n").replace('"bf16"', '"bf61"').encode())
    assert tessbed("validate", file).err.startswith(f"{file}:5:9: jobs[0].dtype: ")


def test_validate_many(tessbed: Tessbed, file: Path) -> None:
    """All files are judged, the sound ones named on stdout, the errors of all others reported."""
    wrong = file.with_name("wrong.toml")
    wrong.write_text(HEAD.replace('op = "detess"', 'op = "detes"').replace("[4, 6, 8]", "[4, 6]"))
    said = tessbed("validate", wrong, file, "luma")
    assert said.code == 2
    assert said.out.splitlines() == [f"{file}: ok, 1 job", "luma: ok, 1 job"]
    assert [line.split(":")[0] for line in said.err.splitlines()] == [str(wrong)] * 2
    counted = {"jobs": 1, "external_jobs": 0}
    assert json.loads(tessbed("validate", file, "--json").out) == [{"file": str(file), "name": "head", **counted}]


def test_output_folder(tessbed: Tessbed, file: Path) -> None:
    """-o writes the folder and says so on stderr, unless asked to be quiet."""
    folder = file.parent / "runs" / "one"
    said = tessbed("run", file, "-o", folder)
    assert (said.code, said.err) == (0, f"wrote {folder}\n")
    assert (folder / "stats.json").is_file()
    assert tessbed("run", file, "-o", folder, "-q").err == ""


def test_list(tessbed: Tessbed) -> None:
    """Scenarios, devices and failure cases have a section each with a line for every one, and there is a document."""
    scenarios, devices, failure_cases = (part.splitlines() for part in tessbed("list").out.split("\n\n"))
    named = json.loads(tessbed("list", "--json").out)
    assert [line.split()[0] for line in scenarios] == ["scenario", *(entry["scenario"] for entry in named["scenarios"])]
    assert [line.split()[0] for line in devices] == ["device", *(entry["device"] for entry in named["devices"])]
    assert [line.split()[0] for line in failure_cases] == ["drill", *(entry["drill"] for entry in named["drills"])]
    assert "yolov8n-heads-bf16" in [entry["scenario"] for entry in named["scenarios"]]
    assert "\n".join(failure_cases) + "\n" == tessbed("drill").out


def test_a_failure_case_is_no_scenario(tessbed: Tessbed) -> None:
    """Whoever takes the name of a failure case for a scenario's learns which command runs it."""
    said = tessbed("run", "stale-cache")
    assert said.code == 2
    assert said.err == (
        "stale-cache: no such file, and no scenario of that name; it is a failure case: tessbed drill stale-cache\n"
    )


def test_show(tessbed: Tessbed, file: Path) -> None:
    """A scenario is shown in words, as a complete file that runs the same, as JSON, and as it was written."""
    words = tessbed("show", file, "--set", "device.workers=2").out
    assert "device.workers" not in words
    assert "workers = 2 (preset: 4)" in words
    assert "tiles   4, of 1 class (full and boundary)" in words
    resolved = file.with_name("resolved.toml")
    resolved.write_text(tessbed("show", file, "--toml").out)
    assert tessbed("run", resolved, "--json").out == tessbed("run", file, "--json").out
    assert json.loads(tessbed("show", file, "--json").out)["jobs"][0]["output_prefill"] == 0xC3
    assert tessbed("show", file, "--source").out == HEAD


@pytest.mark.parametrize("command", ["run", "list", "show", "validate"])
def test_help(tessbed: Tessbed, command: str) -> None:
    """Every command explains itself."""
    said = tessbed(command, "--help")
    assert said.code == 0
    assert said.out.startswith(f"Usage: tessbed {command}")
    assert said.out == tessbed(command, "-h").out


def test_sarif(tessbed: Tessbed, file: Path) -> None:
    """The errors of files as a SARIF log: rules, levels, places from 1; a sound file has no results."""
    wrong = file.with_name("wrong file.toml")
    wrong.write_text(HEAD.replace('op = "detess"', 'op = "detes"\nnope = 1'))
    said = tessbed("validate", wrong, file, "--format", "sarif")
    log = json.loads(said.out)
    (run,) = log["runs"]
    assert (said.code, log["version"], run["tool"]["driver"]["name"]) == (2, "2.1.0", "tessbed")
    assert [result["ruleId"] for result in run["results"]] == ["invalid_value", "unknown_key"]
    assert [run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] for result in run["results"]] == [
        result["ruleId"] for result in run["results"]
    ]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("/wrong%20file.toml")
    assert place["region"] == {"startLine": 4, "startColumn": 6}
    sound = tessbed("validate", file, "--format", "sarif")
    assert (sound.code, json.loads(sound.out)["runs"][0]["results"]) == (0, [])


DIAGNOSED = [
    (("run", "{file}", "--set", "jobs.0.op=pack"), "invalid_value", None),
    (("run", "{file}", "--set", "device.nope=1"), "unknown_key", None),
    (("run", "{file}", "--seed", "x"), "usage", None),
    (("explain", "nowhere"), "no_such_file", "nowhere"),
    (("list", "what"), "usage", None),
    (("sweep", "{file}", "--vary", "device.workers.__class__=1"), "invalid_value", None),
    (("sweep", "{file}", "--vary", f"device.workers=1..{'9' * 5000}"), "invalid_value", None),
    (("search", "{file}", "--over", f"device.workers=1..2..{'9' * 5000}"), "invalid_value", None),
    (("run", "{file}", "--set", f"seed=0x{'f' * 6000}"), "invalid_value", None),
    (("run", "{file}", "--set", f"jobs.{'9' * 5000}.op=tess"), "invalid_value", None),
    (("compare", "{file}", "nowhere"), "no_such_file", "nowhere"),
    (("diff", "nowhere", "{file}"), "unreadable", "nowhere"),
    (("drill", "stale-cach"), "no_such_file", "stale-cach"),
    (("verify", "nowhere"), "no_such_file", "nowhere"),
]


@pytest.mark.parametrize(("line", "code", "where"), DIAGNOSED, ids=[" ".join(line)[:50] for line, _, _ in DIAGNOSED])
def test_diagnostics(tessbed: Tessbed, file: Path, line: tuple[str, ...], code: str, where: str | None) -> None:
    """With --json every error is a document: what is no file's begins with its place, and stderr says the same."""
    said = tessbed(*(word.format(file=file) for word in line), "--json")
    document = json.loads(said.out)
    assert (said.code, document["schema_version"]) == (2, 1)
    (found,) = document["diagnostics"]
    assert list(found) == ["file", "line", "column", "code", "message"]
    assert (found["code"], found["file"]) == (code, where)
    assert said.err == (f"{where}: {found['message']}\n" if where else f"{found['message']}\n")


def test_diagnostics_have_lines_and_columns(tessbed: Tessbed, file: Path) -> None:
    """The place of an error in a file is in fields of its own."""
    file.write_text(HEAD.replace("[4, 6, 8]", "[4, 6"))
    (found,) = json.loads(tessbed("run", file, "--json").out)["diagnostics"]
    assert (found["file"], found["line"], found["code"]) == (str(file), 7, "syntax")
    assert found["column"] >= 1


def test_a_field_that_is_not_there_suggests_none_that_is_unlike(tessbed: Tessbed, file: Path) -> None:
    """`device.nope` is not `compute`."""
    assert "did you mean" not in tessbed("run", file, "--set", "device.nope=1").err
    assert "did you mean 'workers'?" in tessbed("run", file, "--set", "device.wrokers=1").err


def test_large_integers_of_a_file(tessbed: Tessbed, file: Path) -> None:
    """TOML has 64 bits: what is larger is an error in its place, whatever it is written in."""
    file.write_text(HEAD.replace("[4, 6, 8]", f"[4, 0x{'f' * 6000}, 8]"))
    assert tessbed("validate", file).err == (
        f"{file}:6:13: got an integer of more than 64 bits, which TOML does not have\n"
    )
