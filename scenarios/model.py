"""The values of a scenario that has been read and admitted: nothing in here can be invalid any more."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs

from tessbed.kernels import (
    ChannelStorage,
    Contiguous,
    DType,
    MlaCBlocked,
    MlaTiled,
    Operation,
    Plan,
    Strided,
    TensorSpec,
)
from tessbed.kernels.custom.kernel_plan import KernelPlan
from tessbed.kernels.ops import requests_of
from tessbed.scenarios.load.load_model import Load, load_values, stage_values
from tessbed.sim.fault_injection import Fault
from tessbed.sim.spec.device_spec import DeviceSpec, to_mapping
from tessbed.sim.spec.origins import Origins


@attrs.frozen
class Geometry:
    """What a job asks of admission, in the words of the scenario.

    `dtype` is the scalar type of the input, `to` that of the output where the operation leaves a choice. `parameters`
    are those beside the padding, by their names in Params.
    """

    op: Operation
    dtype: DType
    shape: tuple[int, ...]
    tiled: MlaTiled | MlaCBlocked
    linear: Contiguous | Strided = attrs.field(factory=Contiguous)
    to: DType | None = None
    int8_channel_padding: int | None = None
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def output_dtype(self) -> DType:
        """The scalar type of the output: the one that is asked for, or the only one."""
        outputs = self.op.outputs(self.dtype)
        return self.to or (outputs[0] if len(outputs) == 1 else self.dtype)

    @property
    def tiled_dtype(self) -> DType:
        """The scalar type of the tiled side."""
        return self.output_dtype if self.op.packs else self.dtype

    @property
    def linear_dtype(self) -> DType:
        """The scalar type of the linear side."""
        return self.dtype if self.op.packs else self.output_dtype

    def admit(self) -> Plan:
        """The plan, or ContractError: the documents' own admission, nothing added."""
        requests = requests_of(self.op)
        tiled = TensorSpec(self.shape, self.tiled_dtype, self.tiled)
        linear = TensorSpec(self.shape, self.linear_dtype, self.linear)
        given = {"int8_channel_padding": self.int8_channel_padding, **dict(self.parameters)}
        params = {parameter.name: given.get(parameter.name) for parameter in self.op.parameters}
        held = {name: value for name, value in params.items() if value is not None}
        return requests.check_inference(requests.request(tiled, linear, requests.Params(**held)))


@attrs.frozen
class InputSource:
    """Where input bytes come from: a pattern's name, a file (`written` as the scenario says it), or a job's output.

    `maker` is that job; none where it is external, and writes the port `port`.
    """

    pattern: str | None = None
    path: Path | None = None
    written: str | None = None
    job: str | None = None
    port: str | None = None
    maker: "ScenarioJob | None" = attrs.field(default=None, eq=False, repr=False)

    @property
    def values(self) -> dict[str, Any]:
        """As a scenario says it."""
        said = {"pattern": self.pattern, "file": self.written, "job": self.job, "port": self.port}
        return {name: value for name, value in said.items() if value is not None}


@attrs.frozen
class TickLimit:
    """What a job must take on EV74: `name` is "device_ticks" or "job_ticks"; both limits are equal for a number."""

    name: str
    at_most: int | None = None
    at_least: int | None = None

    @property
    def values(self) -> Any:
        """As a scenario says it."""
        if self.at_most == self.at_least:
            return self.at_most
        limits = {"at_most": self.at_most, "at_least": self.at_least}
        return {name: ticks for name, ticks in limits.items() if ticks is not None}

    def complaint(self, ticks: int) -> str | None:
        """What is wrong with so many ticks, in words; None where nothing is."""
        low, high = self.at_least or 0, ticks if self.at_most is None else self.at_most
        if low <= ticks <= high:
            return None
        return f"got {ticks:,} {self.name}, the scenario expects {self.words}"

    @property
    def words(self) -> str:
        """The limits in words."""
        if self.at_most is not None and self.at_most == self.at_least:
            return f"{self.at_most:,}"
        words = [f"at least {self.at_least:,}"] if self.at_least is not None else []
        return " and ".join([*words, *([f"at most {self.at_most:,}"] if self.at_most is not None else [])])


