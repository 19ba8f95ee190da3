"""Bit-flip coverage: flips every bit of a packet, one at a time, and reports what each bit is for.

Each bit is tried twice on a simulated device: with the checksum as it was, which must be refused, and with the checksum
repaired. Then the bit must show: the packet is refused, or the job writes other bytes, or it takes another time. The
oracle reads the changed packet as well: whatever runs must write what the packet now says. A bit of a parameter may be
too fine for the job's input: then the oracle names a value that distinguishes the two packets, and both run on that. A
few bits of a tile extent cut the very same storage in another way and happen to cost nothing; they count as synonyms
only if the oracle finds every element in its old place. A bit that does nothing else, or that breaks the device, is
unexplained.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial

import attrs
import numpy as np

from tessbed.kernels import Plan
from tessbed.kernels.ev74.codec import decode, seal
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ev74.fields import AXES, FIELDS, PACKET_BYTES, PORTS, Field
from tessbed.kernels.ev74.refusals import REFUSAL_BY_CODE
from tessbed.runtime.jobs.job import OK
from tessbed.scenarios import backends
from tessbed.scenarios.backends import Bytes
from tessbed.scenarios.judgement import fill_input
from tessbed.scenarios.model import Scenario, ScenarioJob
from tessbed.scenarios.oracle.comparison import verify
from tessbed.scenarios.verification.packet_case import case_of, distinguishing_value, places
from tessbed.sim.errors import HangError, HazardError
from tessbed.sim.spec.device_spec import DeviceSpec

BITS = 8 * PACKET_BYTES
MAX_JOB_BYTES = 1 << 16
ADDRESSES = tuple(f"{port}_address" for port in PORTS)
PARAMETERS = tuple(field.name for field in FIELDS if field.since_minor)
TILES = tuple(f"{axis}_tile" for axis in AXES)
_ENDINGS = frozenset(REFUSAL_BY_CODE)


class BitFlipError(ValueError):
    """A job of which no bit-flip coverage can be taken; the text says why."""


class FlipOutcome(Enum):
    """What becomes of the job when one bit is flipped and the checksum repaired."""

    REFUSED = "refused"
    RESERVED = "reserved"
    OUTPUT = "output"
    TIMING = "timing"
    SYNONYM = "synonym"
    UNEXPLAINED = "unexplained"


@attrs.frozen
class Bit:
    """One bit: its field, its number in it, how the job ended with the old and with the repaired checksum, its
    outcome."""

    field: Field
    number: int
    with_old_crc: str
    with_new_crc: str
    outcome: FlipOutcome

    @property
    def explained(self) -> bool:
        """True where the checksum caught the flip, and the flip showed once the checksum was repaired."""
        return self.with_old_crc in _ENDINGS and self.outcome is not FlipOutcome.UNEXPLAINED


@attrs.frozen
class FlipObservation:
    """What a device made of packet bytes: how the job ended, the output buffer then, device and job ticks."""

    raw: bytes
    ending: str
    output: bytes
    ticks: tuple[int, int]


@attrs.frozen
class FlipBench:
    """A job and the device on which variants of its packet are tried, each on a fresh device."""

    plan: Plan
    source: Bytes
    prefill: int
    spec: DeviceSpec
    seed: int

    def run(self, change: Callable[[bytes], bytes]) -> FlipObservation:
        """Binds the packet to fresh buffers, submits what `change` makes of it, and sees what comes."""
        runtime = backends.ev74(self.spec, seed=self.seed)
        input_buffer = backends.input_buffer(runtime, self.plan)
        output_buffer = backends.output_buffer(runtime, self.plan, self.prefill)
        input_buffer.host[:] = self.source
        raw = change(encode_plan(self.plan).bind(input_buffer.address, output_buffer.address).raw)
        try:
            result = runtime.settle(runtime.submit_packet(raw, [input_buffer], [output_buffer]))
        except (HangError, HazardError) as error:
            return FlipObservation(raw, type(error).__name__, b"", (0, 0))
        return FlipObservation(
            raw, result.outcome, output_buffer.host.tobytes(), (result.device_ticks, result.job_ticks)
        )

    def as_written(self, seen: FlipObservation) -> bool:
        """Whether the output is what the oracle makes of the packet that was submitted."""
        return verify(case_of(decode(seen.raw)), self.source, seen.output, self.prefill) is None


def flipped(raw: bytes, bit: int) -> bytes:
    """`raw` with one bit inverted; bit 0 is the lowest of the first byte. The checksum stays."""
    return (int.from_bytes(raw, "little") ^ 1 << bit).to_bytes(len(raw), "little")


def flip_every_bit(bench: FlipBench, fields: Sequence[Field] = FIELDS) -> Iterator[Bit]:
    """Every bit of these fields of the job's packet, in order. Raises CensusError where the packet fails undamaged."""
    plain = bench.run(lambda raw: raw)
    if plain.ending != OK:
        raise BitFlipError(f"the undamaged packet ends in {plain.ending}")
    for field in fields:
        for number in range(8 * field.width):
            flip = partial(flipped, bit=8 * field.offset + number)
            old, new = bench.run(flip), bench.run(lambda raw, flip=flip: seal(flip(raw)))
            yield Bit(field, number, old.ending, new.ending, flip_outcome(bench, field, plain, new))


