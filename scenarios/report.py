"""The report of a run: the JSON document, the table for a person, the exit code."""

from collections.abc import Iterable
from typing import Any

import attrs

from tessbed.kernels.a65.cost.parameters import SCHEDULE
from tessbed.runtime.scheduling.scheduler import NOTICES
from tessbed.scenarios.model import KernelJob
from tessbed.scenarios.outcome import Ahead, JobOutcome, Outcome, ScenarioRun, backend_ahead
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import KEY, basis_document, ticks_lines
from tessbed.scenarios.provenance.tick_basis import tick_basis
from tessbed.sim.spec.device_spec import to_mapping
from tessbed.sim.stats import JobStats, Traffic

SCHEMA_VERSION = 1
BAND = "band of a65: an a55 and an a76; ticks are above it where an in-order A53 waits longer for its loads"
ENGINE_WORDS = {
    "exact": "timing only, by recurrence: on ev74 no data moves, so there is no hash and nothing is verified",
    "verify": "every ev74 job was timed by both engines, and every transfer and statistic compared",
}
AHEAD_WORDS: dict[Ahead, str] = {"a65": "a65 ahead of the ev74 job", "ev74": "behind it", "open": "undecided"}
OK, FAILED, FAULT, HAZARD = 0, 1, 3, 4
EXIT_CODES = {"fault": FAULT, "lost": FAULT, "hang": FAULT, "hazard": HAZARD, "lifetime": HAZARD, "not_run": FAULT}


def exit_code(run: ScenarioRun) -> int:
    """0 as expected, 1 a check failed, 3 the device had trouble, 4 a hazard or lifetime violation; the worst of all."""
    return max(map(_code, run.outcomes))


def _code(outcome: Outcome) -> int:
    unexpected = outcome.trouble is not None and not outcome.as_expected
    return EXIT_CODES[outcome.trouble.kind] if unexpected and outcome.trouble else OK if outcome.ok else FAILED


def document(run: ScenarioRun) -> dict[str, Any]:
    """The JSON document of `tessbed run --json`; docs/scenario.md says what each key means."""
    scenario = run.scenario
    return {
        "schema_version": SCHEMA_VERSION,
        "name": scenario.name,
        "verdict": "ok" if run.ok else "failed",
        "engine": run.engine,
        **({"instead": run.instead} if run.instead else {}),
        "seed": scenario.seed,
        "device": to_mapping(scenario.device),
        KEY: basis_document([tick_basis(scenario)]),
        "notices": run.notices,
        "jobs": [_job(entry) for entry in run.jobs],
    }


def _job(entry: JobOutcome) -> dict[str, Any]:
    job = entry.job
    results = {outcome.backend: _result(outcome) for outcome in entry.outcomes}
    if isinstance(job, KernelJob):
        return {"name": job.name, **_kernel(job), "results": results}
    return {
        "name": job.name,
        "op": job.geometry.op.name,
        "dtype": job.geometry.dtype.value,
        "shape": list(job.geometry.shape),
        "input_bytes": job.plan.input.required_bytes,
        **({"fewer_ticks": backend_ahead(entry)} if len(results) > 1 else {}),
        "results": results,
    }


def _kernel(job: KernelJob) -> dict[str, Any]:
    """What ran in a job of a kernel of one's own."""
    plan = job.planned
    return {
        "kernel": job.reference,
        "kernel_sha256": plan.digest,
        "args": dict(plan.arguments),
        "buffers": {
            port.name: {"dtype": port.scalar, "shape": list(port.shape), "written": port.written} for port in plan.ports
        },
        "input_bytes": sum(port.required_bytes for port in plan.inputs),
    }


