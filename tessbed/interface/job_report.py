"""Job report: what one job did on one backend, as plain values."""

from hashlib import sha256
from typing import Any

import attrs
import numpy as np

from tessbed.interface.columns import arrays_of
from tessbed.scenarios.custom.kernel_run import KernelRun
from tessbed.scenarios.outcome import Outcome
from tessbed.scenarios.report import complaints
from tessbed.sim.stats import JobStats, TransferRecord


@attrs.frozen(kw_only=True)
class JobReport:
    """One job on one backend; every value is plain.

    `ticks` is the makespan: the device's on "ev74", modelled on "a65"; one tick is a cycle of the device's clock.
    `ticks_band` is what bounds the modelled ticks, by core ("cortex-a55", "cortex-a76"); it is empty on "ev74".
    `job_ticks` counts from the submission to the host's wake-up, and `parts` says where they went: queue, dispatch,
    decode, load (of the kernel, on the first job of its kind), other, device, completion, in ticks that sum to
    `job_ticks`. Both are None and empty on "a65", which has no device. `ticks` is None where the job failed.

    `verified` is True where an independent oracle compared every byte, False where it found a wrong one. It is None
    where the oracle was not asked, where no byte moved, and for a kernel of one's own without a reference.
    `complaints` says in words what is not as it should be. `trace` holds every DMA transfer where it was asked for,
    ticks from the launch; `stats` is all that the device counted.

    >>> import numpy as np, tessbed
    >>> tiles, job = tessbed.Ev74("ev74-4core").tess(np.zeros((8, 8, 16), np.int8), tile=(4, 8, 16), axes="HWC")
    >>> sum(job.parts.values()) == job.job_ticks
    True
    >>> job.verified, job.ticks == job.device_ticks
    (True, True)
    """

    name: str
    op: str
    backend: str
    engine: str
    ticks: int | None
    ticks_band: dict[str, int] = attrs.field(factory=dict)
    job_ticks: int | None = None
    parts: dict[str, int] = attrs.field(factory=dict)
    workers: int | None = None
    verified: bool | None = None
    ok: bool = True
    complaints: tuple[str, ...] = ()
    output_bytes: int = 0
    output_sha256: str | None = None
    trace: tuple[TransferRecord, ...] = attrs.field(default=(), repr=lambda trace: f"<{len(trace):,} transfers>")
    packet: bytes = attrs.field(default=b"", repr=lambda raw: f"<{len(raw)} bytes>")
    stats: JobStats | None = attrs.field(default=None, repr=False)

    @property
    def device_ticks(self) -> int | None:
        """The device's makespan, in ticks; None on "a65", and where the job failed."""
        return self.ticks if self.backend == "ev74" else None

    def trace_arrays(self) -> dict[str, np.ndarray]:
        """The trace by column, an array each: worker, seq, kind, arrival, channel, pool, grant, start, end, done."""
        names = [field.name for field in attrs.fields(TransferRecord)]
        return arrays_of([{name: getattr(record, name) for name in names} for record in self.trace])


def kernel_report(done: KernelRun, engine: str) -> JobReport:
    """The report of a kernel of one's own; it is judged by its own reference, where it has one."""
    result, stats, made = done.result, done.result.stats, list(done.outputs.values())
    return JobReport(
        name=done.plan.name,
        op=done.plan.name,
        backend="ev74",
        engine=engine,
        ticks=result.device_ticks,
        job_ticks=result.job_ticks,
        parts=dict(result.parts),
        workers=stats.workers_launched if stats else None,
        verified=done.mismatch is None if done.judged else None,
        ok=done.mismatch is None,
        complaints=(str(done.mismatch),) if done.mismatch else (),
        output_bytes=sum(array.nbytes for array in made),
        output_sha256=sha256(b"".join(array.tobytes() for array in made)).hexdigest(),
        trace=stats.trace if stats else (),
        packet=result.packet,
        stats=stats,
    )


def job_report(name: str, op: str, outcome: Outcome, engine: str, *, judged: bool = True) -> JobReport:
    """The report of an outcome; `judged` where the oracle saw its bytes."""
    done = outcome.run
    result = done.result if done else None
    stats: JobStats | None = result.stats if result else None
    more: dict[str, Any] = {}
    if result:
        more = {"job_ticks": result.job_ticks, "parts": dict(result.parts), "packet": result.packet}
    return JobReport(
        name=name,
        op=op,
        backend=outcome.backend,
        engine=engine,
        ticks=done.ticks if done and not outcome.trouble else None,
        ticks_band=dict(done.band) if done and done.band else {},
        workers=stats.workers_launched if stats else None,
        verified=outcome.verified if judged and not outcome.timing_only and not outcome.unjudged else None,
        ok=outcome.ok,
        complaints=(*complaints(outcome), *outcome.idle),
        output_bytes=outcome.output_bytes,
        output_sha256=outcome.output_sha256,
        trace=stats.trace if stats else (),
        stats=stats,
        **more,
    )
