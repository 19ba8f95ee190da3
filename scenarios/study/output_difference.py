"""Output difference: the outputs that two run folders keep, byte by byte, and what the first byte is that differs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tessbed.kernels.custom.kernel_plan import PortLayout
from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.format.texts import RUN_SCENARIO
from tessbed.scenarios.judgement import oracle_case
from tessbed.scenarios.library import load
from tessbed.scenarios.model import AnyJob, KernelJob
from tessbed.scenarios.oracle.comparison import place_of_byte
from tessbed.scenarios.run_folder import OUTPUTS, file_name

CHUNK_BYTES = 1 << 24
OF_BACKENDS = ("", ".ev74", ".a65")
"""The endings of an output's name: one for all backends, or that of one where they differ."""


def output_differences(one: Path, other: Path) -> list[dict[str, Any]]:
    """For each output of a job that both folders have: its bytes, how many differ, and the first of them.

    An output that a folder does not keep is `missing` there. Raises ScenarioError, OSError.
    """
    jobs, others = _jobs(one), _jobs(other)
    return [
        _difference(name, port, jobs[name], others[name], one, other)
        for name in jobs
        if name in others
        for port in _ports(jobs[name])
    ]


def _jobs(folder: Path) -> dict[str, AnyJob]:
    """The jobs of a run folder by name; nobody needs the bytes of their inputs."""
    scenario = prepared(load(str(folder / RUN_SCENARIO), to_run=False))
    return {job.name: job for job in scenario.jobs}


def _ports(job: AnyJob) -> list[str]:
    return [port.name for port in job.planned.outputs] if isinstance(job, KernelJob) else [""]


def _difference(name: str, port: str, job: AnyJob, other_job: AnyJob, one: Path, other: Path) -> dict[str, Any]:
    left, right = _kept(one, job, port), _kept(other, other_job, port)
    row: dict[str, Any] = {"job": name, "port": port, "bytes": None, "differing_bytes": None, "first": None}
    row["missing"] = [str(folder) for folder, path in ((one, left), (other, right)) if path is None]
    if left is None or right is None:
        return row
    row["bytes"] = [left.stat().st_size, right.stat().st_size]
    row["differing_bytes"], first = _compare(left, right)
    if first is not None and row["bytes"][0] == row["bytes"][1]:
        offset, before, after = first
        row["first"] = {"offset": offset, "before": before, "after": after, "place": _place(job, port, *first)}
    return row


def _kept(folder: Path, job: AnyJob, port: str) -> Path | None:
    name = file_name(job) + (f".{port}" if port else "")
    paths = (folder / OUTPUTS / f"{name}{ending}.bin" for ending in OF_BACKENDS)
    return next((path for path in paths if path.is_file()), None)


def _compare(one: Path, other: Path) -> tuple[int, tuple[int, int, int] | None]:
    """How many bytes differ, as far as both go, and the first: its offset, and what it is in each."""
    count, first, at = 0, None, 0
    with one.open("rb") as left, other.open("rb") as right:
        while (a := left.read(CHUNK_BYTES)) and (b := right.read(CHUNK_BYTES)):
            size = min(len(a), len(b))
            differs = np.flatnonzero(np.frombuffer(a, np.uint8, size) != np.frombuffer(b, np.uint8, size))
            count += differs.size
            if first is None and differs.size:
                place = int(differs[0])
                first = at + place, a[place], b[place]
            at += size
    return count, first


def _place(job: AnyJob, port: str, offset: int, before: int, after: int) -> str:
    """What the byte at that offset of an output is, in words."""
    if isinstance(job, KernelJob):
        return _scalar(next(layout for layout in job.planned.outputs if layout.name == port), offset)
    return place_of_byte(oracle_case(job.geometry), offset, after, before).place


def _scalar(layout: PortLayout, offset: int) -> str:
    number, byte = divmod(offset, layout.type.dtype.itemsize)
    return f"byte {byte} of scalar {[int(index) for index in np.unravel_index(number, layout.shape)]}"


def output_lines(differences: list[dict[str, Any]]) -> Iterator[str]:
    """The differences for a person."""
    equal = [row for row in differences if row["differing_bytes"] == 0 and row["bytes"][0] == row["bytes"][1]]
    if equal:
        yield f"outputs of {len(equal)} of {len(differences)} equal, byte for byte"
    for row in differences:
        name = row["job"] + (f", port {row['port']}" if row["port"] else "")
        first = row["first"]
        if row["missing"]:
            yield f"{name}: no output is kept in {' and '.join(row['missing'])}"
        elif row["bytes"][0] != row["bytes"][1]:
            yield f"{name}: {row['bytes'][0]:,} bytes and {row['bytes'][1]:,} bytes of output"
        elif first is not None:
            count = f"{row['differing_bytes']:,} of {row['bytes'][0]:,} bytes differ"
            values = f"{first['before']:#04x} and {first['after']:#04x} ({first['place']})"
            yield f"{name}: {count}, the first at {first['offset']:,}: {values}"
