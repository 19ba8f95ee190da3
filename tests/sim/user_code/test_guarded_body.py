"""A user's mistakes are found at their lines, end the job with a status, and leave the device usable."""

import os
import subprocess
import sys
from typing import Any

import pytest

from tessbed.sim.checkers.hazards import HAZARD_KINDS, Checker
from tessbed.sim.completion_record import STATUS
from tessbed.sim.interleavings.untimed_engine import UntimedEngine, UntimedJob
from tessbed.sim.kernel_report import KernelReport
from tessbed.sim.user_code.user_code import UserCode
from tests.sim.rig import OUT, build, copy_body
from tests.sim.user_code import kernels
from tests.sim.user_code.kernels import UserFirmware, line_of_mark

FINDINGS = [
    ("no_wait_for_gather", "gather_not_retired", ["prefetched", "used early"]),
    ("no_wait_for_slot", "slot_in_flight", ["drains the slot", "packed again"]),
    ("no_wait_at_end", "completion", ["never waited for"]),
    ("one_granule", "granule_race", ["40 bytes", "40 bytes"]),
    ("packed_twice", "packed_twice", ["first result", "second result"]),
    ("read_race", "read_race", ["the neighbour's", "its own"]),
    ("read_after_own_write", "read_race", ["drained", "gathered at once"]),
    ("scratch_overrun", "misuse", ["overrun"]),
    ("group_of_nine", "misuse", ["seventeen"]),
    ("oversized_five", "wait_group", ["five rows"]),
    ("late_bound", "late_binding", ["number"]),
    ("forgotten", "not_awaited", ["no yield from"]),
    ("forgotten_at_end", "not_awaited", ["no yield from at the end"]),
    ("no_yield_at_all", "not_awaited", ["no generator"]),
    ("without_from", "not_awaited", ["no from"]),
]
ERRORS = [
    ("foreign", "foreign_event", ["foreign"]),
    ("raises", "exception", ["calls", "divides"]),
    ("raises_in_computation", "exception", ["computation raises"]),
    ("loops_for_ever", "endless_loop", ["round and round"]),
    ("waits_forever", "endless_loop", ["forever"]),
    ("loops_in_computation", "endless_loop", ["inside"]),
    ("unmapped", "fault", ["nowhere"]),
]
SEVERAL = ("one_granule", "read_race", "raises")
"""Bodies whose workers have to be several; of the others one would do what each does."""
MOVEMENTS = ("at_issue", "at_completion", "seeded")


def lines(marks: list[str]) -> list[int]:
    """The lines of comments."""
    return [line_of_mark(mark) for mark in marks]


def near(trace: Any, wanted: list[int]) -> bool:
    """Whether a trace has these lines; a loop is interrupted at any line of its body."""
    got = [line.line for line in trace]
    return got == wanted or (len(got) == len(wanted) == 1 and "loops" in trace[0].function and wanted[0] - 3 < got[0])


def grid(body: Any) -> int:
    """How many workers a body is run on."""
    return 4 if body.__name__ in (*SEVERAL, "safe") else 1


def run(body: Any, changes: Any = None, mode: str = "raise") -> Any:
    """A rig whose device has run a user's body as job 1."""
    code = UserCode("mine", most_steps=2000, loop_seconds=0.5)
    changes = {"workers": grid(body), **(changes or {})}
    rig = build(UserFirmware(body, code), changes, checker=Checker(mode))
    return rig, rig.run()


def untimed(body: Any) -> KernelReport:
    """What the same finds without time, in the first order."""
    rig = build(copy_body, {"workers": 4})
    check = Checker().job(rig, 0, rig.device.spec.write_unit_bytes)
    engine = UntimedEngine(rig.device.spec, rig.device.memory, lambda ready: 0, check)
    job = UntimedJob(b"", grid(body), rig.device.spec, None, engine)  # pyright: ignore[reportArgumentType]
    try:
        list(job.launch(body, user=UserCode("mine", most_steps=2000, loop_seconds=0.5)))
    except Exception:
        check.end(0)
    report = check.report()
    assert report is not None
    return report


@pytest.mark.parametrize("movement", MOVEMENTS)
def test_a_safe_body_is_not_accused(movement: str) -> None:
    """Nothing is found in a copy with every wait it needs, its bytes are right, its ticks as without a guard."""
    rig, stats = run(kernels.safe, {"data_movement": movement})
    assert stats.completion.status == 0
    assert stats.kernel == KernelReport("mine", (), ())
    assert (rig.data[OUT : OUT + 4096] == rig.data[:4096]).all()
    plain = build(kernels.safe_plain, {"workers": 4, "data_movement": movement}).run()
    assert plain.device_ticks == stats.device_ticks


