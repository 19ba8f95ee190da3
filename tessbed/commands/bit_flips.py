"""Bit-flip coverage (`tessbed verify --census`): measures it with a progress bar, prints a table or JSON."""

from collections.abc import Sequence
from typing import Any

import attrs
import click

from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import echo_verdict
from tessbed.commands.packet_files import device_jobs
from tessbed.commands.progress import counted
from tessbed.commands.streams import echo_json
from tessbed.scenarios.model import Scenario, ScenarioJob
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.verification.bit_flips import (
    BITS,
    Bit,
    BitFlipError,
    FlipOutcome,
    benches,
    by_field,
    flip_every_bit,
)

SCHEMA_VERSION = 1


def take(scenario: Scenario, *, as_json: bool, quiet: bool) -> int:
    """Flips every bit of the scenario's packets; the result on stdout. Returns the exit code."""
    device_jobs(attrs.evolve(scenario, jobs=scenario.operations))
    try:
        found = _count(scenario, quiet=quiet or as_json)
    except BitFlipError as error:
        raise click.ClickException(str(error)) from error
    good = all(bit.explained for bits in found.values() for bit in bits)
    if as_json:
        echo_json(_document(scenario, found, good))
    else:
        echo_verdict(_lines(found, good), good)
    return OK if good else FAILED


def _count(scenario: Scenario, *, quiet: bool) -> dict[ScenarioJob, list[Bit]]:
    todo = benches(scenario)
    found: dict[ScenarioJob, list[Bit]] = {job: [] for job in todo}
    with counted(BITS * len(todo), "bits", quiet=quiet) as advance:
        for job, bench in todo.items():
            for bit in flip_every_bit(bench):
                found[job].append(bit)
                advance(1)
    return found


def _lines(found: dict[ScenarioJob, list[Bit]], good: bool) -> list[str]:
    lines = []
    for job, bits in found.items():
        lines += [f"{job.name}: what became of each flipped bit once the checksum was repaired", "", *_table(bits), ""]
        lines += [
            f"unexplained: {bit.field.name} bit {bit.number}: ends in {bit.with_old_crc} with the checksum as it"
            f" was, in {bit.with_new_crc} with it repaired; {bit.outcome.value}"
            for bit in _unexplained(bits)
        ]
    total = sum(map(len, found.values()))
    failed = sum(len(_unexplained(bits)) for bits in found.values())
    verdict = f"ok: {total:,} bits, each caught by the checksum as it was, each explained with it repaired"
    return [*lines, verdict if good else f"FAILED: {failed:,} of {total:,} bits unexplained"]


def _table(bits: Sequence[Bit]) -> list[str]:
    header = ("offset", "field", *(outcome.value for outcome in FlipOutcome))
    rows = [
        (f"{field.offset:#05x}", field.name, *(str(counts[outcome] or "") for outcome in FlipOutcome))
        for field, counts in by_field(bits).items()
    ]
    total = ("", "all", *(str(sum(bit.outcome is outcome for bit in bits)) for outcome in FlipOutcome))
    return aligned(header, [*rows, total], numbers=range(2, 2 + len(FlipOutcome)))


def _unexplained(bits: Sequence[Bit]) -> list[Bit]:
    return [bit for bit in bits if not bit.explained]


def _document(scenario: Scenario, found: dict[ScenarioJob, list[Bit]], good: bool) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "name": scenario.name,
        "verdict": "ok" if good else "failed",
        "jobs": [
            {
                "name": job.name,
                "bits": len(bits),
                "unexplained": len(_unexplained(bits)),
                "fates": {outcome.value: sum(bit.outcome is outcome for bit in bits) for outcome in FlipOutcome},
                "fields": {
                    field.name: {outcome.value: count for outcome, count in counts.items()}
                    for field, counts in by_field(bits).items()
                },
                "flips": [_flip(bit) for bit in bits],
            }
            for job, bits in found.items()
        ],
    }


def _flip(bit: Bit) -> dict[str, Any]:
    return {
        "field": bit.field.name,
        "bit": bit.number,
        "with_old_crc": bit.with_old_crc,
        "with_new_crc": bit.with_new_crc,
        "fate": bit.outcome.value,
    }
