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
    from tessbed.kernels.ev74.codec import Packet
    from tessbed.scenarios.model import Scenario, ScenarioJob

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
    from tessbed.kernels.ev74.codec import PacketFault
    from tessbed.kernels.ev74.rules import check_packet

    try:
        check_packet(raw)
    except PacketFault as found:
        return {"code": found.code, "field": found.field, "text": found.text}
    return None


def device_jobs(scenario: "Scenario") -> "list[ScenarioJob]":
    """The jobs that have a packet: on EV74, and not empty. Raises ClickException where there is none."""
    jobs = [job for job in scenario.operations if "ev74" in job.backends and not job.plan.empty]
    if not jobs:
        raise click.ClickException(f"{scenario.name!r} has no packet: no job runs on ev74 and moves a byte")
    return jobs


def file_stem(job: "ScenarioJob") -> str:
    """The job's number and its name, as far as it fits into a file name."""
    from tessbed.scenarios.run_folder import file_name

    return file_name(job)


def job_packet(job: "ScenarioJob") -> "Packet":
    """The job's relocatable packet."""
    from tessbed.kernels.ev74.encode import encode_plan

    return encode_plan(job.plan)
