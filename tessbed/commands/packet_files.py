"""Packet files as the packet commands take them: paths, or - for standard input."""

import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from tessbed.commands.streams import STDIN
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError

if TYPE_CHECKING:
    from tessbed.scenarios.model import AnyJob, Scenario

MAX_FILE_BYTES = 1 << 20


def read_packets(names: Iterable[str]) -> list[tuple[str, bytes]]:
    """The bytes of packet files by name, valid or not. Raises ScenarioError with each one that can not be read."""
    found, problems = readable(names)
    if problems:
        raise ScenarioError(problems)
    return found


def readable(names: Iterable[str]) -> tuple[list[tuple[str, bytes]], list[Problem]]:
    """The same for those that can be read, and what is wrong with the others."""
    found, problems = [], []
    for name in names:
        try:
            found.append((name, read_packet(name)))
        except ScenarioError as error:
            problems += error.problems
    return found, problems


def read_packet(name: str) -> bytes:
    """The bytes of one packet file. Raises ScenarioError where it can not be read, or is far too large to be one."""
    try:
        raw = _read(name)
    except OSError as error:
        raise ScenarioError([Problem(Location(name), error.strerror or str(error), "unreadable")]) from None
    if len(raw) > MAX_FILE_BYTES:
        text = f"got more than {MAX_FILE_BYTES:,} bytes; is this a packet?"
        raise ScenarioError([Problem(Location(name), text, "unreadable")])
    return raw


def _read(name: str) -> bytes:
    if name != STDIN:
        with Path(name).open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    if sys.stdin is None:
        raise OSError(0, "standard input is closed")
    return _read_once(sys.stdin)


@cache
def _read_once(stream: TextIO) -> bytes:
    """What can be read only once is kept, since `-` may be named twice."""
    return stream.buffer.read(MAX_FILE_BYTES + 1)


def fault(raw: bytes) -> dict[str, str] | None:
    """What is wrong with the packet, as JSON holds it; None where it is valid."""
    from tessbed.kernels.custom.codec import check_call, is_custom
    from tessbed.kernels.ev74.codec import PacketFault
    from tessbed.kernels.ev74.rules import check_packet

    try:
        check_call(raw) if is_custom(raw) else check_packet(raw)
    except PacketFault as found:
        return {"code": found.code, "field": found.field, "text": found.text}
    return None


def repaired(raw: bytes) -> bytes:
    """The packet with the checksum that its other bytes ask for; as it is where it ends before that."""
    from tessbed.kernels.custom.codec import is_custom, seal_custom
    from tessbed.kernels.ev74.codec import seal
    from tessbed.kernels.ev74.fields import BY_NAME

    if len(raw) < BY_NAME["crc32"].end:
        return raw
    return seal_custom(raw) if is_custom(raw) else seal(raw)


def is_bound(raw: bytes) -> bool:
    """Whether the addresses of a packet are filled in; False for what is none."""
    from tessbed.kernels.custom.codec import decode_call, is_custom
    from tessbed.kernels.ev74.codec import Packet, PacketFault

    if not is_custom(raw):
        return Packet(raw).bound
    try:
        return all(port.address for port in decode_call(raw).ports)
    except PacketFault:
        return False


def device_jobs(scenario: "Scenario") -> "list[AnyJob]":
    """The jobs that have a packet: on EV74, and not empty; kernels of one's own are loaded.

    Raises ClickException where there is none, ScenarioError for a kernel that can not be loaded.
    """
    from tessbed.scenarios.custom.preparation import prepared

    jobs = [job for job in prepared(scenario).jobs if "ev74" in job.backends and not job.empty]
    if not jobs:
        raise click.ClickException(f"{scenario.name!r} has no packet: no job runs on ev74 and moves a byte")
    return jobs


def file_stem(job: "AnyJob") -> str:
    """The job's number and its name, as far as it fits into a file name."""
    from tessbed.scenarios.run_folder import file_name

    return file_name(job)


def job_packet(job: "AnyJob") -> bytes:
    """The job's relocatable packet."""
    from tessbed.kernels.custom.encode import encode_kernel
    from tessbed.kernels.ev74.encode import encode_plan
    from tessbed.scenarios.model import KernelJob

    return encode_kernel(job.planned).raw if isinstance(job, KernelJob) else encode_plan(job.plan).raw
