"""Packets of a format of one's own: what verify, disasm, diff and the bit flips do with --format."""

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from tessbed.commands.diagnostics import PartlyInvalid
from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import echo_verdict, say
from tessbed.commands.packet_files import read_packet, read_packets, readable
from tessbed.commands.streams import echo, echo_json
from tessbed.commands.types import FILE
from tessbed.scenarios.output.text_table import aligned

if TYPE_CHECKING:
    from tessbed.scenarios.verification.packet_formats.format_file import ReadFormat
    from tessbed.scenarios.verification.packet_formats.format_flips import FormatBit

format_option = click.option(
    "--format", "format_file", type=FILE, metavar="FILE", help="Packets of your own format, as this TOML file says."
)


def verify_custom(format_file: str, targets: Sequence[str], *, repair: bool, as_json: bool) -> int:
    """A line for each packet; one that maps to our geometry is run on the device. Returns the exit code.

    With `repair` packets of the right size are judged with the check sum that their bytes ask for.
    """
    from tessbed.scenarios.verification.packet_formats.format_file import read_format

    known = read_format(format_file)
    found, problems = readable(targets)
    if repair:
        found = [(name, known.format.sealed(raw) if len(raw) == known.format.nbytes else raw) for name, raw in found]
    documents = [_verified(known, name, raw) for name, raw in found]
    if not as_json:
        echo(*(f"{one['packet']}: {_words(one)}" for one in documents))
    if problems:
        raise PartlyInvalid(problems, {"packets": documents})
    if as_json:
        echo_json(documents)
    return (
        OK if all(one["fault"] is None and (one["run"] is None or one["run"]["right"]) for one in documents) else FAILED
    )


def _verified(known: "ReadFormat", name: str, raw: bytes) -> dict[str, Any]:
    """The verdict on a packet, as JSON holds it."""
    from tessbed.scenarios.verification.packet_formats.device_trial import FormatBench
    from tessbed.scenarios.verification.packet_formats.field_table import FormatFault
    from tessbed.scenarios.verification.packet_formats.listing import document
    from tessbed.sim.spec.device_spec import DeviceSpec

    said = {"packet": name, **document(known, raw), "run": None}
    if said["fault"] is None and known.map is not None:
        try:
            verdict = FormatBench(known, raw, DeviceSpec()).verdict()
        except FormatFault as fault:
            return {**said, "fault": {"code": fault.code, "field": fault.field, "text": fault.text}}
        said["run"] = {
            "op": verdict.op,
            "ending": verdict.ending,
            "device_ticks": verdict.device_ticks,
            "output_bytes": verdict.output_bytes,
            "right": verdict.right,
            "text": str(verdict),
        }
    return said


def _words(said: dict[str, Any]) -> str:
    if fault := said["fault"]:
        return f"refused: {fault['field']}: {fault['text']} [{fault['code']}]"
    return f"valid, {said['run']['text']}" if said["run"] else "valid"


def disasm_custom(format_file: str, packets: Sequence[str], *, as_json: bool) -> None:
    """The listings on stdout. Raises PartlyInvalid for files that can not be read, once the others are shown."""
    from tessbed.scenarios.verification.packet_formats.format_file import read_format
    from tessbed.scenarios.verification.packet_formats.listing import document, listing

    known = read_format(format_file)
    found, problems = readable(packets)
    documents = [{"packet": name, **document(known, raw)} for name, raw in found]
    for index, (name, raw) in enumerate(found if not as_json else ()):
        first, *lines = listing(known, raw)
        echo(*([""] if index else []), f"{name}: {first}" if len(packets) > 1 else first, *lines)
    if problems:
        raise PartlyInvalid(problems, {"packets": documents})
    if as_json:
        echo_json(documents)


