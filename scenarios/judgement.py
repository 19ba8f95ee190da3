"""Judgement: the oracle's verdict on an output, in the terms of a scenario."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tessbed.kernels import ChannelStorage, MlaCBlocked, Strided
from tessbed.scenarios import inputs
from tessbed.scenarios.backends import BackendRun, Bytes, storage
from tessbed.scenarios.custom.kernel_run import array_of
from tessbed.scenarios.custom.reference import expected_outputs, first_mismatch
from tessbed.scenarios.model import Geometry, KernelJob, ScenarioJob
from tessbed.scenarios.oracle.comparison import OracleCase, expected_output, verify
from tessbed.scenarios.outcome import NO_OUTPUT, Outcome


def fill_input(out: Bytes, job: ScenarioJob, seed: int, advance: Callable[[int], None] = lambda count: None) -> None:
    """As `inputs.fill`; the input of a job that reads another's output is what the oracle says that this must hold."""
    maker = job.input.maker
    if maker is None:
        inputs.fill(out, job, seed, advance)
        return
    source = storage(maker.plan.input.required_bytes)
    fill_input(source, maker, seed)
    out[:] = expected_output(oracle_case(maker.geometry), source, maker.output_prefill)[: len(out)]


def judge_output(
    backend: str, job: ScenarioJob, source: Bytes, done: BackendRun, advance: Callable[[int], None] = lambda count: None
) -> Outcome:
    """Hash the output and compare every byte of it with the oracle's; `advance` hears of each part."""
    return Outcome(
        backend=backend,
        output_sha256=hashlib.sha256(done.output.data).hexdigest(),
        output_bytes=done.output.size,
        mismatch=verify(oracle_case(job.geometry), source, done.output, job.output_prefill, advance),
        expected_sha256=job.expected_sha256,
        run=attrs.evolve(done, output=NO_OUTPUT),
        expected_fault=job.expected_fault if backend == "ev74" else None,
        expected_ticks=job.expected_ticks if backend == "ev74" else (),
    )


def judge_kernel(job: KernelJob, sources: Sequence[Bytes], outputs: Sequence[Bytes], done: BackendRun) -> Outcome:
    """Hash the outputs, one after the other, and compare them with the kernel's reference, where it has one.

    Raises ContractError for a reference that fails.
    """
    plan, digest = job.planned, hashlib.sha256()
    for output in outputs:
        digest.update(output.data)
    read, made = (
        [array_of(port, raw) for port, raw in zip(ports, raws, strict=True)]
        for ports, raws in ((plan.inputs, sources), (plan.outputs, outputs))
    )
    expected = expected_outputs(plan, read)
    return Outcome(
        backend="ev74",
        output_sha256=digest.hexdigest(),
        output_bytes=sum(output.size for output in outputs),
        mismatch=None if expected is None else first_mismatch(plan, made, expected),
        expected_sha256=job.expected_sha256,
        run=attrs.evolve(done, output=NO_OUTPUT),
        expected_fault=job.expected_fault,
        expected_ticks=job.expected_ticks,
        unjudged=expected is None,
    )


def oracle_case(geometry: Geometry) -> OracleCase:
    """The geometry in the oracle's own words."""
    layout = geometry.tiled
    plan = geometry.admit() if geometry.parameters else None
    tiles: dict[str, Any]
    if isinstance(layout, MlaCBlocked):
        tiles = {"cblocked": (layout.tile_h, layout.tile_w, layout.tile_c)}
    else:
        padded = layout.channel_storage is ChannelStorage.PAD16
        tiles = {"axes": layout.axes, "tile": layout.tile_shape, "pad16": padded}
    return OracleCase(
        op=geometry.op.name,
        shape=geometry.shape,
        dtype=geometry.tiled_dtype.value,
        strides_bytes=geometry.linear.strides if isinstance(geometry.linear, Strided) else None,
        to=geometry.linear_dtype.value,
        fill=plan.channel_fill if plan else geometry.int8_channel_padding or 0,
        parameters=plan.parameters if plan else (),
        **tiles,
    )
