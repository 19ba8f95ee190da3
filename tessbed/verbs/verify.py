"""`tessbed verify`: judges packets as the firmware would, and takes a census of their bits."""

import json
from pathlib import Path

import click

from tessbed.kernels.ev74.packet import Packet
from tessbed.scenarios.library import load
from tessbed.verbs.exits import FAILED, OK
from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option, quiet_option
from tessbed.verbs.packet_files import device_jobs, fault, job_packet, read_packet

HELP = """Judge packets as the firmware would, addresses apart: valid and unbound, valid and bound, or refused.

Each TARGET is a packet file (- for standard input) or a scenario, whose EV74 jobs are encoded first.

With --census TARGET is one scenario of tiny jobs: every bit of their packets is flipped, once with the checksum as it
is and once repaired, and the device shows what each bit is for.

Exit code: 0 valid, or every bit explained; 1 not; 2 unreadable."""


@verb("verify", HELP)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option("--census", is_flag=True, help="Flip every bit, and say what it is for.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the scenario.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="Use this seed, not the scenario's.")
@json_option
@quiet_option
def command(
    targets: tuple[str, ...], census: bool, settings: tuple[str, ...], seed: int | None, as_json: bool, quiet: bool
) -> int:
    """A line for each packet, or the census, on stdout; returns the exit code."""
    if census:
        from tessbed.verbs.census import take

        if len(targets) != 1 or _is_packet(targets[0]):
            raise click.UsageError("--census wants one scenario: it runs the packets on the device")
        return take(load(targets[0], settings, seed), as_json=as_json, quiet=quiet)
    packets = [entry for target in targets for entry in _packets(target, settings, seed)]
    verdicts = [{"packet": name, "bound": Packet(raw).bound, "fault": fault(raw)} for name, raw in packets]
    if as_json:
        click.echo(json.dumps(verdicts, indent=2))
    else:
        for (name, raw), verdict in zip(packets, verdicts, strict=True):
            click.echo(f"{name}: {_words(raw, verdict['fault'])}")
    return FAILED if any(verdict["fault"] for verdict in verdicts) else OK


def _is_packet(target: str) -> bool:
    return target == "-" or (Path(target).exists() and Path(target).suffix != ".toml")


def _packets(target: str, settings: tuple[str, ...], seed: int | None) -> list[tuple[str, bytes]]:
    if _is_packet(target):
        return [(target, read_packet(target))]
    return [(f"{target}, job {job.name!r}", job_packet(job).raw) for job in device_jobs(load(target, settings, seed))]


def _words(raw: bytes, found: dict[str, str] | None) -> str:
    if found:
        return f"refused: {found['field']}: {found['text']} [{found['code']}]"
    return f"valid, {'bound' if Packet(raw).bound else 'unbound'}"
