"""Device trial: a mapped packet run on a fresh simulated EV74, and its bytes judged by the oracle."""

import attrs
import numpy as np

from tessbed.kernels.ev74.codec import Packet, decode
from tessbed.kernels.ev74.rules import operation_of
from tessbed.runtime.jobs.job import OK
from tessbed.scenarios import backends
from tessbed.scenarios.backends import Bytes
from tessbed.scenarios.inputs import PATTERNS
from tessbed.scenarios.oracle.comparison import verify
from tessbed.scenarios.verification.bit_flips import FlipObservation
from tessbed.scenarios.verification.packet_case import case_of
from tessbed.scenarios.verification.packet_formats.field_table import FormatFault
from tessbed.scenarios.verification.packet_formats.format_file import ReadFormat
from tessbed.sim.errors import HangError, HazardError
from tessbed.sim.spec.device_spec import DeviceSpec

PREFILL = 0xC3
MOST_BYTES = 1 << 28
"""As much storage a packet may ask for: anything larger is a wrong packet rather than a job."""


@attrs.frozen
class TrialVerdict:
    """What came of a mapped packet: its operation, how it ended, ticks, and what is wrong with its bytes."""

    op: str
    shape: tuple[int, ...]
    ending: str
    output_bytes: int
    device_ticks: int
    mismatch: str | None

    @property
    def right(self) -> bool:
        """Whether the device ended well and wrote what the packet says."""
        return self.ending == OK and self.mismatch is None

    def __str__(self) -> str:
        what = f"as {self.op} of {'x'.join(map(str, self.shape))}"
        if self.ending != OK:
            return f"{what} the device ends in {self.ending}"
        judged = f"wrong: {self.mismatch}" if self.mismatch else "right"
        return f"{what} {self.device_ticks:,} device ticks, {self.output_bytes:,} bytes {judged}"


@attrs.frozen
class FormatBench:
    """A packet of the format that maps, and the device on which variants of it are tried, each on a fresh one.

    Storage is what the packet as it is asks for; a variant that asks for more is refused, as at any binding. Its
    addresses, if mapped, stand for ours: a variant whose address differs by some bytes is bound as many bytes away.
    """

    format: ReadFormat
    plain: bytes
    spec: DeviceSpec
    source: Bytes = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        needed = sum(self._spans)
        if needed > MOST_BYTES:
            text = f"got a job of {needed:,} bytes, wanted at most {MOST_BYTES:,}"
            raise FormatFault("geometry", "packet", text)
        source = backends.storage(self._spans[0])
        for _ in PATTERNS["golden"](source, 0, 0):
            pass
        object.__setattr__(self, "source", source)

    @property
    def _spans(self) -> tuple[int, int]:
        return _spans_of(self.mapped(self.plain)[0])

    def mapped(self, raw: bytes) -> tuple[bytes, tuple[int, int]]:
        """Our unbound packet for theirs, and by how many bytes its addresses differ. Raises FormatFault."""
        return _mapped(self.format, self.plain, raw)

    def run(self, raw: bytes) -> FlipObservation:
        """What becomes of a packet: refused by the format, by the map, by the firmware; or run."""
        try:
            template, away = self.mapped(raw)
        except FormatFault as fault:
            return FlipObservation(raw, fault.code, b"", (0, 0))
        sizes = self._spans
        if any(asked > there for asked, there in zip(_spans_of(template), sizes, strict=True)):
            return FlipObservation(raw, "capacity", b"", (0, 0))
        runtime = backends.ev74(self.spec)
        source = runtime.allocate(sizes[0], name="input", alignment=64, writable=False)
        target = runtime.allocate(sizes[1], name="output", alignment=64, prefill=PREFILL)
        source.host[:] = self.source
        addresses = [(buffer.address + step) % 2**64 for buffer, step in zip((source, target), away, strict=True)]
        bound = Packet(template).bind(*addresses).raw
        try:
            result = runtime.settle(runtime.submit_packet(bound, [source], [target]))
        except (HangError, HazardError) as error:
            return FlipObservation(bound, type(error).__name__, b"", (0, 0))
        ticks = result.device_ticks, result.job_ticks
        return FlipObservation(bound, result.outcome, target.host.tobytes(), ticks)

    def judged(self, seen: FlipObservation) -> str | None:
        """What is wrong with the bytes of a packet that ran, in words."""
        found = verify(case_of(decode(seen.raw)), self.source, np.frombuffer(seen.output, np.uint8), PREFILL)
        return None if found is None else str(found)

    def verdict(self) -> TrialVerdict:
        """The packet as it is, run and judged. Raises FormatFault where it says no job."""
        values, seen = decode(self.mapped(self.plain)[0]), self.run(self.plain)
        shape = [values[f"outer{index}_extent"] for index in range(values["outer_rank"])]
        shape += [values[f"{axis}_extent"] for axis in "dhwc"]
        mismatch = self.judged(seen) if seen.ending == OK else None
        op = operation_of(values).name
        return TrialVerdict(op, tuple(shape), seen.ending, len(seen.output), seen.ticks[0], mismatch)


def _spans_of(template: bytes) -> tuple[int, int]:
    values = decode(template)
    return values["reloc0_required_bytes"], values["reloc1_required_bytes"]


def _mapped_values(packet_format: ReadFormat, raw: bytes) -> tuple[bytes, tuple[int, int]]:
    assert packet_format.map is not None
    values = packet_format.format.decode(raw)
    return packet_format.map.packet(values), packet_format.map.addresses(values)


def _mapped(packet_format: ReadFormat, plain: bytes, raw: bytes) -> tuple[bytes, tuple[int, int]]:
    template, addresses = _mapped_values(packet_format, raw)
    before = _mapped_values(packet_format, plain)[1] if raw != plain else addresses
    away = tuple(address - known for address, known in zip(addresses, before, strict=True))
    return template, (away[0], away[1])
