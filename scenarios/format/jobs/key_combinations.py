"""Keys of a job that contradict or miss each other, though each of them is right by itself."""

from collections.abc import Iterator, Sequence
from typing import Any

from tessbed.kernels import OPERATIONS
from tessbed.kernels.operations import Parameter, names_where
from tessbed.scenarios.format.diagnostics import KeyPath, closest
from tessbed.scenarios.format.jobs.expected_ticks import TICK_NAMES, judge_expected_ticks
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.format.schema_keys import BLOCKED, CHOOSING
from tessbed.sim.fault_injection import FAULT_KINDS, TRANSFER_FAULTS


def judge_together(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    """Report keys that contradict or miss each other."""
    _one_layout(reader, path, values)
    _fitting_the_op(reader, path, values)
    judge_expected_ticks(reader, path, values)
    given = values.get("input")
    if given is None or (*path, "input") in reader.invalid:
        return
    written = [name for name in ("pattern", "file", "job") if given.get(name, "what is wrong") is not None]
    if len(written) != 1:
        what = " and ".join(written) or "neither pattern nor file"
        reader.report_error((*path, "input"), f"got {what}, wanted one of them")
    elif given.get("port") is not None and "job" not in written:
        text = f"got port with {written[0]}, wanted job: it is a port of an external job"
        reader.report_error((*path, "input", "port"), text)


def judge_ev74_keys(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    """Report what only EV74 knows, on a job that it does not run: such a setting is never met."""
    if values.get("backend") == "a65":
        for keys, value in _on_ev74_only(values):
            text = f"got {value} on a job that only a65 runs, wanted no such key, or backend ev74 or both"
            reader.report_key_error((*path, *keys), text)


def _on_ev74_only(values: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """The keys of a job that are there and mean nothing without EV74, with their values in words."""
    for name in ("workers", "timeout_ticks", "policy"):
        if values.get(name):
            yield (name,), str(values[name])
    if faults := values.get("faults"):
        yield ("faults",), " and ".join(str(fault.get("kind", "a fault")) for fault in faults)
    expected = values.get("expect") or {}
    if fault := expected.get("fault"):
        yield ("expect", "fault"), fault
    for name in TICK_NAMES:
        if expected.get(name) is not None:
            yield ("expect", name), name


def judge_faults(reader: Reader, path: KeyPath, values: dict[str, Any], empty: bool, workers: int | None) -> None:
    """Report the faults that nothing can meet: of an empty tensor, of workers that are not there, late by no tick."""
    if empty:
        for keys, value in _on_ev74_only(values):
            if keys[0] == "faults" or keys == ("expect", "fault"):
                text = f"got {value} on an empty tensor, wanted no such key: nothing is submitted, nothing fails"
                reader.report_key_error((*path, *keys), text)
        return
    for index, fault in enumerate(values.get("faults", ())):
        worker, where = fault.get("worker", 0), (*path, "faults", index)
        kind = fault.get("kind") or closest(str(reader.written_at(where).get("kind")), FAULT_KINDS)
        if kind in TRANSFER_FAULTS and workers is not None and worker >= workers:
            text = f"got {worker}, wanted at most {workers - 1}: the job has {workers} workers, numbered from 0"
            reader.report_error((*path, "faults", index, "worker"), text)
        if kind == "late" and fault.get("ticks") == 0:
            text = "got 0 on a late completion, wanted an integer of at least 1: how many ticks late it is"
            reader.report_key_error((*where, "ticks"), text)


def _one_layout(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    layouts = [name for name in ("tiled", "cblocked") if name not in values or values[name] is not None]
    if not layouts:
        here = reader.source.place(path)
        example = _tiled_example(values.get("shape") or ())
        text = f"missing, wanted tiled, such as {example}, or cblocked on {BLOCKED}"
        reader.report_error((*path, "tiled"), text, here)
    elif len(layouts) == 2:
        reader.report_key_error((*path, "cblocked"), "got tiled and cblocked, wanted one of them")


def _tiled_example(shape: Sequence[int]) -> str:
    """Tiles that a tensor of this shape can have: its last three axes as height, width and channels."""
    axes = [axis if axis >= 0 else -1 for axis in range(len(shape) - 3, len(shape))] if shape else [0, 1, 2]
    extents = [shape[axis] if shape and axis >= 0 else 1 for axis in axes] if shape else [16, 16, 16]
    tile = [min(max(1, extent), most) for extent, most in zip(extents, (16, 16, 256), strict=True)]
    return f"{{ axes = {[-1, *axes]}, tile = {[1, *tile]} }}"


def _fitting_the_op(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    op = OPERATIONS.get(values.get("op", ""))
    if op is None:
        return
    target = values.get("to")
    if op.chooses_output and "to" in values and target is None:
        here = reader.source.place(path)
        wanted = " or ".join(f'"{dtype.value}"' for dtype in op.outputs())
        reader.report_error((*path, "to"), f"missing, wanted {wanted}: {op.name} needs it", here)
    elif not op.chooses_output and target is not None:
        text = f'got "{target}" on {op.name}, wanted no such key: only {CHOOSING} changes the scalar type'
        reader.report_key_error((*path, "to"), text)
    own = [parameter.name for parameter in op.parameters]
    for parameter in _parameters():
        value = parameter.value_in(values)
        if value is not None and parameter.name not in own:
            does = f"only {names_where(lambda row, p=parameter: p in row.parameters)} {parameter.does}"
            where = (parameter.group, parameter.name) if parameter.group else (parameter.name,)
            reader.report_key_error((*path, *where), f"got {value} on {op.name}, wanted no such key: {does}")


def _parameters() -> list[Parameter]:
    """Every parameter of the table, once."""
    found = {parameter.name: parameter for row in OPERATIONS.values() for parameter in row.parameters}
    return list(found.values())
