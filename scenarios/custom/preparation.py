"""Preparation: the kernels of a scenario that is about to run: loaded, compared with the hash that is wanted, planned.

This is where user code is imported; whoever only reads a scenario does not come here. Errors have the place of the key
that they concern.
"""

import re
from collections.abc import Mapping

import attrs

from tessbed.kernels.custom.kernel_plan import KernelPlan, PortLayout, plan_kernel
from tessbed.kernels.custom.loading import load_kernel
from tessbed.kernels.custom.source_tree import kernel_hash
from tessbed.kernels.errors import ContractError
from tessbed.scenarios.custom.buffers import check_input_file
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, nearest, path_text
from tessbed.scenarios.model import KernelBuffer, KernelJob, Scenario

PLACES = {"argument": "args", "port": "buffers", "buffer": "buffers"}


def prepared(scenario: Scenario) -> Scenario:
    """The scenario with a plan for each job of a kernel. Raises ScenarioError, for all jobs at once."""
    if all(job.plan is not None for job in scenario.kernels):
        return scenario
    problems: list[Problem] = []
    jobs = []
    plans: dict[str, KernelPlan] = {}
    for job in scenario.jobs:
        if isinstance(job, KernelJob):
            try:
                job = attrs.evolve(job, plan=plan_of_job(job, plans))
                plans[job.name] = job.planned
            except ContractError as error:
                problems.append(_problem(job, error))
        jobs.append(job)
    if problems:
        raise ScenarioError(problems)
    return attrs.evolve(scenario, jobs=tuple(jobs))


def hashed(scenario: Scenario) -> Scenario:
    """The scenario with the hash of each kernel's source, and no plan: what another process can prepare for itself.

    Raises ScenarioError as `prepared`.
    """
    ready = prepared(scenario)
    jobs = [
        attrs.evolve(job, source_sha256=job.planned.digest, plan=None, folder=job.folder.resolve())
        if isinstance(job, KernelJob)
        else job
        for job in ready.jobs
    ]
    return attrs.evolve(scenario, jobs=tuple(jobs))


def plan_of_job(job: KernelJob, earlier: Mapping[str, KernelPlan] | None = None) -> KernelPlan:
    """Load the kernel of a job and plan it; `earlier` are the plans of earlier jobs by name. Raises ContractError."""
    kernel = load_kernel(job.reference, job.folder)
    if job.source_sha256 not in (None, kernel_hash(kernel)):
        text = f"got source with the hash {kernel_hash(kernel)[:12]}, wanted {job.source_sha256}: it has changed"
        raise ContractError("kernel_hash", f"kernel {job.reference}", text)
    made = {buffer.port: layout for buffer in job.buffers if (layout := _made(buffer, earlier or {})) is not None}
    forms = {buffer.port: _form(buffer, made.get(buffer.port)) for buffer in job.buffers}
    plan = plan_kernel(kernel, dict(job.arguments), forms)
    for port in plan.ports:
        buffer = job.buffer(port.name)
        if buffer.offset % port.alignment_bytes:
            text = f"got an offset of {buffer.offset}, wanted a multiple of {port.alignment_bytes} bytes"
            raise ContractError("alignment", port_words(port.name), text)
        _check_handed(port, buffer, made.get(port.name))
        if buffer.made_by is not None and port.written:
            raise ContractError(
                "handed", port_words(port.name), "got an output of another job for an output of this one"
            )
        check_input_file(port, buffer)
    return plan


def _check_handed(port: PortLayout, buffer: KernelBuffer, source: PortLayout | None) -> None:
    """Raise ContractError where an output of another job does not fit the port."""
    if source is not None and buffer.made_by and (source.scalar, source.shape) != (port.scalar, port.shape):
        got = f"got {source.scalar}{list(source.shape)}, the output {source.name} of job {buffer.made_by[0]}"
        raise ContractError("handed", port_words(port.name), f"{got}, wanted {port.scalar}{list(port.shape)}")


def _form(buffer: KernelBuffer, made: PortLayout | None) -> tuple[str | None, tuple[int, ...] | None]:
    """What is known of a buffer's scalar type and shape: what was written, else those of the output that it is."""
    if made is None:
        return buffer.scalar, buffer.shape
    return buffer.scalar or made.scalar, buffer.shape or made.shape


def _made(buffer: KernelBuffer, earlier: Mapping[str, KernelPlan]) -> PortLayout | None:
    """The output of an earlier job that a buffer is. Raises ContractError for an output that the job does not have."""
    if buffer.made_by is None or buffer.made_by[0] not in earlier:
        return None
    job, port = buffer.made_by
    outputs = {output.name: output for output in earlier[job].outputs}
    names = ", ".join(outputs)
    if not port and len(outputs) > 1:
        raise ContractError("handed", port_words(buffer.port), f"job {job} has {names}; wanted port = one of them")
    if port and port not in outputs:
        text = f"got port {port} of job {job}, whose outputs are {names}{nearest(port, outputs)}"
        raise ContractError("handed", port_words(buffer.port), text)
    return outputs[port] if port else next(iter(outputs.values()))


def port_words(name: str) -> str:
    """A port in messages."""
    return f"port {name}"


def _problem(job: KernelJob, error: ContractError) -> Problem:
    """The error at the key that it concerns, as far as that was written."""
    found = re.match(r"(argument|port|buffer) (\w+)", error.where)
    key = (PLACES[found[1]], found[2]) if found else ("kernel",)
    place: Location = job.places.get(key) or job.places.get(("kernel",)) or Location(job.reference)
    where = [path_text(("jobs", job.index, *key))] if place.line else []
    if not found and error.where != f"kernel {job.reference}":
        where.append(error.where)
    elif not place.line and key not in job.places:
        where += [error.where] if found else []
    return Problem(place, ": ".join([*where, error.text]), error.code)
