"""`tessbed verify`: validates packets as the firmware does, and measures their bit-flip coverage."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from tessbed.commands import custom_packets
from tessbed.commands.custom_packets import format_option
from tessbed.commands.diagnostics import PartlyInvalid
from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import MAX_SEED, json_option, new_command, quiet_option, settings_option
from tessbed.commands.packet_files import STDIN, device_jobs, fault, is_bound, job_packet, read_packet, repaired
from tessbed.commands.streams import echo, echo_json
from tessbed.commands.types import SCENARIO, Number
from tessbed.scenarios.format.diagnostics import Problem, ScenarioError

HELP = """Validate packets as the firmware does, apart from addresses: valid and unbound, valid and bound, or refused.

Each TARGET is a packet file (- for standard input) or a scenario, whose EV74 jobs are encoded first.

With --census TARGET is one scenario of tiny jobs: every bit of their packets is flipped, once with the checksum as it
is and once corrected, and the device shows what each bit is for (bit-flip coverage).

With --repair-crc a wrong checksum is corrected first, so that a damaged field shows its own fault.

With --format each TARGET is a packet file of your own format, described by a TOML file. Where that maps to our geometry
the packets are run on the device, and their bytes judged.

Exit code: 0 valid, or every bit explained; 1 invalid or unexplained; 2 unreadable."""


@new_command("verify", HELP)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, type=SCENARIO)
@click.option("--census", is_flag=True, help="Flip every bit and report what each is for.")
@click.option("--repair-crc", is_flag=True, help="Judge packets as if their checksums were right.")
@format_option
@settings_option("Override a key of the scenario.")
@click.option("--seed", type=Number(0, MAX_SEED), metavar="N", help="Use this seed, not the scenario's.")
@json_option
@quiet_option
def command(
    targets: tuple[str, ...],
    census: bool,
    repair_crc: bool,
    format_file: str | None,
    settings: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """A line for each packet, or the bit-flip coverage, on stdout; returns the exit code.

    Raises PartlyInvalid for targets that can not be read, once the others are judged.
    """
    if census and repair_crc:
        raise click.BadParameter("wanted no --census: that flips bits with and without it", param_hint="--repair-crc")
    if format_file is not None:
        if settings or seed is not None:
            raise click.BadParameter("wanted no --set and no --seed: no scenario is read", param_hint="--format")
        if census:
            return custom_packets.flip_custom(format_file, targets, as_json=as_json, quiet=quiet)
        return custom_packets.verify_custom(format_file, targets, repair=repair_crc, as_json=as_json)
    if census:
        from tessbed.commands.bit_flips import take
        from tessbed.scenarios.library import load

        if len(targets) != 1 or _is_packet(targets[0]):
            text = "wanted one scenario, and no packet file: it runs the packets on the device"
            raise click.BadParameter(text, param_hint="--census")
        return take(load(targets[0], settings, seed), as_json=as_json, quiet=quiet)
    verdicts, problems = _judged(targets, settings, seed, repair=repair_crc)
    if verdicts and not as_json:
        echo(*map(str, verdicts))
    if problems:
        raise PartlyInvalid(problems, {"packets": [verdict.document() for verdict in verdicts]})
    if as_json:
        echo_json([verdict.document() for verdict in verdicts])
    return FAILED if any(verdict.fault for verdict in verdicts) else OK


@attrs.frozen
class Verdict:
    """What the firmware would say of a packet. `repaired`: whether its checksum was corrected; None if not asked."""

    packet: str
    bound: bool
    fault: dict[str, str] | None
    repaired: bool | None = None

    def __str__(self) -> str:
        return f"{self.packet}: {self._words()}{'; its checksum was wrong' if self.repaired else ''}"

    def _words(self) -> str:
        if self.fault:
            return f"refused: {self.fault['field']}: {self.fault['text']} [{self.fault['code']}]"
        return f"valid, {'bound' if self.bound else 'unbound'}"

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {key: value for key, value in attrs.asdict(self).items() if key != "repaired" or value is not None}


def _judged(
    targets: Iterable[str], settings: Sequence[str], seed: int | None, *, repair: bool
) -> tuple[list[Verdict], list[Problem]]:
    """The verdicts on all that can be read, and what is wrong with the rest."""
    verdicts, problems = [], []
    for target in targets:
        try:
            for name, raw in _packets(target, settings, seed):
                judged = repaired(raw) if repair else raw
                verdicts.append(Verdict(name, is_bound(judged), fault(judged), judged != raw if repair else None))
        except ScenarioError as error:
            problems += error.problems
    return verdicts, problems


def _is_packet(target: str) -> bool:
    return target == STDIN or (Path(target).exists() and Path(target).suffix != ".toml")


def _packets(target: str, settings: Sequence[str], seed: int | None) -> list[tuple[str, bytes]]:
    from tessbed.scenarios.library import load

    if _is_packet(target):
        return [(target, read_packet(target))]
    return [
        (f"{target}, job {job.name!r}", job_packet(job))
        for job in device_jobs(load(target, settings, seed, to_run=False))
    ]
