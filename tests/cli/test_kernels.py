"""Kernels at the command line, as users run them: from a folder of their own, with copies of the examples."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ROOT = EXAMPLES.parent
SPY = """
import pathlib
import tessbed

pathlib.Path("imported").write_text("yes")

@tessbed.kernel(inputs={"src": "uint8[n]"}, outputs={"dst": "uint8[n]"}, api=1)
def spy(w, src, dst, *, n=100):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same)

def same(source, target):
    target[...] = source
"""
SCENARIO = """
name = "mine"
[[jobs]]
name = "spy"
kernel = "spy.py:spy"
args = { n = 70 }
buffers = { src = { pattern = "ramp", offset = 3 } }
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, tmp_path)
    (tmp_path / "spy.py").write_text(SPY)
    (tmp_path / "mine.toml").write_text(SCENARIO)


def apart(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, from this folder."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "tessbed", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


SOUND = ["copy.py:copy", "transpose.py:transpose", "planes.py:planes", "reduce.py:reduce", "reduce.py:partials"]


@pytest.mark.parametrize("reference", SOUND)
def test_an_example_runs_from_another_folder(tessbed, reference):
    """Each sound example ends with 0, and its bytes are right by its own reference."""
    said = tessbed("run", reference)
    assert said.code == 0
    assert said.out.splitlines()[-1] == "ok: 1 of 1 results correct, byte for byte"


def test_the_race_is_a_hazard_with_its_line(tessbed):
    """The race ends with 4, names the line of both accesses, and says what would order them."""
    said = tessbed("run", "race.py:race")
    line = next(n for n, text in enumerate(Path("race.py").read_text().splitlines(), 1) if "w.pack(" in text)
    assert said.code == 4
    assert said.out.count(f"race.py:{line}: yield from w.pack(") == 2
    assert "what helps: let each granule" in said.out


@pytest.mark.parametrize("command", ["validate", "show", "list", "show --json", "show --toml"])
def test_reading_a_scenario_imports_nothing(tessbed, command):
    """Whoever only reads a scenario of somebody else does not run its kernels."""
    words = command.split()
    for name in ("mine.toml", "spy.py:spy") if words[0] != "list" else ("",):
        said = tessbed(words[0], *[name] * bool(name), *words[1:])
        assert said.code == 0
    assert not Path("imported").exists()
    assert tessbed("run", "mine.toml").code == 0
    assert Path("imported").exists()


def test_a_kernel_without_a_reference_is_unjudged(tessbed):
    """No verdict on bytes is given where nothing says what they must be."""
    said = tessbed("run", "mine.toml")
    assert (said.code, said.out.splitlines()[-1]) == (0, "ok: 1 unjudged: the kernel has no reference")
    document = json.loads(tessbed("run", "mine.toml", "--json").out)
    assert document["jobs"][0]["results"]["ev74"]["verified"] is None
    assert document["jobs"][0]["args"] == {"n": 70}


WRONG = {
    "argument": (("run", "copy.py:copy", "--arg", "row=3"), "--arg row: got an argument 'row', kernel copy has rows"),
    "value": (("run", "copy.py:copy", "--arg", "rows=x"), '--arg rows: got the text "x", wanted a number'),
    "no value": (("run", "copy.py:copy", "--arg", "rows"), '--arg: got "rows", wanted name=value'),
    "real": (("run", "copy.py:copy", "--arg", "rows=1.5"), "--arg rows: got 1.5, wanted an integer"),
    "no kernel": (("run", "soak", "--arg", "rows=1"), "--arg rows: no job runs a kernel"),
    "name": (("run", "copy.py:copi"), "did you mean copy"),
    "no name": (("run", "copy.py"), "wanted the name of a kernel in it, as in copy.py:copy"),
    "file": (("run", "none.py:copy"), "none.py does not exist"),
    "in a file": (("run", "mine.toml", "--set", "jobs.0.args.m=1"), "got an argument 'm', kernel spy has n"),
    "port": (("run", "mine.toml", "--set", "jobs.0.buffers.sorc.offset=1"), "it has src, dst"),
    "key": (("validate", "mine.toml", "--set", "jobs.0.dtype=int8"), "unknown key"),
    "pattern": (("validate", "mine.toml", "--set", "jobs.0.buffers.src.pattern=gold"), "did you mean golden"),
    "workers": (("validate", "mine.toml", "--set", "jobs.0.workers=9"), "got 9, wanted at most 4"),
    "hash": (("run", "mine.toml", "--set", f"jobs.0.kernel_sha256={'0' * 64}"), "it has changed"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_named_in_the_words_of_its_author(tessbed, case):
    """Errors end with 2 and name what was written."""
    arguments, text = WRONG[case]
    said = tessbed(*arguments)
    assert said.code == 2
    assert text in said.err


MIXED = """
name = "mixed"
[[jobs]]
name = "race"
kernel = "race.py:race"
expect = { fault = "kernel_hazard" }
[[jobs]]
name = "dma"
kernel = "copy.py:copy"
faults = [{ kind = "dma_error", worker = 1, transfer = 2 }]
expect = { fault = "dma_error" }
[[jobs]]
name = "after"
kernel = "planes.py:planes"
args = { rows = 9 }
[[jobs]]
name = "tiles"
op = "tess"
dtype = "int8"
shape = [8, 8, 16]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 4, 8, 16] }
input = { pattern = "golden" }
"""


def test_a_job_that_fails_leaves_the_device_to_the_next(tessbed):
    """A hazard and a fault of kernels end their jobs as expected; kernels and operations after them are right."""
    Path("mixed.toml").write_text(MIXED)
    said = tessbed("run", "mixed.toml")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "ok: 5 of 5 results correct, byte for byte"
    assert "kernel_hazard, as expected" in said.out
    assert "dma_error, as expected" in said.out
    assert "gather 2 of src bytes" in said.out


def test_an_error_in_a_file_has_its_place(tessbed):
    """What only the kernel knows is reported at the key that says it."""
    Path("mine.toml").write_text(SCENARIO.replace("n = 70", "m = 70"))
    assert tessbed("run", "mine.toml").err.startswith("mine.toml:6:14: jobs[0].args.m: got an argument 'm'")


def test_a_run_folder_runs_again_and_refuses_another_source(tessbed):
    """A run folder keeps the kernel; its scenario gives the same folder, and refuses a kernel that was changed."""
    assert tessbed("run", "mine.toml", "-o", "one").code == 0
    assert tessbed("run", "one/scenario.toml", "-o", "two").code == 0
    names = sorted(path.relative_to("one") for path in Path("one").rglob("*") if path.is_file())
    assert [name for name in names if name.name == "spy.py"]
    assert [
        n for n in names if n.name != "run.json" and Path("one", n).read_bytes() != Path("two", n).read_bytes()
    ] == []
    for line in Path("one/scenario.sha256").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256(Path("one", name).read_bytes()).hexdigest() == digest
    [kept] = Path("one").rglob("spy.py")
    kept.write_text(SPY + "\n")
    said = tessbed("run", "one/scenario.toml")
    assert said.code == 2
    assert "it has changed" in said.err


def ticks(text: str) -> Any:
    """The device ticks of every row of a sweep."""
    return [row["device_ticks"] for row in json.loads(text)["rows"]]


@pytest.mark.parametrize("engine", ["exact", "simpy"])
def test_a_sweep_runs_in_other_processes_and_follows_the_source(engine):
    """Other processes load the kernel themselves; a kernel that was changed is timed again."""
    sweep = ("sweep", "spy.py:spy", "--vary", "device.workers=1,2", "--vary", "jobs.0.args.n=9000,40000", "-j", "2")
    options = ("--engine", engine, "--db", "kept", "--json", "-q")
    first = apart(*sweep, *options)
    assert first.returncode == 0, first.stderr
    assert ticks(apart(*sweep, *options, "--executor", "here").stdout) == ticks(first.stdout)
    Path("spy.py").write_text(SPY.replace("same)", "same, ticks=100_000)"))
    second = ticks(apart(*sweep, *options).stdout)
    assert all(after > before + 90_000 for before, after in zip(ticks(first.stdout), second, strict=True))


def test_a_body_has_one_digest_in_every_process():
    """Two runs of a body, in processes of their own, count and write the same to the last tick and byte."""
    runs = [apart("run", "reduce.py:reduce", "--json").stdout for _ in range(2)]
    assert runs[0] == runs[1]
    assert json.loads(runs[0])["jobs"][0]["results"]["ev74"]["timing"]["digests"]


def test_packets_are_encoded_verified_and_listed(tessbed):
    """A kernel's packet is written, is valid, and is listed field by field, as text and as JSON."""
    assert tessbed("encode", "copy.py:copy", "--arg", "rows=3", "-o", "packets").code == 0
    assert tessbed("verify", "packets/00-copy.bin", "copy.py:copy").out.count("valid, unbound") == 2
    assert "argument0_value" in tessbed("disasm", "packets/00-copy.bin").out
    [listed] = json.loads(tessbed("disasm", "packets/00-copy.bin", "--json").out)
    assert (listed["fault"], listed["fields"]["argument0_value"]) == (None, 3)
    raw = bytearray(Path("packets/00-copy.bin").read_bytes())
    raw[18] = 9
    Path("wrong.bin").write_bytes(bytes(raw))
    said = tessbed("verify", "wrong.bin")
    assert (said.code, "refused: crc32" in said.out) == (1, True)


STUDIES = {
    "explain": "copy.py",
    "bound": "memory port",
    "whatif": "device.dma",
    "advise": "knee",
    "explore": "right in all",
    "profile": "copy",
}


@pytest.mark.parametrize("command", STUDIES)
def test_studies_take_kernels(tessbed, command):
    """A kernel stands where a scenario does."""
    more = {"advise": ("--max-workers", "2"), "explore": ("--orders", "5"), "profile": ()}.get(command, ())
    said = tessbed(command, "copy.py:copy", "--arg", "rows=64", *more)
    assert said.code == 0
    assert STUDIES[command] in said.out


@pytest.mark.parametrize("command", ["explain", "bound"])
def test_studies_of_bands_say_why_not_of_a_body(tessbed, command):
    """What needs bands names the job and the level."""
    said = tessbed(command, "reduce.py:reduce")
    assert said.code == 2
    assert "job reduce runs a kernel at level body" in said.err
