"""The plugin turns scenario files into tests, shows failures as the command line does, and costs nothing unasked."""

import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.conftest import HEAD
from tests.scenarios.texts import COPY

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ("-p", "tessbed.pytest_plugin")
TWO_LINES = '[tool.pytest.ini_options]\ntessbed_scenarios = ["scenarios/*.toml"]\n'
LATE = f"{HEAD}expect = {{ device_ticks = 3 }}  # not what it takes\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a folder of scenarios and the two lines of configuration; no plugin loads by itself."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyprojecttoml(TWO_LINES)
    pytester.mkdir("scenarios").joinpath("head.toml").write_text(HEAD)
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """A session in this process."""
    return project.runpytest_inprocess(*PLUGIN, *arguments)


def test_two_lines_of_configuration(project: pytest.Pytester) -> None:
    """Each job of each file is a test on each backend, at its line of the file."""
    project.path.joinpath("scenarios", "second.toml").write_text(
        HEAD.replace('op = "detess"', 'op = "detess"\nbackend = "ev74"')
    )
    result = run(project, "-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "scenarios/head.toml::head?a65? PASSED*",
            "scenarios/head.toml::head?ev74? PASSED*",
            "scenarios/second.toml::head?ev74? PASSED*",
        ]
    )


@pytest.mark.parametrize("more", [(), ("-p", "xdist")], ids=["alone", "xdist"])
def test_strict_sessions(project: pytest.Pytester, more: tuple[str, ...]) -> None:
    """Neither strict markers nor warnings that are errors object to the items."""
    result = project.runpytest_subprocess(*PLUGIN, *more, "-W", "error", "--strict-markers", "--strict-config")
    result.assert_outcomes(passed=2)


def test_one_item_alone(project: pytest.Pytester) -> None:
    """An item is selected by its node id, or by its name."""
    run(project, "scenarios/head.toml::head[ev74]").assert_outcomes(passed=1)
    run(project, "-k", "a65").assert_outcomes(passed=1, deselected=1)


def test_scenarios_beside_testpaths(project: pytest.Pytester) -> None:
    """`testpaths` that lead elsewhere do not hide the scenarios; arguments of the command line do."""
    project.makepyprojecttoml(TWO_LINES + 'testpaths = ["tests"]\n')
    project.mkdir("tests").joinpath("test_own.py").write_text("def test_own(): pass\n")
    run(project).assert_outcomes(passed=3)
    run(project, "tests").assert_outcomes(passed=1)
    project.makepyprojecttoml(TWO_LINES + 'testpaths = ["tests", "scenarios"]\n')
    run(project).assert_outcomes(passed=3)


def test_an_ini_file_has_patterns_on_one_line(project: pytest.Pytester) -> None:
    """In pytest.ini the setting is a line of patterns with spaces between."""
    project.path.joinpath("pyproject.toml").unlink()
    project.makeini("[pytest]\ntessbed_scenarios = scenarios/*.toml more.toml\n")
    project.path.joinpath("more.toml").write_text(HEAD)
    run(project).assert_outcomes(passed=4)


def test_a_pattern_without_a_file(project: pytest.Pytester) -> None:
    """A pattern that matches nothing is an error, and not a session without tests."""
    project.makepyprojecttoml(TWO_LINES.replace("scenarios/*", "scenaros/*"))
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*tessbed_scenarios: got 'scenaros/*.toml', which matches no file in *"])


def test_a_pattern_that_matches_its_own_configuration(project: pytest.Pytester) -> None:
    """Scenarios beside pyproject.toml: `*.toml` means them, and not the file that says so."""
    project.makepyprojecttoml(TWO_LINES.replace("scenarios/*", "*"))
    assert run(project).ret == pytest.ExitCode.USAGE_ERROR
    project.path.joinpath("beside.toml").write_text(HEAD)
    run(project).assert_outcomes(passed=2)


def test_the_option_collects_what_looks_like_a_scenario(project: pytest.Pytester) -> None:
    """--tessbed takes each .toml that has jobs, and any file that is named itself."""
    project.makepyprojecttoml("[tool.pytest.ini_options]\n")
    project.path.joinpath("other.toml").write_text("[tool]\nname = 'x'\n")
    run(project, "--tessbed").assert_outcomes(passed=2)
    run(project).assert_outcomes()
    run(project, "--tessbed", "other.toml").assert_outcomes(errors=1)


