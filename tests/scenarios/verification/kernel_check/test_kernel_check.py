"""Every seeded bug is found at its lines, and a right kernel is accused of nothing."""

from functools import cache
from typing import Any

import pytest

import tessbed
from tessbed.scenarios.verification.kernel_check.kernel_check import KernelCheck, check_kernel
from tessbed.scenarios.verification.kernel_check.report import document, lines, verdict_line
from tests.scenarios.verification.kernel_check import seeded

HAZARDS = [
    ("no_wait_for_gather", "gather_not_retired", ["gather: asked for", "gather: used"]),
    ("no_wait_for_slot", "slot_in_flight", ["slot: drained", "slot: packed"]),
    ("no_wait_for_drain", "completion", ["drain: never waited for"]),
    ("two_in_a_granule", "granule_race", ["granule", "granule"]),
    ("packed_twice", "packed_twice", ["twice: first", "twice: second"]),
    ("scratch_overrun", "misuse", ["overrun"]),
    ("oversized_group", "misuse", ["group"]),
    ("oversized_rows", "wait_group", ["five rows"]),
    ("late_bound", "late_binding", ["late"]),
    ("forgotten", "not_awaited", ["forgotten"]),
    ("shared_state", "shared_state", ["shared"]),
]


@cache
def checked(name: str) -> KernelCheck:
    """The check of a seeded kernel, made once."""
    return check_kernel(getattr(seeded, name))


def places(trouble: dict[str, Any]) -> list[int]:
    """The lines of a trouble."""
    return [line["line"] for line in trouble["lines"]]


@pytest.mark.parametrize(("name", "kind", "marks"), HAZARDS, ids=[row[0] for row in HAZARDS])
def test_a_hazard_is_found_at_its_lines(name: str, kind: str, marks: list[str]) -> None:
    """One hazard, with the lines of both accesses and their source; the verdict says so first."""
    found = checked(name)
    (trouble,) = [one for one in document(found)["troubles"] if one["kind"] == "hazard"]
    assert trouble["name"] == kind
    assert places(trouble) == [seeded.line_of(mark) for mark in marks]
    assert found.verdict == "hazard"
    text = "\n".join(lines(found))
    for mark in marks:
        assert f"seeded.py:{seeded.line_of(mark)}: " in text
        assert f"# {mark}\n" in text
    assert f"HAZARD: {kind}" in verdict_line(found)


def test_a_late_bound_closure_shows_with_one_movement_alone() -> None:
    """The bytes depend on the time of the computation, and so does what is found."""
    found = checked("late_bound")
    moved = {case.spec.data_movement for case, fine in found.cases if not fine}
    assert moved == {"at_completion"}


@pytest.mark.parametrize(
    ("name", "mark", "index"), [("wrong_stride", "stride", "1984"), ("wrong_tail", "tail", "2047")]
)
def test_wrong_bytes_have_their_place(name: str, mark: str, index: str) -> None:
    """The index in the port, the band that drained it or the one nearest to it, its worker and its line."""
    found = checked(name)
    (trouble,) = document(found)["troubles"]
    assert (trouble["kind"], places(trouble)) == ("wrong", [seeded.line_of(mark)])
    assert f"dst[{index}] is " in trouble["text"]
    assert "band " in trouble["text"]
    assert "of worker " in trouble["text"]
    assert found.verdict == "wrong"


@pytest.mark.parametrize(
    ("name", "kind", "mark"), [("raises", "exception", "raises"), ("without_end", "endless_loop", "without end")]
)
def test_a_fault_has_its_line(name: str, kind: str, mark: str) -> None:
    """An exception of the kernel's own, and a loop without an end."""
    found = checked(name)
    (trouble,) = document(found)["troubles"]
    assert (trouble["kind"], trouble["name"], places(trouble)) == ("fault", kind, [seeded.line_of(mark)])
    assert found.verdict == "fault"


def test_a_right_kernel_is_accused_of_nothing() -> None:
    """No trouble, no needless wait, every wait tried, orders explored exhaustively too."""
    found = checked("right")
    assert found.verdict == "ok"
    assert found.troubles == ()
    assert found.waits is not None
    assert (len(found.waits.needed), found.waits.needless, found.waits.unexercised) == (2, (), ())
    assert found.orders is not None
    assert found.orders.complete > 0
    assert verdict_line(found).startswith("ok: every byte right")
    assert len(found.cases) > 100


def test_one_needless_wait_is_all_that_is_said() -> None:
    """The wait that nothing needs, with the ticks that it costs: those of the same kernel without it."""
    found, without = checked("one_needless_wait"), checked("right")
    assert found.verdict == "ok"
    assert found.waits is not None
    (wait,) = found.waits.needless
    assert wait.line.line == seeded.line_of("needless")
    assert found.asked.ticks is not None
    assert without.asked.ticks is not None
    assert wait.ticks == found.asked.ticks - without.asked.ticks > 0
    assert found.waits.unexercised == ()
    text = "\n".join(lines(found))
    assert f"needless wait: nothing objects without it; it costs {wait.ticks:,} of {found.asked.ticks:,} ticks" in text


def test_a_wait_without_work_is_not_exercised() -> None:
    """It is neither needed nor needless: nothing has tried it."""
    found = checked("never_exercised")
    assert found.waits is not None
    assert found.waits.needless == ()
    assert [line.line for line, _ in found.waits.unexercised] == [seeded.line_of("never exercised")]


def test_without_a_reference_nothing_is_judged() -> None:
    """The verdict is neither right nor wrong."""
    found = checked("unjudged")
    assert found.ok
    assert verdict_line(found).startswith("unjudged: ")
    assert document(found)["verdict"] == "unjudged"


def test_what_is_left_over_shows_in_the_second_run() -> None:
    """A kernel that counts its runs takes other ticks in the next."""
    found = checked("left_over")
    assert not found.repeats
    (trouble,) = document(found)["troubles"]
    assert trouble["name"] == "not_repeatable"
    assert "something is left over from the run before" in trouble["text"]
    assert found.verdict == "wrong"


def test_declared_alignment_is_kept() -> None:
    """Ports that stand at multiples of 64 bytes are not checked anywhere else."""
    found = checked("aligned")
    assert found.ok
    assert {case.phase for case, _ in found.cases} == {0, 64}
    assert {case.spec.write_granule_bytes for case, _ in found.cases if case.phase} == {128}


def test_two_checks_are_equal() -> None:
    """The same table and the same document, line by line."""
    assert lines(check_kernel(seeded.two_in_a_granule)) == lines(checked("two_in_a_granule"))


def test_from_python() -> None:
    """`tessbed.check` raises with the table, or returns the verdict; arguments are the kernel's."""
    with pytest.raises(
        tessbed.KernelCheckError, match=r"(?s)granule_race.*seeded.py:\d+.*HAZARD: granule_race"
    ) as failed:
        tessbed.check(seeded.two_in_a_granule, n=3000)
    assert failed.value.report.verdict == "hazard"
    assert failed.value.report.document["arguments"] == {"n": 3000}
    verdict = tessbed.check(seeded.raises, raises=False, device={"workers": 2})
    assert (verdict.verdict, verdict.ok) == ("fault", False)
    assert tessbed.check(seeded.right, n=64).ok
    with pytest.raises(tessbed.ContractError, match="got 3, wanted a kernel, or a reference"):
        tessbed.check(3)
    with pytest.raises(tessbed.ContractError, match=r"got an argument .m., kernel right has n"):
        tessbed.check(seeded.right, m=64)
