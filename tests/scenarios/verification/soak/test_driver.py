"""Soaks: balanced under every fault profile, the same account every time, and not blind."""

import json
from pathlib import Path

import pytest

from tessbed.cli import main
from tessbed.runtime import Job, State
from tessbed.runtime.scheduling.device_link import Link
from tessbed.runtime.scheduling.scheduler import Scheduler
from tessbed.runtime.scheduling.submission import Submitter
from tessbed.scenarios.library import load
from tessbed.scenarios.verification.soak import driver, world
from tessbed.scenarios.verification.soak.driver import ALONE_JOBS, run_soak
from tessbed.scenarios.verification.soak.fault_profiles import PROFILES, fault_plan
from tessbed.sim.fault_injection import FAULT_KINDS
from tests.cli.forks import fork


@pytest.mark.parametrize("profile", PROFILES)
def test_every_account_balances(profile: str) -> None:
    """Each job has one final state, nothing leaks, and every output that was reported done is right."""
    report = run_soak(load("soak"), 160, profile, 7)
    reported = report.document()
    assert reported["problems"] == []
    assert reported["jobs"] == sum(reported["endings"].values()) == 160
    good = sum(count for ending, count in reported["endings"].items() if ending.startswith("retired: ok"))
    assert reported["checked_outputs"] == good > 120
    odd = [ending for ending in reported["endings"] if ending not in ("retired: ok", "cancelled: cancelled")]
    assert bool(odd or reported["notices"] or reported["resets"]) == (profile != "none")


def test_the_same_seed_gives_the_same_account() -> None:
    """Two soaks of one seed are equal to the last tick; another seed is another life."""
    first, again, other = (run_soak(load("soak"), 50, "all", seed).document() for seed in (3, 3, 4))
    assert first == again
    assert first["digests"] != other["digests"]


def test_a_large_soak_is_cut_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two worlds in processes of their own give one report, with seeds that two soaks never share."""
    monkeypatch.setattr(driver, "ALONE_JOBS", 10)
    on_progress: list[int] = []
    report = run_soak(load("soak"), 41, "all", 3, progress=on_progress.append)
    assert [part.jobs for part in report.parts] == [21, 20]
    assert (report.ok, on_progress[-1]) == (True, 41)
    assert report.parts[0].digest == driver.World(load("soak"), 21, "all", 6).run(lambda _: None).digest


def test_all_faults_come() -> None:
    """The profile of all faults has every kind of the device's table, at the rates that it names."""
    plan, jobs = fault_plan("all", 1, 0), 40_000
    struck = [fault.kind for number in range(jobs) for fault in plan(number)]
    assert set(struck) == set(FAULT_KINDS) == set(PROFILES["all"])
    for kind, rate in PROFILES["all"].items():
        wanted = rate * jobs // 10_000
        assert abs(struck.count(kind) - wanted) < 5 * wanted**0.5


def test_progress_says_how_many_are_final() -> None:
    """Progress grows and ends at the number of jobs."""
    on_progress: list[int] = []
    run_soak(load("soak"), 300, "none", 1, progress=on_progress.append)
    assert on_progress == sorted(on_progress)
    assert on_progress[-1] == 300
    assert len(on_progress) >= 2


def test_a_soak_is_not_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime that lets owners go at submission fails its soak, by the audit's rules."""
    honest = Submitter.submit

    def submit(self: Submitter, *args, **options):
        job = honest(self, *args, **options)
        job.owners.release()
        return job

    monkeypatch.setattr(Submitter, "submit", submit)
    report = run_soak(load("soak"), 60, "none", 1)
    assert not report.ok
    assert {"owners_held"} <= {problem.split(":")[0] for problem in report.problems}


@pytest.mark.parametrize(
    ("jobs", "profile", "words"),
    [(0, "all", "got 0 jobs"), (1, "gremlins", "'gremlins', wanted one of none, completions")],
    ids=["no jobs", "no profile"],
)
def test_senseless_requests_are_refused(jobs: int, profile: str, words: str) -> None:
    """A soak of nothing, or with an unknown profile, is an error that says what is wanted."""
    with pytest.raises(ValueError, match=words):
        run_soak(load("soak"), jobs, profile, 1)
    for count in (1, 2 * ALONE_JOBS):
        with pytest.raises(ValueError, match="nothing to soak"):
            run_soak(load("soak", ["jobs.*.backend=a65"]), count, "none", 1)


def test_the_command_prints_an_account(tmp_path: Path) -> None:
    """`tessbed soak --json` gives the document and exit code 0; talk goes to stderr."""
    done = fork("soak", "soak", "--jobs", "40", "--seed", "5", "--json", folder=tmp_path)
    assert (done["code"], done["err"]) == (0, "")
    reported = json.loads(done["out"])
    assert (reported["schema_version"], reported["verdict"], reported["jobs"], reported["seed"]) == (1, "ok", 40, 5)


def test_the_command_refuses_what_has_no_job_for_the_device(tmp_path: Path) -> None:
    """A scenario without an EV74 tensor is a usage error, exit code 2, in one line."""
    done = fork("soak", "soak", "--set", "jobs.*.backend=a65", folder=tmp_path)
    assert done["code"] == 2
    assert "nothing to soak" in done["err"]
    assert "Traceback" not in done["err"]


def test_a_failure_of_ours_is_no_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What fails inside a soak is not attributed to whoever asked for it."""
    monkeypatch.setattr("tessbed.scenarios.verification.soak.cases.expected_output", lambda *_: int("no number"))
    with pytest.raises(SystemExit) as ended:
        main(["soak", "soak", "--jobs", "3"])
    assert ended.value.code == 70
    assert "not a verdict" in capsys.readouterr().err


def test_a_leak_is_a_problem() -> None:
    """A buffer that nobody closes is reported by its name when the soak ends."""
    small = world.World(load("soak"), 10, "none", 1)
    small.runtime.allocate(64, name="left behind")
    problems = small.run(lambda _: None).problems
    assert [problem for problem in problems if problem.startswith("leaked: ") and "left behind" in problem]


@pytest.mark.long
def test_a_hundred_thousand_jobs() -> None:
    """A hundred thousand jobs with all faults balance in two processes, within 5 % of the warm memory."""
    report = run_soak(load("soak"), 100_000, "all", 1)
    assert report.problems == ()
    assert report.document()["jobs"] == 100_000
    assert report.rss_growth_percent <= 5


def test_a_wrong_byte_of_a_late_output_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An output that comes late is compared as every other: a byte that turns between record and look is a problem."""
    honest, turned = Scheduler.confirm, []

    def confirm(self: Scheduler, link: Link, job: Job) -> bool:
        late = job.state is State.TIMED_OUT and job.control.read_record(job.cookie) is not None
        output = next((thing for role, thing in job.owners.held if role == "outputs"), None)
        if late and output is not None and job.control.read_record(job.cookie).completion.status == 0:
            output.storage[job.footprint.writes[0].start - output.address] ^= 1
            turned.append(str(job))
        return honest(self, link, job)

    monkeypatch.setattr(Scheduler, "confirm", confirm)
    monkeypatch.setattr(world, "PATIENCE_TICKS", 600_000)
    reported = run_soak(load("soak"), 160, "completions", 7).document()
    assert turned
    wrong = [problem for problem in reported["problems"] if problem.endswith("was reported done with a wrong byte")]
    assert sorted(wrong) == sorted(f"{job} was reported done with a wrong byte" for job in turned)
