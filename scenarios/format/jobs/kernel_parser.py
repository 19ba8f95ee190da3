"""Kernel parser: from the values of one [[jobs]] table with the key `kernel` to a KernelJob. It loads no kernel.

What can be judged without the kernel is judged here: the form of the reference, that its file is there, the types of
arguments and buffers. What only the kernel knows, its ports and arguments, is judged when the job is about to run.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tessbed.kernels.custom.loading import parse_reference, registered_names
from tessbed.kernels.custom.ports import unknown_scalar
from tessbed.kernels.custom.scalar_types import port_scalar
from tessbed.scenarios.format.diagnostics import KeyPath, nearest
from tessbed.scenarios.format.jobs.expected_ticks import judge_expected_ticks, tick_limits
from tessbed.scenarios.format.reader import Reader, describe_value
from tessbed.scenarios.format.schema_keys import BUFFER
from tessbed.scenarios.model import InputSource, KernelBuffer, KernelJob
from tessbed.sim.fault_injection import TRANSFER_FAULTS, Fault
from tessbed.sim.spec.device_spec import DeviceSpec

FILES = (".bin", ".npy")


def kernel_job_of(
    reader: Reader, path: KeyPath, values: dict[str, Any], device: DeviceSpec, folder: Path, *, to_run: bool = True
) -> KernelJob | None:
    """The job whose keys are at `path`, None for one with errors; a job `to_run` needs its files."""
    if path in reader.invalid:
        return None
    if "kernel" in values:
        _judge_reference(reader, (*path, "kernel"), values["kernel"], folder, to_run)
    arguments = tuple(_arguments(reader, (*path, "args"), values.get("args") or {}))
    buffers = tuple(_buffers(reader, (*path, "buffers"), values.get("buffers") or {}, folder, to_run))
    _judge_workers(reader, path, values, device)
    judge_expected_ticks(reader, path, values)
    if not reader.sound(path):
        return None
    expected = values["expect"] or {}
    return KernelJob(
        index=int(path[-1]),
        name=values["name"],
        reference=values["kernel"],
        folder=folder,
        arguments=arguments,
        buffers=buffers,
        workers=values["workers"],
        source_sha256=values["kernel_sha256"],
        expected_sha256=expected.get("output_sha256"),
        expected_fault=expected.get("fault"),
        expected_ticks=tuple(tick_limits(expected)),
        timeout_ticks=values["timeout_ticks"],
        faults=tuple(Fault(**fault) for fault in values["faults"]),
        places=_places(reader, path, values),
    )


def _judge_reference(reader: Reader, path: KeyPath, text: str, folder: Path, to_run: bool) -> None:
    """Report a text that is no reference, and a file that is not there."""
    found = parse_reference(text, folder)
    if found is None:
        known = registered_names()
        if text not in known:
            wanted = "wanted file.py:name, package.module:name, or a name that an installed package registers"
            reader.report_error(path, f'got "{text}", {wanted}{nearest(text, known)}')
    elif to_run and found.file is not None and not found.file.is_file():
        what = "is a folder" if found.file.is_dir() else "does not exist"
        reader.report_error(path, f'got "{text}", wanted a file with a kernel: {found.file} {what}')


def _arguments(reader: Reader, path: KeyPath, values: dict[str, Any]) -> Iterator[tuple[str, int | float]]:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            reader.report_error((*path, name), f"got {describe_value(value)}, wanted a number")
        else:
            yield name, value


def _buffers(
    reader: Reader, path: KeyPath, values: dict[str, Any], folder: Path, to_run: bool
) -> Iterator[KernelBuffer]:
    for port, given in values.items():
        here = (*path, port)
        said = reader.table(here, given, BUFFER)
        if not reader.sound(here):
            continue
        _judge_buffer(reader, here, said, folder, to_run)
        if reader.sound(here):
            written = said["file"]
            source = InputSource(said["pattern"], folder / written if written else None, written)
            scalar = port_scalar(said["dtype"]) if said["dtype"] else None
            shape = None if said["shape"] is None else tuple(said["shape"])
            made_by = (said["job"], said["port"] or "") if said["job"] else None
            known = scalar.name if scalar else None
            yield KernelBuffer(port, known, shape, source, said["prefill"], said["offset"], made_by)


def _judge_buffer(reader: Reader, path: KeyPath, said: dict[str, Any], folder: Path, to_run: bool) -> None:
    if said["dtype"] is not None and port_scalar(said["dtype"]) is None:
        reader.report_error((*path, "dtype"), unknown_scalar(said["dtype"]))
    if said["shape"] is not None and (not said["shape"] or min(said["shape"]) < 1):
        reader.report_error((*path, "shape"), f"got {said['shape']}, wanted extents of at least 1")
    written = said["file"]
    for other in ("pattern", "file"):
        if said["job"] is not None and said[other] is not None:
            reader.report_error((*path, "job"), f"got {other} and job, wanted one of them")
    if said["port"] is not None and said["job"] is None:
        reader.report_error((*path, "port"), "got port without job, wanted the job whose output it is")
    if written is None:
        return
    if said["pattern"] is not None:
        reader.report_error((*path, "file"), "got pattern and file, wanted one of them")
    elif Path(written).suffix.lower() not in FILES:
        reader.report_error((*path, "file"), f'got "{written}", wanted a file that ends in .bin or .npy')
    elif to_run and not (folder / written).is_file():
        reader.report_error((*path, "file"), f'got "{written}", wanted a file: {folder / written} does not exist')


def judge_makers(reader: Reader, listed: Sequence[dict[str, Any]], jobs: Sequence[KernelJob]) -> None:
    """Report inputs that no earlier job of a kernel makes: such an input would be read before it is written."""
    names = {job.get("name"): index for index, job in enumerate(listed)}
    kernels = [job.name for job in jobs]
    for job in jobs:
        for buffer in job.buffers:
            if buffer.made_by is not None:
                path = ("jobs", job.index, "buffers", buffer.port, "job")
                _judge_maker(reader, path, buffer.made_by[0], job, names, kernels)


def _judge_maker(
    reader: Reader, path: KeyPath, name: str, job: KernelJob, names: dict[Any, int], kernels: Sequence[str]
) -> None:
    index = names.get(name)
    if index is None:
        reader.report_error(path, f'got "{name}", wanted the name of an earlier job{nearest(name, kernels)}')
    elif index >= job.index:
        which = "this job itself" if index == job.index else f"jobs[{index}], which runs later"
        text = f'got "{name}", {which}: its output would be read before it is written'
        reader.report_error(path, f"{text}; wanted an earlier job")
    elif name not in kernels and reader.sound(("jobs", index)):
        reader.report_error(path, f'got "{name}", which runs no kernel, wanted an earlier job with the key kernel')


def _judge_workers(reader: Reader, path: KeyPath, values: dict[str, Any], device: DeviceSpec) -> None:
    """Report more workers than the device has, and faults of a worker that the job does not have."""
    workers, most = values.get("workers"), device.workers
    if not reader.sound(("device", "workers")):
        return
    if workers is not None and workers > most:
        reader.report_error((*path, "workers"), f"got {workers}, wanted at most {most}, the workers of the device")
    grid = min(workers or most, most)
    for index, fault in enumerate(values.get("faults") or ()):
        if fault.get("kind") in TRANSFER_FAULTS and fault.get("worker", 0) >= grid:
            text = f"got {fault['worker']}, wanted at most {grid - 1}: the job has {grid} workers, numbered from 0"
            reader.report_error((*path, "faults", index, "worker"), text)


def _places(reader: Reader, path: KeyPath, values: dict[str, Any]) -> dict[KeyPath, Any]:
    """Where the kernel, its arguments and its buffers are written, by their keys in the job."""
    keys: list[KeyPath] = [("kernel",), ("kernel_sha256",)]
    keys += [("args", name) for name in values.get("args") or {}]
    keys += [("buffers", port) for port in values.get("buffers") or {}]
    return {key: reader.source.place((*path, *key)) for key in keys}
