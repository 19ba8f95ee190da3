"""`tessbed encode`: the relocatable packet of every EV74 job, with its disassembly beside it."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option, print_result, scenario_arguments
from tessbed.verbs.packet_files import device_jobs, file_stem, job_packet

if TYPE_CHECKING:
    from tessbed.scenarios.model import Job

HELP = """Write one relocatable packet (.bin) for each EV74 job of SCENARIO, and its disassembly (.txt).

Prints the paths of the packets. Addresses are zero: nothing has been bound or run."""


@verb("encode", HELP)
@scenario_arguments
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="Where to write; made if missing.",
)
@json_option
def command(file: str, settings: tuple[str, ...], seed: int | None, output: Path, as_json: bool) -> None:
    """The paths, or what was written as JSON, on stdout."""
    from tessbed.scenarios.library import load

    packets = [(job, job_packet(job).raw) for job in device_jobs(load(file, settings, seed))]
    output.mkdir(parents=True, exist_ok=True)
    written = [_write(output / f"{file_stem(job)}.bin", job, raw) for job, raw in packets]
    print_result(written, lambda: [entry["packet"] for entry in written], as_json=as_json)


def _write(path: Path, job: "Job", raw: bytes) -> dict[str, str | int]:
    from tessbed.kernels.ev74.disasm import disassemble

    listing = path.with_suffix(".txt")
    path.write_bytes(raw)
    listing.write_text(disassemble(raw), encoding="utf-8", newline="\n")
    digest = hashlib.sha256(raw).hexdigest()
    return {"job": job.name, "packet": str(path), "disassembly": str(listing), "bytes": len(raw), "sha256": digest}
