"""Packet files as the packet verbs take them: paths, or - for standard input."""

import sys
from pathlib import Path

import click

from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ev74.packet import Packet, PacketFault
from tessbed.kernels.ev74.rules import check_packet
from tessbed.scenarios.folder import file_name
from tessbed.scenarios.model import Job, Scenario
from tessbed.scenarios.run import JobOutcome

MAX_FILE_BYTES = 1 << 20


def read_packet(name: str) -> bytes:
    """The bytes of a packet file, valid or not. Raises OSError, UsageError for what is far too large to be one."""
    if name == "-":
        return _bounded(sys.stdin.buffer.read(MAX_FILE_BYTES + 1), "standard input")
    with Path(name).open("rb") as file:
        return _bounded(file.read(MAX_FILE_BYTES + 1), name)


def _bounded(raw: bytes, name: str) -> bytes:
    if len(raw) > MAX_FILE_BYTES:
        raise click.UsageError(f"{name}: got more than {MAX_FILE_BYTES:,} bytes; is this a packet?")
    return raw


def fault(raw: bytes) -> dict[str, str] | None:
    """What is wrong with the packet, as JSON holds it; None where it is valid."""
    try:
        check_packet(raw)
    except PacketFault as found:
        return {"code": found.code, "field": found.field, "text": found.text}
    return None


def device_jobs(scenario: Scenario) -> list[Job]:
    """The jobs that have a packet: on EV74, and not empty. Raises ClickException where there is none."""
    jobs = [job for job in scenario.jobs if "ev74" in job.backends and not job.plan.empty]
    if not jobs:
        raise click.ClickException(f"{scenario.name!r} has no packet: no job runs on ev74 and moves a byte")
    return jobs


def file_stem(job: Job) -> str:
    """The job's number and its name, as far as it fits into a file name."""
    return file_name(JobOutcome(job, ()))


def job_packet(job: Job) -> Packet:
    """The job's relocatable packet."""
    return encode_plan(job.plan, job.plan.op)
