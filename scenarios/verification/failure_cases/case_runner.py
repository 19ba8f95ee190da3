"""Case runner: runs a failure case step by step and reports what a user would see.

Each view remembers which tensor it really holds, from the last thing that wrote it. So a job may take its source for
another tensor than it is, as in the field, and `verify` still knows what the bytes should have been.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from tessbed.kernels import BindingError, ContractError, Op, Operation, Plan, TensorSpec
from tessbed.runtime import (
    CapabilityError,
    HeapExhausted,
    Job,
    JobFault,
    LifetimeError,
    Runtime,
    SubmitError,
    View,
)
from tessbed.runtime.clients import Client
from tessbed.runtime.graph.graph import Graph, GraphError, Node
from tessbed.runtime.graph.registration import register
from tessbed.runtime.memory.buffers import Buffer
from tessbed.runtime.memory.coherency import CoherencyError, Policy
from tessbed.scenarios import backends
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.judgement import oracle_case
from tessbed.scenarios.oracle.comparison import expected_output
from tessbed.scenarios.timeline.timeline import Timeline
from tessbed.scenarios.verification.failure_cases.case_format import FailureCase, FailureStep
from tessbed.scenarios.verification.failure_cases.tensors import (
    PATTERNS,
    Parameters,
    geometry_of,
    logical_bytes,
    physical_bytes,
    step_parameters,
)
from tessbed.sim.spec.device_spec import load_preset

PREFILL = 0xC3
PLACE = re.compile(r"case_runner\.py:\d+ in \w+")
CODES: dict[type[Exception], Callable[[Any], str]] = {
    BindingError: lambda error: error.code,
    ContractError: lambda error: error.code,
    SubmitError: lambda error: error.code,
    GraphError: lambda error: error.code,
    CoherencyError: lambda error: error.finding.kind,
    CapabilityError: lambda _: "capability",
    HeapExhausted: lambda _: "heap_exhausted",
    JobFault: lambda error: error.status,
    LifetimeError: lambda _: "lifetime",
    ScenarioError: lambda _: "scenario",
}


class CheckFailed(Exception):
    """A check of the failure case itself that failed: `code` is wrong_bytes or leaks."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@attrs.frozen
class StepReport:
    """The result of one step. `ok` is False where it did not go as the failure case says."""

    number: int
    words: str
    result: str
    ok: bool

    def __str__(self) -> str:
        lines = "\n      ".join(self.result.splitlines())
        return f"{self.number:>2}  {self.words}\n      {lines}"


@attrs.define
class SubmittedJob:
    """A job and what was asked for: operation, parameters, tensors and views, and the bytes that its source held."""

    job: Job
    op: Operation
    parameters: Parameters
    writes: str
    target: View
    source_holds: str | None
    source_bytes: bytes


