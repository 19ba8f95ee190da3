"""Frame storage: the bytes of one frame's jobs while they run: inputs filled or handed on, outputs judged.

Tensors of EV74 jobs are buffers of the runtime that has the device. What a job reads of another on the same runtime is
that very buffer; between runtimes, or from a core, the host copies it, which takes no ticks in this model.
"""

from contextlib import ExitStack
from typing import Any

import attrs

from tessbed.runtime.jobs.job import Job
from tessbed.runtime.memory.buffers import Buffer, View
from tessbed.runtime.memory.coherency import Policy
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios import backends
from tessbed.scenarios.backends import BackendRun, Bytes
from tessbed.scenarios.custom.buffers import fill_port, streams
from tessbed.scenarios.judgement import fill_input, judge_kernel, judge_output
from tessbed.scenarios.model import AnyJob, KernelJob, ScenarioJob
from tessbed.scenarios.outcome import NO_OUTPUT


@attrs.frozen(eq=False)
class Output:
    """What a job has written: a buffer of a runtime, or storage of the host."""

    runtime: Runtime | None
    held: Any

    @property
    def bytes(self) -> Bytes:
        """The bytes, for the CPU to read."""
        return self.held if self.runtime is None else backends.cpu_bytes(self.held)


def _limits(job: AnyJob) -> dict[str, Any]:
    """What every submission of a job says beside its buffers."""
    return {"workers": job.workers, "timeout_ticks": job.timeout_ticks, "name": job.name}


@attrs.define
class FrameStorage:
    """The outputs of a frame's jobs by name, those of kernels by port, too, and what is wrong with them."""

    seed: int
    outputs: dict[str, "Output"] = attrs.field(factory=dict)
    made: dict[str, dict[str, Bytes]] = attrs.field(factory=dict)
    stack: ExitStack = attrs.field(factory=ExitStack)
    wrong: list[str] = attrs.field(factory=list)

    def submit(self, runtime: Runtime, job: ScenarioJob, queue: Any) -> tuple[Job, Bytes]:
        """The job on its device, and a copy of its input."""
        plan = job.plan
        if plan.empty:
            return runtime.submit(plan, [None], [None], queue=queue, name=job.name), backends.storage(0)
        source = self._input_buffer(runtime, job)
        target = self.stack.enter_context(
            backends.output_buffer(runtime, job.plan, job.output_prefill, Policy(job.policy))
        )
        read = backends.cpu_bytes(source)[: plan.input.required_bytes].copy()
        handed = runtime.submit(plan, [source], [target], queue=queue, **_limits(job))
        self.outputs[job.name] = Output(runtime, target)
        return handed, read

    def submit_kernel(self, runtime: Runtime, job: KernelJob, queue: Any) -> tuple[Job, list[Bytes], list[View]]:
        """A kernel of one's own on its device, copies of its inputs, and its outputs."""
        plan = job.planned
        views = backends.kernel_views(runtime, job, self.stack)
        for port, stream in zip(plan.ports, streams(job.index), strict=False):
            made_by = job.buffer(port.name).made_by
            if made_by is not None:
                made = self.made[made_by[0]]
                views[port.name].host[:] = made[made_by[1] or next(iter(made))]
            elif not port.written:
                fill_port(views[port.name].host, port, job.buffer(port.name), self.seed, stream)
        sources, targets = ([views[port.name] for port in ports] for ports in (plan.inputs, plan.outputs))
        read = [view.cpu.read().copy() for view in sources]
        handed = runtime.submit(plan, sources, targets, queue=queue, **_limits(job))
        return handed, read, targets

    def judge_kernel(self, job: KernelJob, read: list[Bytes], targets: list[View], ended: Job) -> None:
        """Compare the outputs with the kernel's reference, where it has one, and keep them for those that read them."""
        made = [view.cpu.read().copy() for view in targets]
        self.made[job.name] = {port.name: held for port, held in zip(job.planned.outputs, made, strict=True)}
        outcome = judge_kernel(job, read, made, backends.run_result(ended, NO_OUTPUT))
        if outcome.mismatch:
            self.wrong.append(f"job {job.name} on ev74: {outcome.mismatch}")

    def run_here(self, job: ScenarioJob) -> BackendRun:
        """The job on the A65, and its verdict."""
        source = backends.storage(job.plan.input.required_bytes)
        self._fill(source, job)
        done = backends.run_a65(job.plan, source, job.output_prefill)
        self.outputs[job.name] = Output(None, done.output)
        self.judge("a65", job, source, done)
        return done

    def judge_device(self, job: ScenarioJob, source: Bytes, ended: Job) -> None:
        """The output of a job that has ended on its device."""
        output = self.outputs[job.name].bytes[: job.plan.output.required_bytes]
        self.judge("ev74", job, source, backends.run_result(ended, output))

    def judge(self, backend: str, job: ScenarioJob, source: Bytes, done: BackendRun) -> None:
        """Compare every byte with the oracle's."""
        if done.output.size and (mismatch := judge_output(backend, job, source, done).mismatch):
            self.wrong.append(f"job {job.name} on {backend}: {mismatch}")

    def _input_buffer(self, runtime: Runtime, job: ScenarioJob) -> Buffer:
        maker = self.outputs.get(job.input.job or "")
        if maker is not None and maker.runtime is runtime:
            return maker.held
        buffer = self.stack.enter_context(backends.input_buffer(runtime, job.plan, Policy(job.policy)))
        backends.fill_buffer(buffer, lambda out: self._fill(out, job))
        return buffer

    def _fill(self, out: Bytes, job: ScenarioJob) -> None:
        maker = self.outputs.get(job.input.job or "")
        if maker is None:
            fill_input(out, job, self.seed)
        else:
            out[:] = maker.bytes[: len(out)]
