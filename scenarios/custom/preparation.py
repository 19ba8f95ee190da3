"""Preparation: the kernels of a scenario that is about to run: loaded, compared with the hash that is wanted, planned.

This is where user code is imported; whoever only reads a scenario does not come here. Errors have the place of the key
that they concern.
"""

import re

import attrs

from tessbed.kernels.custom.kernel_plan import KernelPlan, plan_kernel
from tessbed.kernels.custom.loading import load_kernel
from tessbed.kernels.custom.source_tree import kernel_hash
from tessbed.kernels.errors import ContractError
from tessbed.scenarios.custom.buffers import check_input_file
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, path_text
from tessbed.scenarios.model import KernelJob, Scenario

PLACES = {"argument": "args", "port": "buffers", "buffer": "buffers"}


def prepared(scenario: Scenario) -> Scenario:
    """The scenario with a plan for each job of a kernel. Raises ScenarioError, for all jobs at once."""
    if all(job.plan is not None for job in scenario.kernels):
        return scenario
    problems: list[Problem] = []
    jobs = []
    for job in scenario.jobs:
        if isinstance(job, KernelJob):
            try:
                job = attrs.evolve(job, plan=plan_of_job(job))
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


def plan_of_job(job: KernelJob) -> KernelPlan:
    """Load the kernel of a job and plan it. Raises ContractError."""
    kernel = load_kernel(job.reference, job.folder)
    if job.source_sha256 not in (None, kernel_hash(kernel)):
        text = f"got source with the hash {kernel_hash(kernel)[:12]}, wanted {job.source_sha256}: it has changed"
        raise ContractError("kernel_hash", f"kernel {job.reference}", text)
    forms = {buffer.port: (buffer.scalar, buffer.shape) for buffer in job.buffers}
    plan = plan_kernel(kernel, dict(job.arguments), forms)
    for port in plan.ports:
        buffer = job.buffer(port.name)
        if buffer.offset % port.alignment_bytes:
            text = f"got an offset of {buffer.offset}, wanted a multiple of {port.alignment_bytes} bytes"
            raise ContractError("alignment", port_words(port.name), text)
        check_input_file(port, buffer)
    return plan


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