def _result(outcome: Outcome) -> dict[str, Any]:
    verified = None if outcome.unjudged else outcome.verified
    judged = {} if outcome.timing_only else {"output_sha256": outcome.output_sha256, "verified": verified}
    result: dict[str, Any] = {
        "output_bytes": outcome.output_bytes,
        **judged,
        "ticks": outcome.run.ticks if outcome.run and not outcome.trouble else None,
    }
    if outcome.expected_sha256 or outcome.expected_fault or outcome.expected_ticks:
        result["as_expected"] = outcome.as_expected
    if outcome.tick_complaints:
        result["unexpected_ticks"] = outcome.tick_complaints
    if outcome.disagreement:
        result["engines_part"] = outcome.disagreement
    if outcome.idle:
        result["idle_faults"] = list(outcome.idle)
    if outcome.mismatch:
        result["mismatch"] = {"offset": outcome.mismatch.offset, "text": str(outcome.mismatch)}
    if outcome.trouble:
        result["trouble"] = attrs.asdict(outcome.trouble)
    if outcome.run and outcome.run.band:
        result |= {"ticks_band": dict(outcome.run.band), "ticks_provenance": SCHEDULE}
    if outcome.run and outcome.run.path:
        path = outcome.run.path
        result["path"] = f"{path.conversion} {path.channels.value} {path.traversal.value}"
    if outcome.run and (done := outcome.run.result):
        counted = {"parts_ticks": done.parts} if outcome.trouble else _device_counts(done.stats, done.parts)
        result |= {"job_ticks": done.job_ticks, **counted}
    return result


def _device_counts(stats: JobStats | None, parts: dict[str, int]) -> dict[str, Any]:
    """What the device counted; all zero where nothing was submitted."""
    reads, writes = (stats.reads, stats.writes) if stats else (Traffic(), Traffic())
    names = ("transfers", "descriptors", "payload_bytes", "port_bytes", "rmw_granules")
    return {
        "workers": stats.workers_launched if stats else 0,
        **{name: {"read": getattr(reads, name), "write": getattr(writes, name)} for name in names},
        "parts_ticks": parts,
        "counts": dict(stats.counts) if stats else {},
        "timing": _timing(stats) if stats else {},
    }


def _timing(stats: JobStats) -> dict[str, Any]:
    """Who was busy and who waited, ticks from the launch; a digest represents the times of all its transfers."""
    return {
        "workers": [attrs.asdict(worker) for worker in stats.workers],
        "pools": [attrs.asdict(pool) for pool in stats.pools],
        "ports": [attrs.asdict(port) for port in stats.ports],
        "digests": [{"worker": w, "kind": kind, **attrs.asdict(d)} for (w, kind), d in stats.digests.items()],
    }


def report_table(run: ScenarioRun) -> list[str]:
    """The verdict and one line for each job and backend."""
    rows = [_row(entry, outcome) for entry in run.jobs for outcome in entry.outcomes]
    header = ("job", "op", "backend", "output bytes", "ticks", "band", "job ticks", "bytes", "sha256")
    lines = [run.scenario.name, "", *_with_band(run, header, rows)]
    lines += ["", *_remarks(run)]
    return [*lines, f"{'ok' if run.ok else 'FAILED'}: {_verdict(run)}"]