def test_a_failure_is_shown_as_the_command_shows_it(project: pytest.Pytester) -> None:
    """The complaint, the table of this outcome, the verdict, and how to run it; no traceback."""
    project.path.joinpath("scenarios", "head.toml").write_text(LATE)
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ scenarios/head.toml: head?ev74? _*",
            "got 1,515 device_ticks, the scenario expects 3",
            "head  detess  ev74              384  1,515    158,515  right  5fba73efa77e",
            "head on ev74: got 1,515 device_ticks, the scenario expects 3",
            "FAILED: 1 of 1 results correct, byte for byte; 1 with other ticks than expected",
            "the whole scenario: tessbed run scenarios/head.toml",
            "FAILED scenarios/head.toml::head?ev74? - got 1,515 device_ticks*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_wrong_hash_fails_both_backends(project: pytest.Pytester) -> None:
    """A hash is that of the output, whoever writes it."""
    file = project.path.joinpath("scenarios", "head.toml")
    file.write_text(f'{HEAD}expect = {{ output_sha256 = "{"0" * 64}" }}\n')
    run(project).assert_outcomes(failed=2)


def test_an_expected_fault(project: pytest.Pytester) -> None:
    """A fault that a scenario plans and expects passes; one that it does not expect fails."""
    fault = '[[jobs.faults]]\nkind = "dma_error"\n'
    file = project.path.joinpath("scenarios", "head.toml")
    file.write_text(f'{HEAD}expect = {{ fault = "dma_error" }}\n{fault}')
    run(project).assert_outcomes(passed=2)
    file.write_text(HEAD + fault)
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["fault: job 'head'*the device reports dma_error*"])


def test_errors_of_a_file_are_errors_of_the_collection(project: pytest.Pytester) -> None:
    """Every error of an invalid file is shown at its line and column, and the other files run."""
    project.path.joinpath("scenarios", "wrong.toml").write_text(HEAD.replace('op = "detess"', 'op = "detes"\nnope = 1'))
    result = run(project, "--continue-on-collection-errors")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        ["scenarios/wrong.toml:4:6: jobs?0?.op: got*did you mean detess?", "scenarios/wrong.toml:5:1: *"]
    )


def test_a_machine_without_room_is_no_bug(project: pytest.Pytester) -> None:
    """What the command line refuses is shown in its words."""
    big = HEAD.replace("shape = [4, 6, 8]", "shape = [2000000, 2000000, 8]").replace(
        'op = "detess"', 'op = "detess"\nbackend = "a65"'
    )
    project.path.joinpath("scenarios", "head.toml").write_text(big)
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*tessbed run scenarios/head.toml: job 'head' needs *bytes, this machine has*"])


def test_kernels_stay_loaded_from_job_to_job(project: pytest.Pytester) -> None:
    """An EV74 job alone has the ticks that it has behind the others of its file."""
    second = HEAD.partition("[[jobs]]")[2].replace('"head"', '"second"')
    expect = "expect = { job_ticks = %d }\n"
    text = f"{HEAD}{expect % 158_515}[[jobs]]{second}{expect % (158_515 - 5_000)}"
    project.path.joinpath("scenarios", "head.toml").write_text(text)
    run(project).assert_outcomes(passed=4)
    run(project, "-k", "second and ev74").assert_outcomes(passed=1, deselected=3)


def test_a_kernel_of_ones_own(project: pytest.Pytester) -> None:
    """A scenario with a kernel is a test like any other; collecting it does not import the kernel."""
    folder = project.path.joinpath("scenarios")
    folder.joinpath("head.toml").write_text('name = "k"\n[[jobs]]\nname = "copy"\nkernel = "copy.py:copy"\n')
    folder.joinpath("copy.py").write_text(COPY)
    run(project, "--tessbed-update").assert_outcomes(passed=1)
    text = folder.joinpath("head.toml").read_text()
    assert re.search(r"^expect = \{ output_sha256 = .*, device_ticks = \d+ \}$", text, re.MULTILINE)
    run(project).assert_outcomes(passed=1)
    folder.joinpath("copy.py").write_text("raise SystemExit('imported')\n")
    result = run(project, "--collect-only", "-q")
    result.stdout.fnmatch_lines(["scenarios/head.toml::copy?ev74?"])
    folder.joinpath("copy.py").write_text("raise ValueError('mine')\n")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*copy.py*mine*"])