@attrs.define(eq=False)
class CaseRunner:
    """A failure case under way; a `timeline` shows what happens, up to the end of the case."""

    case: FailureCase
    timeline: Timeline | None = None
    runtime: Runtime = attrs.field(init=False)
    client: Client = attrs.field(init=False)
    buffers: dict[str, Buffer] = attrs.field(factory=dict, init=False)
    views: dict[str, View] = attrs.field(factory=dict, init=False)
    holds: dict[str, str] = attrs.field(factory=dict, init=False)
    jobs: dict[str, SubmittedJob] = attrs.field(factory=dict, init=False)
    processes: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        spec, firmware = load_preset(self.case.preset), backends.image(self.case.firmware)
        self.runtime = backends.ev74(spec, firmware=firmware)
        if self.timeline:
            self.timeline.follow(self.runtime)
        self._start_process()

    def run(self) -> list[StepReport]:
        """Every step in order, up to the first that does not go as the failure case says."""
        reported: list[StepReport] = []
        for number, step in enumerate(self.case.steps, 1):
            reported.append(self._report(number, step))
            if self.timeline:
                self.timeline.step(reported[-1].words, reported[-1].result, self.runtime.now)
            if not reported[-1].ok:
                break
        if self.timeline:
            self.timeline.leave(self.runtime)
        return reported

    def _report(self, number: int, step: FailureStep) -> StepReport:
        words = f"{step.do} {_arguments(step.values)}".strip()
        try:
            result = ACTIONS[step.do](self, step.values)
        except (*CODES, CheckFailed) as error:
            code = error.code if isinstance(error, CheckFailed) else _code(error)
            text = _without_places(error)
            known = text.startswith(f"{code}:") or text.endswith(f"[{code}]")
            return StepReport(number, words, text if known else f"{text} [{code}]", code == step.refused)
        if step.refused:
            return StepReport(number, words, f"{result}; but it must be refused as {step.refused}", False)
        return StepReport(number, words, result, True)

    def _start_process(self) -> None:
        self.processes += 1
        self.client = Client(self.runtime, self.runtime.queue(f"process {self.processes}"))

    def _allocate(self, values: dict[str, Any]) -> str:
        tensors = self.case.tensors
        size = values["bytes"] + sum(physical_bytes(tensors[name]) for name in values["holds"])
        size += sum(logical_bytes(tensors[name]) for name in values["scalars_of"])
        name, policy = values["buffer"], Policy(values["policy"])
        self.buffers[name] = self.client.allocate(size, name=name, prefill=PREFILL, policy=policy)
        self.views[name] = self.buffers[name].view()
        return f"{size:,} bytes"

    def _place(self, values: dict[str, Any]) -> str:
        size = physical_bytes(self.case.tensors[values["tensor"]])
        self.views[values["view"]] = self._buffer(values).view(values["offset"], size)
        return f"{size:,} bytes from {values['offset']:,}"

    def _write(self, values: dict[str, Any]) -> str:
        view, size = self._view(values["view"]), physical_bytes(self.case.tensors[values["tensor"]])
        if view.length < size:
            raise BindingError("capacity", values["view"], f"got {view.length} bytes, wanted {size}")
        view.view(0, size).cpu.write(PATTERNS[values["pattern"]](size))
        self.holds[values["view"]] = values["tensor"]
        return f"{size:,} bytes written by the CPU"

    def _flush(self, values: dict[str, Any]) -> str:
        self._view(values["view"]).cpu.flush()
        return "the device sees what the CPU wrote"

    def _invalidate(self, values: dict[str, Any]) -> str:
        self._view(values["view"]).cpu.invalidate()
        return "the CPU sees what the device wrote"

    def _read(self, values: dict[str, Any]) -> str:
        return f"{self._view(values['view']).cpu.read().size:,} bytes read by the CPU"

    def _float_copy(self, values: dict[str, Any]) -> str:
        words = self._view(values["view"]).cpu.modify().view(np.uint16)
        with np.errstate(invalid="ignore"):
            floats = (words.astype(np.uint32) << 16).view(np.float32) * np.float32(1)
        changed = int((words != (floats.view(np.uint32) >> 16)).sum())
        words[:] = floats.view(np.uint32) >> 16
        return f"{changed:,} of {words.size:,} words changed"

    def _naive_cast(self, values: dict[str, Any]) -> str:
        wide = self._view(values["source"]).cpu.read().view(np.uint32)
        words = self._view(values["view"]).cpu.modify().view(np.uint16)
        rounded = ((wide + np.uint32(0x7FFF) + (wide >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)).astype("<u2")
        zeros = int(((rounded & 0x7FFF == 0) & (words & 0x7FFF != 0)).sum())
        changed = int((words != rounded).sum())
        words[:] = rounded
        return f"{changed:,} of {words.size:,} words changed, {zeros:,} of them into zeros"

    def _submit(self, values: dict[str, Any]) -> str:
        plan, op = self._plan(values), Op(values["op"])
        source, target = self._view(values["source"]), self._view(values["target"])
        after = [self._asked(name).job for name in values["after"]]
        job = self.client.submit(plan, [source], [target], after=after, name=values["job"])
        storage = source.buffer.allocation.storage[source.offset : source.offset + source.length]
        held = self.holds.get(values["source"])
        self.jobs[values["job"]] = SubmittedJob(
            job, op, step_parameters(op, values), values["writes"], target, held, storage.tobytes()
        )
        self.holds[values["target"]] = values["writes"]
        return "under way"

    def _wait(self, values: dict[str, Any]) -> str:
        asked = self._asked(values["job"])
        result = self.runtime.wait(asked.job)
        return f"{result.state.value}: {result.outcome}"

    def _verify(self, values: dict[str, Any]) -> str:
        """The output against what the operation makes of the tensor that the source really holds."""
        asked = self._asked(values["job"])
        if asked.source_holds is None:
            raise CheckFailed("wrong_bytes", "what the source holds is unknown")
        truth, wanted = self.case.tensors[asked.source_holds], self.case.tensors[asked.writes]
        if asked.op.packs:
            case = oracle_case(geometry_of(asked.op, wanted, truth, asked.parameters))
        else:
            linear = wanted if wanted.shape == truth.shape else TensorSpec(truth.shape, truth.dtype)
            case = oracle_case(geometry_of(asked.op, truth, linear, asked.parameters))
        expected = expected_output(case, asked.source_bytes, PREFILL)
        got = asked.target.cpu.read()[: expected.size]
        wrong = np.flatnonzero(got != expected[: got.size])
        if wrong.size:
            first = int(wrong[0])
            text = f"{wrong.size:,} of {expected.size:,} bytes are wrong, the first at {first:,}"
            raise CheckFailed("wrong_bytes", f"{text}: got {got[first]:#04x}, wanted {expected[first]:#04x}")
        return f"all {expected.size:,} bytes are right"

    def _close(self, values: dict[str, Any]) -> str:
        buffer = self._buffer(values)
        buffer.close()
        holders = buffer.allocation.holders
        return f"closed, and still held by {', '.join(holders)}" if holders else "closed and freed"

    def _register(self, values: dict[str, Any]) -> str:
        nodes = [
            Node(node["name"], self._plan(node), node["backend"], node["source"], node["target"])
            for node in values["nodes"]
        ]
        register(Graph(self.case.name, nodes), self.runtime).close()
        return "registered"

    def _end_process(self, _: dict[str, Any]) -> str:
        left = self.client.exit()
        self._start_process()
        return f"gone; the device still works for {', '.join(map(str, left)) or 'nothing of it'}"

    def _leaks(self, _: dict[str, Any]) -> str:
        own = ("packet page", "record page")
        leaks = [leak for leak in self.runtime.allocator.leaks if leak.name not in own]
        if leaks:
            raise CheckFailed("leaks", "; ".join(f"{leak.name!r}, held by {', '.join(leak.holders)}" for leak in leaks))
        return "none"

    def _read_scenario(self, values: dict[str, Any]) -> str:
        return f"scenario {compose(parse_toml(values['text'], 'request.toml'), Path()).name!r}"

    def _asked(self, name: str) -> SubmittedJob:
        if name not in self.jobs:
            raise SubmitError("no_job", name, f"no such job, there are {', '.join(self.jobs) or 'none'}")
        return self.jobs[name]

    def _view(self, name: str) -> View:
        if name not in self.views:
            raise SubmitError("no_view", name, f"no such view, there are {', '.join(self.views) or 'none'}")
        return self.views[name]

    def _buffer(self, values: dict[str, Any]) -> Buffer:
        name = values["buffer"]
        if name not in self.buffers:
            raise SubmitError("no_buffer", name, f"no such buffer, there are {', '.join(self.buffers) or 'none'}")
        return self.buffers[name]

    def _plan(self, values: dict[str, Any]) -> Plan:
        source, target = self.case.tensors[values["reads"]], self.case.tensors[values["writes"]]
        row = Op(values["op"])
        tiled, linear = (target, source) if row.packs else (source, target)
        return geometry_of(row, tiled, linear, step_parameters(row, values)).admit()


ACTIONS: dict[str, Callable[[CaseRunner, dict[str, Any]], str]] = {
    "allocate": CaseRunner._allocate,
    "place": CaseRunner._place,
    "write": CaseRunner._write,
    "flush": CaseRunner._flush,
    "invalidate": CaseRunner._invalidate,
    "read": CaseRunner._read,
    "float_copy": CaseRunner._float_copy,
    "naive_cast": CaseRunner._naive_cast,
    "submit": CaseRunner._submit,
    "wait": CaseRunner._wait,
    "verify": CaseRunner._verify,
    "close": CaseRunner._close,
    "register": CaseRunner._register,
    "end_process": CaseRunner._end_process,
    "leaks": CaseRunner._leaks,
    "read_scenario": CaseRunner._read_scenario,
}


def _code(error: Exception) -> str:
    return next(code(error) for kind, code in CODES.items() if isinstance(error, kind))


def _arguments(values: dict[str, Any]) -> str:
    shown = {key: value for key, value in values.items() if value not in (None, (), [], 0, "uncached", "golden")}
    return ", ".join(_argument(key, value) for key, value in shown.items())


def _argument(key: str, value: Any) -> str:
    if key == "nodes":
        return " then ".join(f"{node['op']} {node['reads']} -> {node['writes']}" for node in value)
    if key == "text":
        return f"of {len(value.splitlines())} lines"
    if isinstance(value, list):
        value = " + ".join(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{name} {inner}" for name, inner in value.items() if inner is not None)
        return f"{key} {inner}"
    return value if key in ("buffer", "view", "job", "op") else f"{key} {value}"


def _without_places(error: Exception) -> str:
    """The message without places in this file: a user reads those of a program of their own."""
    return PLACE.sub("a step of this failure case", str(error))
