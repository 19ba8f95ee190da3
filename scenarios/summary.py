"""Summary: a scenario in words, and what each job resolves to: bytes, tiles, tile classes."""

from collections.abc import Iterator
from math import prod
from typing import Any

from tessbed.kernels import MlaCBlocked, Plan, Strided
from tessbed.scenarios.load.load_model import Load
from tessbed.scenarios.model import KernelJob, Scenario, ScenarioJob
from tessbed.scenarios.provenance.basis_words import KEY, basis_document, basis_lines
from tessbed.scenarios.provenance.tick_basis import tick_basis
from tessbed.sim.fault_injection import TRANSFER_FAULTS
from tessbed.sim.spec.device_spec import to_mapping


def summary_lines(scenario: Scenario) -> Iterator[str]:
    """The scenario for a person."""
    yield scenario.name
    if scenario.about:
        yield scenario.about
    yield ""
    yield f"seed    {scenario.seed}"
    changes = list(_changes((), to_mapping(scenario.preset_device), to_mapping(scenario.device)))
    yield f"device  {scenario.preset}, {'with ' + ', '.join(changes) if changes else 'as it is'}"
    yield from (f"        {line}" for line in basis_lines({KEY: basis_document([tick_basis(scenario)])}))
    for job in scenario.jobs:
        yield ""
        yield from _kernel(job) if isinstance(job, KernelJob) else _job(job)
    if scenario.load is not None:
        yield from _load(scenario.load)


def _load(load: Load) -> Iterator[str]:
    """The jobs that `tessbed load` alone runs, and its streams."""
    for stage in load.stages:
        if stage.ticks is not None:
            yield ""
            behind = f", after {', '.join(stage.needs)}" if stage.needs else ""
            yield f"[{stage.index}] {stage.name}: external, on {stage.server}{behind}"
            yield f"    takes   {stage.ticks.words}"
    yield from _places(load)
    for stream in load.streams:
        limits = {"deadline": stream.deadline_ticks, "in flight": stream.in_flight, "queue": stream.queue}
        said = [f"{name} {limit:,}" for name, limit in limits.items() if limit is not None]
        yield ""
        yield f"stream {stream.name}: {', '.join(stream.jobs)}"
        yield f"    frames  {stream.arrivals.words}"
        if said:
            yield f"    limits  {', '.join(said)}{f', {stream.on_full} when full' if stream.queue is not None else ''}"
        for fault in load.faults:
            if fault.stream == stream.name:
                yield f"    fault   {fault.fault.kind} in frame {fault.frame:,}, job {fault.job}"


def _places(load: Load) -> Iterator[str]:
    """The devices, and the jobs that say where they run, before which others and in which queue."""
    for group in load.devices:
        yield ""
        yield f"devices {group.name}: {group.count:,}, each for {group.depth:,} job{'s' * (group.depth != 1)} at a time"
    for stage in load.stages:
        named = {"device": stage.device, "priority": stage.priority, "queue": stage.queue}
        said = [f"{name} {value}" for name, value in named.items() if value is not None]
        said += [f"grace {grace:,}" for grace in [load.grace_ticks(stage)] if grace]
        if said:
            yield ""
            yield f"job {stage.name}: {', '.join(said)}"


def _changes(path: tuple[str, ...], before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """What the scenario overrides in its preset."""
    for name, value in after.items():
        if isinstance(value, dict):
            yield from _changes((*path, name), before[name], value)
        elif value != before[name]:
            yield f"{'.'.join((*path, name))} = {value} (preset: {before[name]})"


def _job(job: ScenarioJob) -> Iterator[str]:
    geometry, plan = job.geometry, job.plan
    scalars = geometry.dtype.value + (f" to {geometry.to.value}" if geometry.to else "")
    yield f"[{job.index}] {job.name}: {geometry.op.name}, {scalars}, on {' and '.join(job.backends)}"
    yield f"    shape   {list(geometry.shape)}{', empty: nothing is stored or submitted' if plan.empty else ''}"
    yield f"    tiled   {_tiled(job)}"
    yield f"    linear  {_linear(job)}"
    if not plan.empty:
        yield f"    tiles   {_tiles(plan)}"
    yield f"    input   {plan.input.required_bytes:,} bytes, {_input(job)}"
    yield f"    output  {plan.output.required_bytes:,} bytes, filled with {job.output_prefill:#04x} first"
    if job.policy != "uncached":
        yield f"    policy  {job.policy}: the CPU reaches both through its cache"
    for fault in job.faults:
        where = f"at transfer {fault.transfer} of worker {fault.worker}" if fault.kind in TRANSFER_FAULTS else ""
        yield f"    fault   {fault.kind} {where or f'by {fault.ticks:,} ticks' * (fault.ticks > 0)}".rstrip()
    yield from _expected(job)


def _expected(job: ScenarioJob | KernelJob) -> Iterator[str]:
    if job.expected_fault or job.expected_sha256:
        yield f"    expect  {job.expected_fault or f'sha256 {job.expected_sha256}'}"
    for limit in job.expected_ticks:
        yield f"    expect  {limit.words} {limit.name}"


def _kernel(job: KernelJob) -> Iterator[str]:
    """What is known of a job of a kernel without loading it."""
    yield f"[{job.index}] {job.name}: kernel {job.reference}, on ev74; it is loaded when it runs"
    if job.arguments:
        yield f"    args    {', '.join(f'{name} = {value}' for name, value in job.arguments)}"
    for buffer in job.buffers:
        form = f"{buffer.scalar or ''}{list(buffer.shape) if buffer.shape else ''}"
        source, said = buffer.source, [form] if form else []
        said += [f"pattern {source.pattern}"] if source.pattern else []
        said += [f"from {source.written}"] if source.written else []
        if buffer.made_by is not None:
            said.append(" ".join(filter(None, ["output", buffer.made_by[1], "of job", buffer.made_by[0]])))
        said += [f"{buffer.offset} bytes into a page"] if buffer.offset else []
        yield f"    buffer  {buffer.port}{': ' if said else ''}{', '.join(said)}"
    yield from _expected(job)


def _tiled(job: ScenarioJob) -> str:
    layout = job.geometry.tiled
    if isinstance(layout, MlaCBlocked):
        return f"channel blocks, tile h {layout.tile_h}, w {layout.tile_w}, c {layout.tile_c}"
    axes = [
        f"{name} {extent} (axis {axis})"
        for name, axis, extent in zip("dhwc", layout.axes, layout.tile_shape, strict=True)
        if axis >= 0
    ]
    fill = job.geometry.int8_channel_padding
    padding = f", padded channels hold {fill}" if fill is not None else ""
    return f"{layout.channel_storage.value}, tile {', '.join(axes)}{padding}"


def _linear(job: ScenarioJob) -> str:
    linear = job.geometry.linear
    return f"strides of {list(linear.strides)} bytes" if isinstance(linear, Strided) else "dense, row-major"


def _tiles(plan: Plan) -> str:
    slices = prod(axis.extent for axis in plan.outer)
    per_slice = sum(prod(entry.counts) for entry in plan.classes)
    outer = f", in each of {slices:,} outer slices" if plan.outer else ""
    kinds = len(plan.classes)
    return f"{per_slice:,}{outer}, of {kinds} class{'es' * (kinds != 1)} (full and boundary)"


def _input(job: ScenarioJob) -> str:
    if job.input.job:
        return f"the output of {job.input.job}{f', port {job.input.port}' if job.input.port else ''}"
    return f"pattern {job.input.pattern}" if job.input.pattern else f"from {job.input.written}"
