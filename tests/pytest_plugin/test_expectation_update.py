"""What is written into scenario files: the value at its place, and every other byte as it was."""

import difflib
import tomllib

import pytest

from tessbed.pytest_plugin.expectation_update import JobMeasurement, update_file, updated
from tessbed.pytest_plugin.toml_edit import with_value
from tessbed.scenarios.library import catalogue

MEASURED = {"output_sha256": "ab" * 32, "device_ticks": 7, "job_ticks": 9}
HASH = f'"{"ab" * 32}"'
NEW = f"expect = {{ output_sha256 = {HASH}, device_ticks = 7 }}"


def limits(most: int, least: int) -> str:
    """A job with a limit of each kind."""
    ticks = f"device_ticks = {{ at_most = {most} }}, job_ticks = {{ at_least = {least} }}"
    return f"[[jobs]]\nexpect = {{ output_sha256 = {HASH}, {ticks} }}\n"


CASES = {
    "nothing there": (
        '[[jobs]]\nname = "a"  # first\n\n# end\n',
        f'[[jobs]]\nname = "a"  # first\n{NEW}\n\n# end\n',
    ),
    "before a table of the job": (
        '[[jobs]]\nname = "a"\n[jobs.input]\npattern = "golden"\n',
        f'[[jobs]]\nname = "a"\n{NEW}\n[jobs.input]\npattern = "golden"\n',
    ),
    "in braces": (
        "[[jobs]]\nexpect = {device_ticks=5}# tight\n",
        f"[[jobs]]\nexpect = {{device_ticks=7, output_sha256 = {HASH}}}# tight\n",
    ),
    "empty braces": (
        "[[jobs]]\nexpect = {}\n",
        f"[[jobs]]\n{NEW}\n",
    ),
    "a table of its own": (
        "[[jobs]]\nname = 'a'\n[jobs.expect]\n# ticks\n  device_ticks = 5 # was\n\n[[jobs]]\nname = 'b'\n",
        "[[jobs]]\nname = 'a'\n[jobs.expect]\n# ticks\n  device_ticks = 7 # was\n"
        f"  output_sha256 = {HASH}\n\n[[jobs]]\nname = 'b'\n",
    ),
    "an empty table": (
        "[[jobs]]\n[jobs.expect]\n# nothing\n",
        f"[[jobs]]\n[jobs.expect]\noutput_sha256 = {HASH}\ndevice_ticks = 7\n# nothing\n",
    ),
    "dotted": (
        "[[jobs]]\nexpect.job_ticks = 3\nname = 'a'\n",
        f"[[jobs]]\nexpect.job_ticks = 9\nexpect.device_ticks = 7\nexpect.output_sha256 = {HASH}\nname = 'a'\n",
    ),
    "dotted deeply": (
        '[[jobs]]\n"expect" . device_ticks . at_most = 3\n',
        f'[[jobs]]\n"expect" . device_ticks . at_most = 7\n"expect".output_sha256 = {HASH}\n',
    ),
    "limits that hold": (
        limits(9, 2),
        limits(9, 2),
    ),
    "limits that do not": (
        limits(6, 10),
        limits(7, 9),
    ),
    "windows": (
        '[[jobs]]\r\nname = "a"\r\n',
        f'[[jobs]]\r\nname = "a"\r\n{NEW}\r\n',
    ),
    "no last newline": (
        '[[jobs]]\nname = "a"',
        f'[[jobs]]\nname = "a"\n{NEW}',
    ),
    "letters of two bytes": (
        '\ufeff# größe\n[[jobs]]\nname = "ä" # ö\nexpect = { device_ticks = 5 } # ü\n',
        f'\ufeff# größe\n[[jobs]]\nname = "ä" # ö\nexpect = {{ device_ticks = 7, output_sha256 = {HASH} }} # ü\n',
    ),
    "a list of tables in brackets": (
        'jobs = [\n  { name = "a" },  # one\n]\n',
        f'jobs = [\n  {{ name = "a", {NEW} }},  # one\n]\n',
    ),
    "values over several lines": (
        "[[jobs]]\nshape = [\n  4,\n  6,\n] # done\n[jobs.input]\nx = 1\n",
        f"[[jobs]]\nshape = [\n  4,\n  6,\n] # done\n{NEW}\n[jobs.input]\nx = 1\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES.keys())
def test_texts(before: str, after: str) -> None:
    """Each way in which a file may say `expect` is kept; a second update changes nothing."""
    measured = [JobMeasurement("f", 0, MEASURED)]
    assert updated(before, measured).splitlines() == after.splitlines() or updated(before, measured) == after
    assert sorted(updated(before, measured)) == sorted(after)
    assert updated(after, measured) == after


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_catalogue(name: str) -> None:
    """Every job of every scenario that ships can be written; only lines of `expect` change."""
    text = catalogue()[name].read_text(encoding="utf-8")
    jobs = tomllib.loads(text)["jobs"]
    new = updated(text, [JobMeasurement("f", index, MEASURED) for index in range(len(jobs))])
    wanted = tomllib.loads(text)
    for job in wanted["jobs"]:
        job["expect"] = {**job.get("expect", {}), "output_sha256": "ab" * 32, "device_ticks": 7}
    assert tomllib.loads(new) == wanted
    changed = [line for line in difflib.ndiff(text.splitlines(), new.splitlines()) if line[0] in "+-"]
    assert all("expect" in line or "output_sha256" in line for line in changed)


def test_the_order_of_jobs() -> None:
    """Each job gets its own values."""
    text = '[[jobs]]\nname = "a"\n[[jobs]]\nname = "b"\n'
    new = updated(text, [JobMeasurement("f", 1, {"device_ticks": 2}), JobMeasurement("f", 0, {"device_ticks": 1})])
    assert [job["expect"]["device_ticks"] for job in tomllib.loads(new)["jobs"]] == [1, 2]


def test_no_place() -> None:
    """A path that no table can hold is refused."""
    with pytest.raises(ValueError, match="no place for 3"):
        with_value("a = 1\n", ("jobs", 3), 1)


def test_a_file_that_is_no_text(tmp_path) -> None:
    """What can not be edited is said, and stays."""
    file = tmp_path / "f.toml"
    file.write_bytes(b"\xff[[jobs]]\n")
    assert update_file(file, [JobMeasurement(str(file), 0, MEASURED)]).startswith("not written: ")
    assert file.read_bytes() == b"\xff[[jobs]]\n"
