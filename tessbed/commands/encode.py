"""`tessbed encode`: the relocatable packet of every EV74 job, with its disassembly beside it."""

import errno
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tessbed.commands.options import json_option, new_command, print_result, scenario_arguments
from tessbed.commands.packet_files import device_jobs, fault, file_stem, is_bound, job_packet, read_packet
from tessbed.commands.types import Folder

if TYPE_CHECKING:
    from tessbed.scenarios.model import AnyJob

HELP = """Write one relocatable packet (.bin) for each EV74 job of SCENARIO, and its disassembly (.txt).

Prints the paths of the packets. Addresses are zero: nothing has been bound or run."""


@new_command("encode", HELP)
@scenario_arguments
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=Folder(),
    help="Output folder, created if missing.",
)
@json_option
def command(file: str, settings: tuple[str, ...], seed: int | None, output: Path, as_json: bool) -> None:
    """The paths, or what was written as JSON, on stdout."""
    from tessbed.scenarios.library import load

    jobs = device_jobs(load(file, settings, seed, to_run=False))
    packets = {output / f"{file_stem(job)}.bin": (job, job_packet(job)) for job in jobs}
    _write(output, {path: raw for path, (_, raw) in packets.items()})
    written = [_entry(path, job, raw) for path, (job, raw) in packets.items()]
    print_result(written, lambda: [entry["packet"] for entry in written], as_json=as_json)


def _write(folder: Path, packets: dict[Path, bytes]) -> None:
    """Write packets and listings. Raises OSError; then no file has changed."""
    from tessbed.scenarios.output.files import write_files
    from tessbed.scenarios.output.folder import folder_of_files

    with folder_of_files(folder):
        for path, raw in packets.items():
            _check_earlier(path, raw)
        write_files(packets | {path.with_suffix(".txt"): _listing(raw) for path, raw in packets.items()})


def _listing(raw: bytes) -> bytes:
    from tessbed.kernels.disassembly import disassemble

    return disassemble(raw).encode()


def _check_earlier(path: Path, raw: bytes) -> None:
    """Raise FileExistsError where a packet or its listing would replace anything but what this command writes."""
    listing, earlier = path.with_suffix(".txt"), _content(path)
    if earlier not in (None, raw) and not _unbound(earlier):
        raise _other(path, "is no packet without addresses")
    if _content(listing) not in (None, _listing(raw), _listing(earlier or raw)):
        raise _other(listing, f"is not the listing of {path.name}")


def _content(path: Path) -> bytes | None:
    """The content of a regular file that may be replaced, as far as a packet could go; None where there is none."""
    from tessbed.scenarios.output.files import check_file

    check_file(path)
    return read_packet(str(path)) if path.exists() else None


def _unbound(raw: bytes) -> bool:
    return fault(raw) is None and not is_bound(raw)


def _other(path: Path, text: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"File exists and {text}: name another folder, or remove it", str(path))


def _entry(path: Path, job: "AnyJob", raw: bytes) -> dict[str, str | int]:
    listing, digest = path.with_suffix(".txt"), hashlib.sha256(raw).hexdigest()
    return {"job": job.name, "packet": str(path), "disassembly": str(listing), "bytes": len(raw), "sha256": digest}