@pytest.mark.parametrize(("name", "kind", "marks"), FINDINGS, ids=[row[0] for row in FINDINGS])
def test_each_bug_is_found_at_its_lines(name: str, kind: str, marks: list[str]) -> None:
    """The kind, the lines of both accesses; the status says so; the next job runs; without time it is the same."""
    body = getattr(kernels, name)
    rig, stats = run(body)
    (finding,) = stats.kernel.findings
    assert finding.kind == kind
    assert kind in HAZARD_KINDS
    assert [access.line.line for access in finding.accesses] == lines(marks)
    assert stats.completion.status == STATUS["kernel_hazard"]
    assert stats.completion.field in lines(marks)
    assert stats.kernel.errors == ()
    assert rig.run(2).completion.status == STATUS["kernel_hazard"]
    (same,) = untimed(body).findings
    assert (same.kind, [access.line and access.line.line for access in same.accesses]) == (kind, lines(marks))


@pytest.mark.parametrize(("name", "kind", "marks"), ERRORS, ids=[row[0] for row in ERRORS])
@pytest.mark.parametrize("mode", ["raise", "off"])
def test_each_error_has_its_lines(name: str, kind: str, marks: list[str], mode: str) -> None:
    """Whatever the body keeps to itself, and whether anything is checked: the job ends, and the device goes on."""
    rig, stats = run(getattr(kernels, name), mode=mode)
    error = stats.kernel.errors[0]
    assert error.kind == kind
    assert near(error.trace, lines(marks))
    assert error.tick >= 0
    status = STATUS["outside_window" if kind == "fault" else "kernel_error"]
    assert stats.completion.status in (status, STATUS["unmapped"] if kind == "fault" else status)
    assert stats.kernel.findings == ()
    rig.device.firmware = UserFirmware(kernels.safe)
    assert rig.run(2).completion.status == 0
    assert (rig.data[OUT : OUT + 1024] == rig.data[:1024]).all()


@pytest.mark.parametrize(("name", "kind", "marks"), ERRORS, ids=[row[0] for row in ERRORS])
def test_errors_are_found_without_time(name: str, kind: str, marks: list[str]) -> None:
    """The untimed engine reports the same error at the same lines."""
    error = untimed(getattr(kernels, name)).errors[0]
    assert (error.kind, error.tick) == (kind, -1)
    assert near(error.trace, lines(marks))


def test_workers_are_folded() -> None:
    """Sixteen workers that race pairwise in granules are one finding."""
    _, stats = run(kernels.one_granule, {"workers": 16, "cores": 16})
    (finding,) = stats.kernel.findings
    assert finding.times > 10
    assert finding.workers == ((*range(7), *range(8, 15)), (*range(1, 8), *range(9, 16)))
    text = "\n".join(stats.kernel.lines())
    assert "workers 0 to 6 and 8 to 14" in text
    assert "workers 1 to 7 and 9 to 15" in text
    assert "yield from w.drain(0, [write(OUT + 40 * w.worker, 0, 40)])" in text


def test_reporting_goes_on() -> None:
    """In mode "report" a finding changes no status, and the checker has it."""
    rig, stats = run(kernels.one_granule, mode="report")
    assert stats.completion.status == 0
    assert {finding.kind for finding in rig.device.checker.findings} == {"granule_race"}


def test_two_runs_are_equal() -> None:
    """A body's statistics and report are the same in two runs."""
    assert run(kernels.safe)[1] == run(kernels.safe)[1]
    assert run(kernels.read_race)[1] == run(kernels.read_race)[1]


PROCESS = """
import hashlib
from tests.sim.user_code.test_guarded_body import run
from tests.sim.user_code import kernels
text = "".join(repr(run(body, {"data_movement": "seeded"})[1]) for body in (kernels.safe, kernels.read_race))
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_two_processes_are_equal() -> None:
    """Statistics and reports do not depend on the process, whatever the seed of its hashes."""
    said = [
        subprocess.run([sys.executable, "-c", PROCESS], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        for seed in ("1", "2")
    ]
    assert said[0].stdout == said[1].stdout != b""


def test_a_forked_process_watches_its_own_loops() -> None:
    """A child has none of its parent's threads, and starts one of its own."""
    run(kernels.safe)
    child = os.fork()
    if child == 0:
        os._exit(run(kernels.loops_for_ever)[1].kernel.errors[0].kind != "endless_loop")
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("name", ["loops_for_ever", "loops_in_computation"])
def test_a_loop_without_an_end_is_waited_for_once(name: str) -> None:
    """Of four workers that never come back the first one's time is spent, and the job ends."""
    rig = build(
        UserFirmware(getattr(kernels, name), UserCode("mine", loop_seconds=0.5)),
        {"workers": 4},
        checker=Checker("raise"),
    )
    stats = rig.run()
    assert stats.completion.status != 0
    assert stats.kernel is not None
    assert [(error.kind, error.worker) for error in stats.kernel.errors] == [("endless_loop", 0)]


def test_a_late_binding_names_what_to_bind() -> None:
    """The remedy has the variable that was captured."""
    report = run(kernels.late_bound, {"data_movement": "at_completion"})[1].kernel
    assert report is not None
    (found,) = [finding.hazard for finding in report.findings if finding.hazard.kind == "late_binding"]
    name = found.text.split("variable ")[1].split(" ")[0]
    assert f"{name}={name}" in found.remedy