def _with_band(run: ScenarioRun, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """The table; the column of the band only where the A65 ran."""
    if any(outcome.backend == "a65" for outcome in run.outcomes):
        return aligned(header, rows, numbers=(3, 4, 5, 6))
    return aligned(*((*header[:5], *header[6:]), [(*row[:5], *row[6:]) for row in rows]), numbers=(3, 4, 5))


def band_text(outcome: Outcome) -> str:
    """The ends of the A65's band, the shorter first; empty for an EV74."""
    band = outcome.run.band if outcome.run and not outcome.trouble else None
    return f"{min(band.values()):,}..{max(band.values()):,}" if band else ""


def _verdict(run: ScenarioRun) -> str:
    judged = [
        _bytes_right(outcome) and not outcome.idle
        for outcome in run.outcomes
        if not outcome.timing_only and not outcome.unjudged
    ]
    timed = sum(outcome.timing_only for outcome in run.outcomes)
    unjudged = sum(outcome.unjudged for outcome in run.outcomes)
    late = sum(bool(outcome.tick_complaints) for outcome in run.outcomes)
    words = [f"{sum(judged)} of {len(judged)} results correct, byte for byte"] if judged else []
    words += [f"{unjudged} unjudged: the kernel has no reference"] if unjudged else []
    words += [f"{timed} timed only, none of their bytes moved"] if timed else []
    return "; ".join([*words, *([f"{late} with other ticks than expected"] if late else [])])


def _row(entry: JobOutcome, outcome: Outcome) -> tuple[str, ...]:
    done = None if outcome.trouble else outcome.run
    return (
        entry.job.name,
        entry.job.what,
        outcome.backend,
        f"{outcome.output_bytes:,}",
        f"{done.ticks:,}" if done else "-",
        band_text(outcome),
        f"{done.result.job_ticks:,}" if done and done.result else "",
        _judgement(outcome),
        (outcome.output_sha256 or "-")[:12],
    )


def _judgement(outcome: Outcome) -> str:
    if outcome.timing_only:
        return "not moved"
    if outcome.trouble:
        return f"{outcome.trouble.status}{', as expected' * outcome.as_expected}"
    if outcome.unjudged and _bytes_right(outcome):
        return "unjudged"
    return "right" if _bytes_right(outcome) else "WRONG" if outcome.mismatch else "unexpected"


def _bytes_right(outcome: Outcome) -> bool:
    """Whether all is as expected but for the ticks, which are no affair of the bytes."""
    return attrs.evolve(outcome, expected_ticks=()).as_expected


def _remarks(run: ScenarioRun) -> list[str]:
    """What the ticks are, and what went wrong, a line each."""
    basis = {KEY: basis_document([tick_basis(run.scenario)])}
    lines = ticks_lines(run.scenario.device.clock_mhz, basis, "the device's on ev74, modelled on a65; ")
    if any(outcome.backend == "a65" for outcome in run.outcomes):
        lines += [f"ticks of a65: {SCHEDULE}", BAND, *ahead_lines(run.jobs)]
    timed = any("ev74" in entry.job.backends for entry in run.jobs)
    lines += [f"engine {run.engine}: {ENGINE_WORDS[run.engine]}"] if timed and run.engine in ENGINE_WORDS else []
    lines += [f"engine simpy: {run.instead}"] if run.instead else []
    for entry in run.jobs:
        for outcome in entry.outcomes:
            texts = [*complaints(outcome), *outcome.idle, *default_costs(outcome)]
            for text in texts:
                first, *more = text.splitlines()
                lines += [f"{entry.job.name} on {outcome.backend}: {first}", *(f"  {line}" for line in more)]
    lines += [f"the runtime noticed {NOTICES[kind]} ({count}x)" for kind, count in run.notices.items()]
    return [*lines, ""]


def ahead_lines(entries: Iterable[JobOutcome]) -> list[str]:
    """A line that says for how many jobs each verdict holds; none where no job ran on both backends."""
    found = [ahead for entry in entries if (ahead := backend_ahead(entry))]
    counted = [f"{AHEAD_WORDS[one]} in {count}" for one in AHEAD_WORDS if (count := found.count(one))]
    if not counted:
        return []
    jobs = f"{len(found)} {'job' if len(found) == 1 else 'jobs'}"
    return [f"over the whole band, of {jobs}: {', '.join(counted)}"]


def default_costs(outcome: Outcome) -> list[str]:
    """That ticks rest on a default cost, where a kernel of one's own gives none."""
    stats = outcome.run.result.stats if outcome.run and outcome.run.result and not outcome.trouble else None
    bands = stats.counts.get("default_cost_bands", 0) if stats else 0
    words = "computation rests" if bands == 1 else "computations rest"
    return [f"the ticks of {bands:,} {words} on a default cost; give ticks=w.cost(...)"] if bands else []


def complaints(outcome: Outcome) -> list[str]:
    """What is wrong with an outcome, in words."""
    if outcome.trouble:
        return [f"{outcome.trouble.kind}: {outcome.trouble.text}"]
    texts = [str(outcome.mismatch)] if outcome.mismatch else []
    texts += [outcome.disagreement] if outcome.disagreement else []
    texts += outcome.tick_complaints
    if outcome.timing_only:
        return texts
    if outcome.expected_fault:
        texts.append(f"all bytes are right, the scenario expects {outcome.expected_fault}")
    elif outcome.expected_sha256 not in (None, outcome.output_sha256):
        texts.append(f"got sha256 {outcome.output_sha256}, the scenario expects {outcome.expected_sha256}")
    return texts
