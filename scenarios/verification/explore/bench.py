"""Bench: one job on bare device memory, run in any order, with every output byte compared.

No runtime and no ticks: packet, firmware, transfers. The input is always the golden pattern, so that a case is
identified by its geometry alone and a replay needs no file.
"""

from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.image import FirmwareImage
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.runtime.memory.heap import page_round
from tessbed.scenarios.backends import Bytes
from tessbed.scenarios.judgement import oracle_case
from tessbed.scenarios.model import Geometry, ScenarioJob
from tessbed.scenarios.oracle.comparison import expected_output, golden_bytes
from tessbed.scenarios.verification.explore.fault_origin import is_firmware_fault
from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.errors import HazardError
from tessbed.sim.interleavings.untimed_engine import Choose, UntimedEngine, UntimedJob
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.memory import DeviceMemory, MemoryProbe


@attrs.frozen
class ExplorationCase:
    """What is explored: a geometry, the device, the launched grid, what the output held before."""

    geometry: Geometry
    spec: DeviceSpec
    workers: int
    prefill: int

    @classmethod
    def of(cls, job: ScenarioJob, spec: DeviceSpec) -> "ExplorationCase":
        """The case of a scenario's job."""
        return cls(job.geometry, spec, min(job.workers or spec.workers, spec.workers), job.output_prefill)


@attrs.frozen(eq=False)
class OrderResult:
    """One order of a case. `wrong` is the first wrong output byte, `trouble` what ended the job before its end."""

    stage: UntimedEngine
    findings: tuple[str, ...]
    wrong: int | None
    trouble: str | None

    @property
    def corrupted(self) -> bool:
        """Whether the output is not what it must be."""
        return self.wrong is not None or self.trouble is not None


@attrs.define(eq=False)
class ExplorationBench:
    """A case with its buffers mapped and its packet bound, to be run again and again."""

    case: ExplorationCase
    memory: DeviceMemory = attrs.field(init=False)
    packet: bytes = attrs.field(init=False)
    output: Bytes = attrs.field(init=False)
    output_address: int = attrs.field(init=False)
    expected: Bytes = attrs.field(init=False)
    _image: FirmwareImage = attrs.field(factory=FirmwareImage.full, init=False)

    def __attrs_post_init__(self) -> None:
        case = self.case
        plan = case.geometry.admit()
        source = golden_bytes(plan.input.required_bytes)
        self.expected = expected_output(oracle_case(case.geometry), source, case.prefill)
        self.memory = DeviceMemory(case.spec.memory)
        first, input_buffer = self._map(case.spec.memory.first_address, source.size)
        input_buffer[: source.size] = source
        self.output_address, storage = self._map(first + input_buffer.size, self.expected.size)
        self.output = storage[: self.expected.size]
        self.packet = encode_plan(plan).bind(first, self.output_address).raw

    def run(self, choose: Choose, checker: Checker | None = None, *, recording: bool = False) -> OrderResult:
        """Run the case in the order that `choose` makes of it. Without a checker, only bytes are judged.

        Raises what `choose` raises, and any failure of the harness itself.
        """
        case, watch = self.case, checker or Checker("off")
        self.output[:] = case.prefill
        check = watch.job(self, 0, case.spec.write_unit_bytes)
        stage = UntimedEngine(case.spec, self.memory, choose, check, recording)
        job: Any = UntimedJob(self.packet, case.workers, case.spec, MemoryProbe(self.memory), stage)
        trouble = self._enter(job)
        differs = np.flatnonzero(self.output != self.expected)
        wrong = int(differs[0]) if differs.size and trouble is None else None
        return OrderResult(stage, tuple(str(finding) for finding in watch.findings), wrong, trouble)

    def _enter(self, job: Any) -> str | None:
        """Run firmware entry to its end; what went wrong, or None. What is no trouble of the firmware's is raised."""
        try:
            for _ in self._image.entry(job):
                raise HazardError("firmware waits for something that has no order")
        except Exception as error:
            if not is_firmware_fault(error):
                raise
            return f"{type(error).__name__}: {error}"
        return None

    def _map(self, address: int, nbytes: int) -> tuple[int, Bytes]:
        """Pages of zeros for that many bytes, mapped at `address`."""
        pages = np.zeros(page_round(nbytes), np.uint8)
        self.memory.map(address, pages)
        return address, pages
