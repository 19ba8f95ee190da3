"""Format flips: every bit of a packet of one's own inverted, with the check sum as it was and corrected.

A bit of a field that the map uses must show on the device, as in `bit_flips`: the packet is refused, or the job writes
other bytes (which must be what the changed packet says), or takes another time, or does the very same job. A bit of a
field that nothing maps shows only where the table refuses it; otherwise it is counted as not mapped.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum

import attrs

from tessbed.kernels.ev74.codec import decode
from tessbed.kernels.ev74.refusals import REFUSAL_BY_CODE
from tessbed.runtime.jobs.job import OK
from tessbed.scenarios.verification.bit_flips import FlipObservation
from tessbed.scenarios.verification.packet_case import places
from tessbed.scenarios.verification.packet_formats.device_trial import FormatBench
from tessbed.scenarios.verification.packet_formats.field_table import FormatFault, FormatField, PacketFormat
from tessbed.scenarios.verification.packet_formats.format_file import ReadFormat
from tessbed.scenarios.verification.packet_formats.geometry_map import ADDRESSES

REFUSALS = {"size", "checksum", "reserved", "range", "geometry", "capacity", *REFUSAL_BY_CODE}


class FormatFlipOutcome(Enum):
    """What becomes of a packet when one bit is flipped and the check sum corrected."""

    REFUSED = "refused"
    RESERVED = "reserved"
    OUTPUT = "output"
    TIMING = "timing"
    SYNONYM = "synonym"
    UNMAPPED = "not mapped"
    UNEXPLAINED = "unexplained"


@attrs.frozen
class FormatBit:
    """One bit: its field, its number in the value, and how the packet ended with the old and with the new check sum."""

    field: FormatField
    number: int
    with_old_sum: str
    with_new_sum: str
    outcome: FormatFlipOutcome
    caught: bool

    @property
    def explained(self) -> bool:
        """Whether a check sum caught the flip, where there is one for it, and the flip showed once it was corrected."""
        return self.caught and self.outcome is not FormatFlipOutcome.UNEXPLAINED


def flip_format_bits(packet_format: ReadFormat, raw: bytes, bench: FormatBench | None) -> Iterator[FormatBit]:
    """Every bit of the packet, field by field. Without a bench nothing is run. Raises FormatFault for a bad packet."""
    table = packet_format.format
    table.decode(raw)
    plain = bench.run(raw) if bench else None
    if plain and plain.ending != OK:
        raise FormatFault("geometry", "packet", f"the undamaged packet ends in {plain.ending}, wanted one that runs")
    used = packet_format.map.sources() if packet_format.map else {}
    for field in table.fields:
        for number in range(field.bits):
            flipped = field.written(raw, field.read(raw) ^ 1 << number)
            old, new = _ending(table, flipped), table.sealed(flipped)
            seen = bench.run(new) if bench and field.name in used else None
            ending = seen.ending if seen else _ending(table, new)
            moved = any(name in ADDRESSES for name in used.get(field.name, ()))
            outcome = _outcome(table, field, bench, plain, seen, ending, moved)
            yield FormatBit(field, number, old, ending, outcome, _caught(table, flipped, new, old))


def _ending(table: PacketFormat, raw: bytes) -> str:
    """How the table alone judges the packet."""
    try:
        table.decode(raw)
    except FormatFault as fault:
        return fault.code
    return OK


def _caught(table: PacketFormat, flipped: bytes, sealed: bytes, old: str) -> bool:
    """Whether the old check sum refused the flip; bytes that none covers are no affair of one."""
    return old == "checksum" or flipped == sealed


def _outcome(
    table: PacketFormat,
    field: FormatField,
    bench: FormatBench | None,
    plain: FlipObservation | None,
    seen: FlipObservation | None,
    ending: str,
    moved: bool,
) -> FormatFlipOutcome:
    """What the flip did; `moved`: it changed an address, so the bytes are others than the packet's own."""
    if table.checksum is not None and field.name == table.checksum.field:
        return FormatFlipOutcome.REFUSED  # it is corrected along with all else: the old one alone is telling
    if ending in REFUSALS:
        return FormatFlipOutcome.RESERVED if field.reserved else FormatFlipOutcome.REFUSED
    if seen is None or bench is None or plain is None:
        return FormatFlipOutcome.UNMAPPED
    if ending != OK or not (moved or bench.judged(seen) is None):
        return FormatFlipOutcome.UNEXPLAINED
    if seen.output != plain.output:
        return FormatFlipOutcome.OUTPUT
    if seen.ticks != plain.ticks:
        return FormatFlipOutcome.TIMING
    same = not moved and places(decode(seen.raw)) == places(decode(plain.raw))
    return FormatFlipOutcome.SYNONYM if same else FormatFlipOutcome.UNEXPLAINED


def by_format_field(bits: Sequence[FormatBit]) -> list[tuple[FormatField, Counter[FormatFlipOutcome]]]:
    """How many bits of each field have which outcome, in the order of the table."""
    counts: dict[str, tuple[FormatField, Counter[FormatFlipOutcome]]] = {}
    for bit in bits:
        counts.setdefault(bit.field.name, (bit.field, Counter()))[1][bit.outcome] += 1
    return list(counts.values())