@attrs.frozen
class ScenarioJob:
    """One admitted job. `backends` in the order in which they run; `workers` None means all of the device's."""

    index: int
    name: str
    geometry: Geometry
    plan: Plan
    backends: tuple[str, ...]
    input: InputSource
    output_prefill: int
    workers: int | None
    expected_sha256: str | None = None
    expected_fault: str | None = None
    expected_ticks: tuple[TickLimit, ...] = ()
    timeout_ticks: int | None = None
    faults: tuple[Fault, ...] = ()
    policy: str = "uncached"

    @property
    def what(self) -> str:
        """What it runs, in a word: the operation."""
        return self.geometry.op.name

    @property
    def empty(self) -> bool:
        """Whether it moves no byte."""
        return self.plan.empty


@attrs.frozen
class KernelBuffer:
    """A buffer of a kernel's job, by its port: what is said of it, and what it holds first.

    `offset` are bytes from a page's start at which it begins. `made_by` is the job of a kernel whose output it is, by
    its name, and the name of that output, "" for the only one.
    """

    port: str
    scalar: str | None = None
    shape: tuple[int, ...] | None = None
    source: InputSource = InputSource()
    prefill: int = 0xC3
    offset: int = 0
    made_by: tuple[str, str] | None = None


@attrs.frozen
class KernelJob:
    """One job of a kernel of one's own, on the EV74. `reference` says which, a file is relative to `folder`.

    Whoever reads a scenario loads no kernel: `plan` is None until the job is about to run. `source_sha256` is the hash
    that its source must have, None where any will do. `places` are where the keys were written, for messages.
    """

    index: int
    name: str
    reference: str
    folder: Path = attrs.field(eq=False)
    arguments: tuple[tuple[str, int | float], ...] = ()
    buffers: tuple[KernelBuffer, ...] = ()
    workers: int | None = None
    source_sha256: str | None = None
    expected_sha256: str | None = None
    expected_fault: str | None = None
    expected_ticks: tuple[TickLimit, ...] = ()
    timeout_ticks: int | None = None
    faults: tuple[Fault, ...] = ()
    plan: KernelPlan | None = attrs.field(default=None, eq=False, repr=False)
    places: Mapping[tuple[str | int, ...], Any] = attrs.field(factory=dict, eq=False, repr=False)
    backends: ClassVar[tuple[str, ...]] = ("ev74",)
    empty: ClassVar[bool] = False

    @property
    def what(self) -> str:
        """What it runs, in a word."""
        return self.reference.rpartition(":")[2]

    @property
    def planned(self) -> KernelPlan:
        """The plan of a job that is about to run."""
        assert self.plan is not None, f"job {self.name} has not been prepared"
        return self.plan

    def buffer(self, port: str) -> KernelBuffer:
        """What the scenario says of a port."""
        return next((buffer for buffer in self.buffers if buffer.port == port), KernelBuffer(port))


AnyJob = ScenarioJob | KernelJob


@attrs.frozen
class FirmwareChoice:
    """What the firmware image is to hold; None means everything that there is."""

    ops: tuple[str, ...] | None = None
    dtypes: tuple[str, ...] | None = None
    packet_versions: tuple[str, ...] | None = None
    holds: tuple[tuple[str, str, str], ...] | None = None

    def to_values(self) -> dict[str, Any]:
        """As a scenario says it."""
        said: dict[str, Any] = {
            name: list(names)
            for name in ("ops", "dtypes", "packet_versions")
            if (names := getattr(self, name)) is not None
        }
        if self.holds is not None:
            said["holds"] = [dict(zip(("op", "dtype", "format"), kernel, strict=True)) for kernel in self.holds]
        return said


@attrs.frozen
class Scenario:
    """A scenario that can run. `preset` is what its device starts from, as written; `preset_device` is that.

    `origins` is where the preset's values come from.
    """

    name: str
    about: str
    seed: int
    preset: str
    device: DeviceSpec
    firmware: FirmwareChoice
    jobs: tuple[AnyJob, ...]
    preset_device: DeviceSpec = attrs.field(factory=DeviceSpec)
    load: Load | None = None
    origins: Origins = attrs.field(factory=Origins)

    @property
    def operations(self) -> tuple[ScenarioJob, ...]:
        """The jobs of operations."""
        return tuple(job for job in self.jobs if isinstance(job, ScenarioJob))

    @property
    def kernels(self) -> tuple[KernelJob, ...]:
        """The jobs of kernels of one's own."""
        return tuple(job for job in self.jobs if isinstance(job, KernelJob))


