"""Report: the result of exploring a scenario, as a document and as lines for a person."""

from collections.abc import Sequence
from typing import Any

import attrs

from tessbed.kernels import MlaCBlocked
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.verification.explore import token
from tessbed.scenarios.verification.explore.bench import ExplorationCase
from tessbed.scenarios.verification.explore.exploration import Exploration

SCHEMA_VERSION = 1
SHOWN = 3


@attrs.frozen
class ExplorationReport:
    """One job: what its exploration found, and the smallest case that goes wrong in the same way, if it went wrong."""

    name: str
    found: Exploration
    smallest: Exploration | None = None

    @property
    def replay(self) -> str | None:
        """The token of the smallest case's first wrong order; of its plainest where only the checker objects.

        None where nothing went wrong, or where no token is large enough.
        """
        if self.smallest is None:
            return None
        failure = self.smallest.failure
        return token.encode_token(self.smallest.operation_case, failure.order if failure else ())


def ok(jobs: Sequence[ExplorationReport]) -> bool:
    """Nothing went wrong anywhere."""
    return all(job.found.ok for job in jobs)


def unsafe(jobs: Sequence[ExplorationReport]) -> bool:
    """Some job depends on luck: the checker objects, or orders disagree. Otherwise what is wrong is always wrong."""
    return any(job.found.findings or 0 < job.found.corrupted < job.found.orders for job in jobs)


def document(name: str, jobs: Sequence[ExplorationReport]) -> dict[str, Any]:
    """One JSON document."""
    verdict = "ok" if ok(jobs) else "failed"
    return {"schema_version": SCHEMA_VERSION, "name": name, "verdict": verdict, "jobs": [_job(job) for job in jobs]}


def _job(job: ExplorationReport) -> dict[str, Any]:
    smallest = job.smallest
    least = None if smallest is None else {"job": case_words(smallest.operation_case), **_exploration(smallest)}
    return {
        "name": job.name,
        **_exploration(job.found),
        "smallest": least,
        "replay": job.replay,
    }


def _exploration(found: Exploration) -> dict[str, Any]:
    failure = found.failure
    return {
        "mode": found.mode,
        "transfers": found.transfers,
        "moments": found.actions,
        "orders": found.orders,
        "spoilt": found.corrupted,
        "findings": list(found.findings),
        "failure": None if failure is None else {"order": failure.fingerprint, "what": failure.what},
    }


def lines(name: str, jobs: Sequence[ExplorationReport]) -> list[str]:
    """The table, what is wrong, and the verdict as the last line."""
    rows = [(j.name, f"{j.found.transfers:,}", f"{j.found.orders:,}", how(j.found), outcome(j.found)) for j in jobs]
    table = aligned(("job", "transfers", "orders", "which", "bytes"), rows, numbers=(1, 2))
    remarks = [line for job in jobs for line in _remarks(job)]
    wrong = sum(not job.found.ok for job in jobs)
    orders = sum(job.found.orders for job in jobs)
    tried = f"{orders:,} order{'s' * (orders != 1)} of {len(jobs)} job{'s' * (len(jobs) != 1)}"
    verdict = f"failed: {wrong} of {len(jobs)} jobs" if wrong else f"ok: {tried}, every byte right, nothing unordered"
    return [name, "", *table, "", *remarks, *([""] if remarks else []), verdict]


def how(found: Exploration) -> str:
    """Which orders were run."""
    return {
        "exhaustive": f"exhaustive: all that {found.actions:,} actions can be distinguished in",
        "bounded": f"bounded: exhaustive search cut short at {found.orders:,}",
        "seeded": "seeded",
    }[found.mode]


def outcome(found: Exploration) -> str:
    """The verdict on the bytes."""
    if not found.corrupted:
        return "right in all" if not found.findings else "right in all, yet unsafe"
    return f"wrong in {found.corrupted:,}"


def _remarks(job: ExplorationReport) -> list[str]:
    reported = [f"{job.name}: {finding}" for finding in job.found.findings[:SHOWN]]
    if len(job.found.findings) > SHOWN:
        reported.append(f"{job.name}: and {len(job.found.findings) - SHOWN} more findings")
    if job.smallest is not None:
        reported += [f"{job.name}: smallest failing job: {case_words(job.smallest.operation_case)}"]
        reported += [f"{job.name}: {line}" for line in verdict_lines(job.smallest)]
        command = f"tessbed explore --replay {job.replay}" if job.replay else "no token holds so large a job or order"
        reported += [f"{job.name}: to replay: {command}"]
    return reported


def verdict_lines(found: Exploration) -> list[str]:
    """What is wrong with the smallest case."""
    wrong = f"order {found.failure.fingerprint}: {found.failure.what}" if found.failure else None
    return [*found.findings[:1], *([wrong] if wrong else [])]


def case_words(case: ExplorationCase) -> str:
    """A case in one line."""
    geometry, layout = case.geometry, case.geometry.tiled
    scalars = geometry.dtype.value + (f" to {geometry.to.value}" if geometry.to else "")
    if isinstance(layout, MlaCBlocked):
        tiles = f"cblocked {[layout.tile_h, layout.tile_w, layout.tile_c]}"
    else:
        tiles = f"axes {list(layout.axes)} tile {list(layout.tile_shape)} {layout.channel_storage.name.lower()}"
    strides = getattr(geometry.linear, "strides", None)
    linear = f" strides {list(strides)}" if strides is not None else ""
    workers = f"{case.workers} worker{'s' * (case.workers != 1)}"
    granule = f"granule {case.spec.write_granule_bytes}{' with byte strobes' * case.spec.byte_strobes}"
    return f"{geometry.op.name} {scalars} {list(geometry.shape)} {tiles}{linear}, {workers}, {granule}"