def test_junit_xml(project: pytest.Pytester) -> None:
    """JUnit XML is pytest's own; each case has its ticks and its hash as properties."""
    run(project, "--junitxml=junit.xml").assert_outcomes(passed=2)
    cases = ET.parse(project.path / "junit.xml").getroot().iter("testcase")
    found = {case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases}
    assert found["head[ev74]"]["device_ticks"] == "1515"
    assert set(found["head[a65]"]) == {"output_sha256"}
    assert found["head[a65]"]["output_sha256"] == found["head[ev74]"]["output_sha256"]


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "xdist"])
def test_update(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    """--tessbed-update writes hash and ticks, keeps all else, and the next session passes and changes nothing."""
    file = project.path.joinpath("scenarios", "head.toml")
    file.write_text(LATE + "\n# the end\n")
    result = run(project, *workers, "--tessbed-update")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*tessbed: expectations*", "scenarios/head.toml: written"])
    text = file.read_text()
    assert text.startswith(f"{HEAD}expect = {{ device_ticks = 1515, output_sha256 = ")
    assert text.endswith(" }  # not what it takes\n\n# the end\n")
    run(project, *workers).assert_outcomes(passed=2)
    run(project, *workers, "--tessbed-update").stdout.fnmatch_lines(["scenarios/head.toml: as it was"])
    assert file.read_text() == text


def test_update_leaves_wrong_bytes_alone(project: pytest.Pytester) -> None:
    """A job whose bytes are wrong fails, and nothing is written for it."""
    project.makeconftest(
        """
        from tessbed.scenarios import backends

        real = backends.run_a65

        def run_wrongly(plan, source, prefill):
            done = real(plan, source, prefill)
            done.output[7] ^= 1
            return done

        backends.run_a65 = run_wrongly
        """
    )
    file = project.path.joinpath("scenarios", "head.toml")
    file.write_text(HEAD.replace('op = "detess"', 'op = "detess"\nbackend = "a65"'))
    before = file.read_text()
    result = project.runpytest_subprocess(*PLUGIN, "--tessbed-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*byte 7*"])
    assert file.read_text() == before


def test_update_of_a_file_that_is_read_only(project: pytest.Pytester) -> None:
    """A file that can not be written is named with the reason, and stays."""
    file = project.path.joinpath("scenarios", "head.toml")
    file.chmod(0o444)
    result = run(project, "--tessbed-update")
    result.stdout.fnmatch_lines(["scenarios/head.toml: not written: *"])
    assert file.read_text() == HEAD


def test_the_fixture(project: pytest.Pytester) -> None:
    """`ev74` is there without any setting; a marker says of which device."""
    project.makepyprojecttoml("[tool.pytest.ini_options]\naddopts = ['--strict-markers']\n")
    project.makepyfile(
        """
        import numpy as np, pytest, tessbed

        @pytest.mark.ev74("ev74-1core", slots=3)
        def test_marked(ev74):
            assert (ev74.spec.cores, ev74.spec.slots) == (1, 3)

        def test_plain(ev74):
            tiles, job = ev74.tess(np.zeros((4, 4, 3), np.int8), tile=(2, 2, 3))
            assert isinstance(ev74, tessbed.Ev74) and job.verified
        """
    )
    run(project).assert_outcomes(passed=2)


def test_unused_it_loads_nothing(project: pytest.Pytester) -> None:
    """A session without scenarios imports neither numpy nor any module of tessbed but the plugin itself."""
    project.makepyprojecttoml("[tool.pytest.ini_options]\n")
    project.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            watched = ("tessbed", "numpy", "simpy", "attrs", "click")
            ours = {name for name in sys.modules if name.partition(".")[0] in watched}
            assert ours == {"tessbed", "tessbed.pytest_plugin"}
        """
    )
    result = project.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=1)


def test_the_entry_point_names_the_plugin() -> None:
    """The package registers the plugin, and an extra has pytest."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert about["entry-points"]["pytest11"] == {"tessbed": "tessbed.pytest_plugin"}
    assert any(re.match("pytest>=", name) for name in about["optional-dependencies"]["pytest"])
    code = "import tessbed.pytest_plugin as p; assert p.pytest_addoption and p.simulated_ev74"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
