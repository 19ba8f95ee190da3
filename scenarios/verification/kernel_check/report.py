"""Report: a kernel check as one table, then every finding with its source lines; and as a document."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tessbed.scenarios.custom.reference import arguments_text
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import KEY, basis_document, basis_lines
from tessbed.scenarios.provenance.tick_basis import TickBasis
from tessbed.scenarios.verification.kernel_check.bench import CheckCase
from tessbed.scenarios.verification.kernel_check.kernel_check import KernelCheck, KernelTrouble
from tessbed.scenarios.verification.kernel_check.shared_state import SharedState
from tessbed.scenarios.verification.kernel_check.wrong_bytes import WrongBytes
from tessbed.sim.finding import Finding
from tessbed.sim.kernel_report import KernelError, error_lines, finding_lines
from tessbed.sim.source_line import SourceLine, snippet

SCHEMA_VERSION = 1
ENDINGS = {
    "impossible": "can not be: {}",
    "hazard": "HAZARD: {}",
    "fault": "FAULT: {}",
    "wrong": "WRONG: {}",
}
BEYOND = {
    "descriptor fields": ("does not fit",),
    "wait groups": ("wait group", "of an oversized pitch together"),
    "scratch": ("scratch", "the area has", "overlaps itself"),
}
"""Words of what the hardware can not do, by the limit that they are about."""
Value = Callable[[CheckCase], Any]


def lines(found: KernelCheck, basis: TickBasis | None = None) -> list[str]:
    """The table, what is wrong with its source lines, the waits, and the verdict as the last line.

    Of a device that was calibrated, `basis` says so.
    """
    kernel, plan = found.kernel, found.plan
    given = arguments_text(plan.arguments)
    ports = ", ".join(f"{port.name} {port.scalar}{list(port.shape)}" for port in plan.ports)
    head = [f"{kernel.name} ({kernel.level}){f': {given}' if given else ''}", f"  {ports}", ""]
    table = aligned(("check", "tried", "result"), list(_rows(found)))
    remarks = [line for trouble in found.troubles for line in ["", *_trouble_lines(trouble, len(found.cases))]]
    rests_on = basis_lines(_basis(basis))
    return [*head, *table, *remarks, *_wait_lines(found), "", *rests_on, verdict_line(found)]


def verdict_line(found: KernelCheck) -> str:
    """The verdict in one line."""
    if found.verdict != "ok":
        kinds = dict.fromkeys(_name(trouble) for trouble in found.troubles)
        return ENDINGS[found.verdict].format(", ".join(kinds))
    cases = f"{len(found.cases):,} cases, {found.orders.orders if found.orders else 0:,} orders"
    if not found.judged:
        return f"unjudged: nothing unordered in {cases}; no reference says what the bytes must be"
    return f"ok: every byte right, nothing unordered, in {cases}"


def _rows(found: KernelCheck) -> Iterator[tuple[str, str, str]]:
    cases = found.cases
    for name, most in found.limits.rows():
        beyond = any(words in text for text in _misuses(found) for words in BEYOND[name])
        yield name, most, "not ok" if beyond else "ok"
    yield _axis("sizes", cases, lambda case: case.size)
    yield _axis("granules", cases, lambda case: case.spec.write_granule_bytes)
    yield _axis("workers", cases, lambda case: case.workers)
    yield _axis("slots", cases, lambda case: case.spec.slots)
    yield _axis("data movement", cases, lambda case: case.spec.data_movement)
    yield _axis("addresses", cases, lambda case: "odd" if case.phase else "at a granule")
    if found.orders:
        tried = found.orders
        bad = f"wrong in {len(tried.troubled)} cases" if tried.troubled else "ok"
        yield "orders", f"{tried.orders:,} in {tried.cases} cases, every one of {tried.complete}", bad
    if found.repeats is not None:
        yield "repeated", "as asked, twice", "ok" if found.repeats else "differs"
    if found.shared is not None:
        yield "shared state", "workers in turns", "differs" if found.shared else "ok"
    yield "bytes", f"{len(cases):,} case{'s' * (len(cases) != 1)}", _bytes(found)
    if found.waits:
        waits = found.waits
        tried = len(waits.needed) + len(waits.needless)
        yield "waits", f"{tried} dropped in turn", f"{len(waits.needed)} needed, {len(waits.needless)} needless"
    if found.asked.ticks is not None:
        yield "ticks", f"as asked, {found.spec.workers} workers", f"{found.asked.ticks:,} device ticks{_cost(found)}"


def _misuses(found: KernelCheck) -> list[str]:
    """What was found about limits of the hardware, in words."""
    findings = [trouble.what for trouble in found.troubles if isinstance(trouble.what, Finding)]
    return [finding.hazard.text for finding in findings if finding.kind in ("misuse", "wait_group")]


def _cost(found: KernelCheck) -> str:
    """What the ticks rest on."""
    bands = found.asked.counts.get("default_cost_bands", 0)
    return f", {bands:,} computations at the default cost" if bands else ""


def _axis(name: str, cases: Sequence[tuple[CheckCase, bool]], value: Value) -> tuple[str, str, str]:
    """What was tried of one axis, and at which values something went wrong."""
    every = dict.fromkeys(value(case) for case, _ in cases)
    values = sorted(every) if all(isinstance(one, int) for one in every) else list(every)
    bad = [one for one in values if any(not fine for case, fine in cases if value(case) == one)]
    result = "ok" if not bad else "not ok" if bad == values else f"not ok at {', '.join(map(str, bad))}"
    return name, ", ".join(map(str, values)), result


def _bytes(found: KernelCheck) -> str:
    if not found.judged:
        return "unjudged: no reference"
    if any(trouble.kind == "wrong" for trouble in found.troubles):
        return "wrong"
    return "right" if found.verdict == "ok" else "right where a case ended"


def _trouble_lines(trouble: KernelTrouble, cases: int) -> list[str]:
    """One thing that is wrong, then the first case that showed it."""
    many = f", and {trouble.cases - 1:,} more of {cases:,} cases" if trouble.cases > 1 else ""
    return [*_what_lines(trouble), f"  seen with {trouble.case}{many}"]


def _what_lines(trouble: KernelTrouble) -> list[str]:
    what = trouble.what
    if isinstance(what, Finding):
        return list(finding_lines(what, trouble.where))
    if isinstance(what, KernelError):
        return list(error_lines([what], trouble.where))
    if isinstance(what, SharedState):
        return [*what.lines(), *_at(what.line)]
    if isinstance(what, WrongBytes):
        return [*what.lines(), *_at(what.line)]
    return [f"{_name(trouble)}: {what}"]


def _at(line: SourceLine | None) -> list[str]:
    return [f"  {line}: {snippet(line)}"] if line else []


def _name(trouble: KernelTrouble) -> str:
    """A trouble in one word or two."""
    what = trouble.what
    if isinstance(what, Finding | KernelError):
        return what.kind
    if isinstance(what, SharedState):
        return "shared_state"
    words = {"impossible": "refused", "fault": "hang", "wrong": "not_repeatable"}
    return "wrong bytes" if isinstance(what, WrongBytes) else words.get(trouble.kind, trouble.kind)


def _wait_lines(found: KernelCheck) -> Iterator[str]:
    waits = found.waits
    if waits is None:
        return
    total = found.asked.ticks or 0
    for wait in waits.needless:
        yield ""
        yield f"needless wait: nothing objects without it; it costs {wait.ticks:,} of {total:,} ticks"
        yield f"  {wait.line}: {snippet(wait.line)}"
    for line, _ in waits.unexercised:
        yield ""
        yield "not exercised: this wait never had anything to wait for"
        yield f"  {line}: {snippet(line)}"


def document(found: KernelCheck, basis: TickBasis | None = None) -> dict[str, Any]:
    """One JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kernel": found.kernel.name,
        "level": found.kernel.level,
        "arguments": dict(found.plan.arguments),
        "verdict": found.verdict if found.judged or not found.ok else "unjudged",
        "cases": len(found.cases),
        "orders": found.orders.orders if found.orders else 0,
        "device_ticks": found.asked.ticks,
        **_basis(basis),
        "checks": [dict(zip(("check", "tried", "result"), row, strict=True)) for row in _rows(found)],
        "troubles": [_trouble_document(trouble) for trouble in found.troubles],
        "needless_waits": [
            {"line": _place(wait.line), "wait": wait.name, "ticks": wait.ticks}
            for wait in (found.waits.needless if found.waits else ())
        ],
        "unexercised_waits": [_place(line) for line, _ in (found.waits.unexercised if found.waits else ())],
    }


def _basis(basis: TickBasis | None) -> dict[str, Any]:
    return {} if basis is None else {KEY: basis_document([basis])}


def _trouble_document(trouble: KernelTrouble) -> dict[str, Any]:
    what = trouble.what
    places = [access.line for access in what.accesses] if isinstance(what, Finding) else [getattr(what, "line", None)]
    return {
        "kind": trouble.kind,
        "name": _name(trouble),
        "lines": [_place(line) for line in places if line],
        "text": "\n".join(_what_lines(trouble)),
        "case": str(trouble.case),
        "cases": trouble.cases,
    }


def _place(line: SourceLine) -> dict[str, Any]:
    return {"file": line.file, "line": line.line}