def diff_custom(format_file: str, left: str, right: str, *, as_json: bool, quiet: bool) -> int:
    """A line for each field that differs; returns the exit code."""
    from tessbed.scenarios.verification.packet_formats.format_file import read_format
    from tessbed.scenarios.verification.packet_formats.listing import differences, trailing_difference

    known = read_format(format_file)
    one, other = (raw for _, raw in read_packets((left, right)))
    changes = differences(known, one, other)
    if as_json:
        fields = [{"field": each.field.name, "left": each.left, "right": each.right} for each in changes]
        echo_json({"equal": one == other, "bytes": [len(one), len(other)], "fields": fields})
    elif one == other:
        say("the packets are equal", quiet=quiet)
    else:
        rest = trailing_difference(known, one, other)
        echo(*map(str, changes), *([rest] if rest else []))
    return OK if one == other else FAILED


def flip_custom(format_file: str, targets: Sequence[str], *, as_json: bool, quiet: bool) -> int:
    """Flip every bit of each packet; the outcomes on stdout. Returns the exit code."""
    from tessbed.scenarios.verification.packet_formats.device_trial import FormatBench
    from tessbed.scenarios.verification.packet_formats.field_table import FormatFault
    from tessbed.scenarios.verification.packet_formats.format_file import read_format
    from tessbed.scenarios.verification.packet_formats.format_flips import flip_format_bits
    from tessbed.sim.spec.device_spec import DeviceSpec

    known = read_format(format_file)
    documents, good = [], True
    for target in targets:
        raw = read_packet(target)
        shown = not (quiet or as_json) and sys.stderr.isatty()
        bar: Any = click.progressbar(length=8 * len(raw), file=sys.stderr, label="flipping bits") if shown else None
        bits = []
        try:
            bench = FormatBench(known, raw, DeviceSpec()) if known.map is not None else None
            with bar or nullcontext():
                for bit in flip_format_bits(known, raw, bench):
                    bits.append(bit)
                    if bar:
                        bar.update(1)
        except FormatFault as fault:
            raise click.ClickException(f"{target}: {fault}; the bits of a valid packet are flipped") from None
        fine = all(bit.explained for bit in bits)
        good, documents = good and fine, [*documents, _flip_document(target, bits, fine)]
        if not as_json:
            echo_verdict([f"{target}: what became of each flipped bit", "", *_flip_lines(bits, fine)], fine)
    if as_json:
        echo_json({"schema_version": 1, "format": known.format.name, "packets": documents})
    return OK if good else FAILED


def _flip_lines(bits: "list[FormatBit]", fine: bool) -> list[str]:
    from tessbed.scenarios.verification.packet_formats.format_flips import FormatFlipOutcome, by_format_field
    from tessbed.scenarios.verification.packet_formats.listing import place

    kinds = [kind for kind in FormatFlipOutcome if any(bit.outcome is kind for bit in bits)]
    rows = [
        (place(field).strip(), field.name, *(str(counts[kind] or "") for kind in kinds))
        for field, counts in by_format_field(bits)
    ]
    total = Counter(bit.outcome for bit in bits)
    rows.append(("", "all", *(str(total[kind]) for kind in kinds)))
    table = aligned(("place", "field", *(kind.value for kind in kinds)), rows, numbers=range(2, 2 + len(kinds)))
    wrong = [bit for bit in bits if not bit.explained]
    lines = [
        f"unexplained: {bit.field.name} bit {bit.number}: ends in {bit.with_old_sum} with the check sum as it was, in"
        f" {bit.with_new_sum} with it corrected; {bit.outcome.value}"
        for bit in wrong
    ]
    verdict = (
        f"ok: {len(bits):,} bits explained" if fine else f"FAILED: {len(wrong):,} of {len(bits):,} bits unexplained"
    )
    return [*table, "", *lines, verdict]


def _flip_document(target: str, bits: "list[FormatBit]", fine: bool) -> dict[str, Any]:
    flips = [
        {
            "field": bit.field.name,
            "bit": bit.number,
            "with_old_sum": bit.with_old_sum,
            "with_new_sum": bit.with_new_sum,
            "outcome": bit.outcome.value,
        }
        for bit in bits
    ]
    counts = Counter(bit.outcome.value for bit in bits)
    verdict = "ok" if fine else "failed"
    return {"packet": target, "verdict": verdict, "bits": len(bits), "outcomes": dict(counts), "flips": flips}