def flip_outcome(bench: FlipBench, field: Field, plain: FlipObservation, changed: FlipObservation) -> FlipOutcome:
    """What a change to `field` did to the job of `bench`, whose undamaged packet showed as `plain`.

    The checksum's own bits are repaired along with everything else: for them only the old checksum says anything.
    """
    if field.name == "crc32":
        return FlipOutcome.REFUSED if changed == plain else FlipOutcome.UNEXPLAINED
    if changed.ending in _ENDINGS:
        return FlipOutcome.RESERVED if field.reserved else FlipOutcome.REFUSED
    if changed.ending != OK or not (field.name in ADDRESSES or bench.as_written(changed)):
        return FlipOutcome.UNEXPLAINED
    if changed.output != plain.output:
        return FlipOutcome.OUTPUT
    if changed.ticks != plain.ticks:
        return FlipOutcome.TIMING
    if field.name in PARAMETERS and _distinguishable(bench, plain.raw, changed.raw):
        return FlipOutcome.OUTPUT
    same = field.name in TILES and places(decode(plain.raw)) == places(decode(changed.raw))
    return FlipOutcome.SYNONYM if same else FlipOutcome.UNEXPLAINED


def _distinguishable(bench: FlipBench, plain: bytes, changed: bytes) -> bool:
    """Whether both packets write what they say, and not the same, where the input is full of a distinguishing value."""
    value = distinguishing_value(decode(plain), decode(changed))
    if value is None:
        return False
    other = attrs.evolve(bench, source=np.resize(np.frombuffer(value, np.uint8), len(bench.source)))
    first, second = other.run(lambda raw: plain), other.run(lambda raw: changed)
    right = first.ending == second.ending == OK and other.as_written(first) and other.as_written(second)
    return right and first.output != second.output


def benches(scenario: Scenario) -> dict[ScenarioJob, FlipBench]:
    """A bench for every EV74 job of the scenario that is not empty. Raises CensusError for a job too large to flip."""
    return {job: _bench(job, scenario) for job in scenario.operations if "ev74" in job.backends and not job.plan.empty}


def _bench(job: ScenarioJob, scenario: Scenario) -> FlipBench:
    needed = job.plan.input.required_bytes + job.plan.output.required_bytes
    if needed > MAX_JOB_BYTES:
        raise BitFlipError(
            f"job {job.name!r} moves {needed:,} bytes; bit-flip coverage runs it {2 * BITS:,} times and takes at most"
            f" {MAX_JOB_BYTES:,}"
        )
    source = backends.storage(job.plan.input.required_bytes)
    fill_input(source, job, scenario.seed)
    spec = scenario.device if job.workers is None else attrs.evolve(scenario.device, workers=job.workers)
    return FlipBench(job.plan, source, job.output_prefill, spec, scenario.seed)


def by_field(bits: Sequence[Bit]) -> dict[Field, Counter[FlipOutcome]]:
    """How many bits of each field have which outcome, in packet order."""
    counts = {field: Counter[FlipOutcome]() for field in FIELDS}
    for bit in bits:
        counts[bit.field][bit.outcome] += 1
    return counts