def to_values(scenario: Scenario) -> dict[str, Any]:
    """The scenario as a file would say it, every default spelled out: reading it again gives an equal scenario."""
    firmware = scenario.firmware.to_values()
    jobs = {job.index: _kernel_values(job) if isinstance(job, KernelJob) else _job_values(job) for job in scenario.jobs}
    sections = load_values(scenario.load) if scenario.load else {}
    for stage in scenario.load.stages if scenario.load else ():
        jobs[stage.index] = jobs.get(stage.index, {}) | stage_values(stage)
    return {
        "name": scenario.name,
        **({"about": scenario.about} if scenario.about else {}),
        "seed": scenario.seed,
        "device": {"preset": scenario.preset, **to_mapping(scenario.device)},
        **({"firmware": firmware} if firmware else {}),
        "jobs": [jobs[index] for index in sorted(jobs)],
        **{name: values for name, values in sections.items() if values},
    }


def _job_values(job: ScenarioJob) -> dict[str, Any]:
    geometry = job.geometry
    values: dict[str, Any] = {
        "name": job.name,
        "op": geometry.op.name,
        "backend": job.backends[0] if len(job.backends) == 1 else "both",
        "dtype": geometry.dtype.value,
        "shape": list(geometry.shape),
        **_tiled_values(geometry.tiled),
        "linear": {"strides_bytes": list(geometry.linear.strides)} if isinstance(geometry.linear, Strided) else None,
        "to": geometry.to.value if geometry.to else None,
        "int8_channel_padding": geometry.int8_channel_padding,
        **parameter_values(geometry),
        "input": job.input.values,
        "output_prefill": job.output_prefill,
        "policy": None if job.policy == "uncached" else job.policy,
        "workers": job.workers,
        "timeout_ticks": job.timeout_ticks,
        "faults": [attrs.asdict(fault) for fault in job.faults] or None,
        "expect": _expected_values(job) or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _expected_values(job: AnyJob) -> dict[str, Any]:
    expected: dict[str, Any] = {"output_sha256": job.expected_sha256, "fault": job.expected_fault}
    expected |= {limit.name: limit.values for limit in job.expected_ticks}
    return {name: value for name, value in expected.items() if value is not None}


def _kernel_values(job: KernelJob) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": job.name,
        "kernel": job.reference,
        "kernel_sha256": job.source_sha256,
        "args": dict(job.arguments) or None,
        "buffers": {buffer.port: _buffer_values(buffer) for buffer in job.buffers} or None,
        "workers": job.workers,
        "timeout_ticks": job.timeout_ticks,
        "faults": [attrs.asdict(fault) for fault in job.faults] or None,
        "expect": _expected_values(job) or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _buffer_values(buffer: KernelBuffer) -> dict[str, Any]:
    values = {
        "dtype": buffer.scalar,
        "shape": None if buffer.shape is None else list(buffer.shape),
        "pattern": None if buffer.made_by else buffer.source.pattern,
        "file": buffer.source.written,
        "job": buffer.made_by[0] if buffer.made_by else None,
        "port": (buffer.made_by[1] or None) if buffer.made_by else None,
        "prefill": buffer.prefill,
        "offset": buffer.offset,
    }
    return {name: value for name, value in values.items() if value is not None}


def parameter_values(geometry: Geometry) -> dict[str, Any]:
    """The parameters as keys, those of a group in their table."""
    groups = {parameter.name: parameter.group for parameter in geometry.op.parameters}
    values: dict[str, Any] = {}
    for name, value in geometry.parameters:
        (values.setdefault(groups[name], {}) if groups[name] else values)[name] = value
    return values


def _tiled_values(layout: MlaTiled | MlaCBlocked) -> dict[str, Any]:
    if isinstance(layout, MlaCBlocked):
        return {"cblocked": {"tile": [layout.tile_h, layout.tile_w, layout.tile_c]}}
    channels = "pad16" if layout.channel_storage is ChannelStorage.PAD16 else "compact"
    return {"tiled": {"axes": list(layout.axes), "tile": list(layout.tile_shape), "channels": channels}}
