"""Job parser: from the values of one [[jobs]] table to a ScenarioJob; checks the combination of its keys.

An error in one key does not hide those in others: what was reported already is replaced by something harmless, and the
rest goes before admission all the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from tessbed.kernels import (
    OPERATIONS,
    ChannelStorage,
    Contiguous,
    DType,
    MlaCBlocked,
    MlaTiled,
    Op,
    Plan,
    Strided,
)
from tessbed.kernels.admission import MAX_RANK
from tessbed.kernels.operations import Operation, Parameter, TileFormat, names_where
from tessbed.scenarios import inputs
from tessbed.scenarios.format.admission_errors import (
    AdmissionResult,
    admit,
    clear_of,
    narrowest,
    representable,
    unsupported,
)
from tessbed.scenarios.format.diagnostics import KeyPath, closest
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.format.schema_keys import BACKENDS, BLOCKED, CHANNELS, CHOOSING, all_dtypes, op_names, targets
from tessbed.scenarios.model import Geometry, InputSource, ScenarioJob, TickLimit
from tessbed.sim.fault_injection import FAULT_KINDS, TRANSFER_FAULTS, Fault
from tessbed.sim.spec.device_spec import DeviceSpec

FILL = "int8_channel_padding"
TICK_NAMES = ("device_ticks", "job_ticks")


@attrs.frozen
class JobFindings:
    """What is known of a job, right or wrong: enough of its plan to judge what it asks of a device."""

    index: int
    plan: Plan
    backends: tuple[str, ...]
    known: frozenset[str]
    job: ScenarioJob | None = None


def job_of(
    reader: Reader, path: KeyPath, values: dict[str, Any], device: DeviceSpec, folder: Path, *, to_run: bool = True
) -> JobFindings | None:
    """The job whose keys are at `path`, or what is known of one with errors; a job `to_run` needs its input."""
    if path in reader.invalid:
        return None
    guesses = _guesses(reader, path, values)
    values = values | guesses
    _together(reader, path, values)
    backends = ("a65", "ev74") if values.get("backend", "both") == "both" else (values["backend"],)
    geometry = _geometry(reader, path, values)
    found = admit(geometry)
    known = _known(reader, path, guesses, geometry.op, found)
    plan = _plan(reader, path, found, known, ev74="ev74" in backends, to_run=to_run)
    if not (reader.sound((*path, "shape")) and reader.sound((*path, "linear"))):
        known -= {"span"}  # no packet can hold it
    workers, most = values.get("workers"), device.workers
    if "ev74" not in backends:
        _report_ev74_keys(reader, path, values)
    elif workers is not None and reader.sound(("device", "workers")) and workers > most:
        reader.report_error((*path, "workers"), f"got {workers}, wanted at most {most}, the workers of the device")
    source = _input_source(values.get("input") or {}, folder)
    if to_run:
        for text in inputs.errors(source, plan, known):
            reader.report_error((*path, "input", "file" if source.path else "pattern"), text)
    if "ev74" in backends:
        empty = plan is not None and "shape" in known and plan.empty
        launched = min(workers or most, most) if reader.sound(("device", "workers")) else workers
        _report_idle_faults(reader, path, values, empty, launched)
    if plan is None:
        return None
    job = _job(path, values, geometry, plan, backends, source) if reader.sound(path) else None
    return JobFindings(int(path[-1]), plan, backends, known, job)


def _job(
    path: KeyPath,
    values: dict[str, Any],
    geometry: Geometry,
    plan: Plan,
    backends: tuple[str, ...],
    source: InputSource,
) -> ScenarioJob:
    expected = values["expect"] or {}
    return ScenarioJob(
        index=int(path[-1]),
        name=values["name"],
        geometry=geometry,
        plan=plan,
        backends=backends,
        input=source,
        output_prefill=values["output_prefill"],
        workers=values["workers"],
        expected_sha256=expected.get("output_sha256"),
        expected_fault=expected.get("fault"),
        expected_ticks=tuple(tick_limits(expected)),
        timeout_ticks=values["timeout_ticks"],
        policy=values["policy"] or "uncached",
        faults=tuple(Fault(**fault) for fault in values["faults"]),
    )


def _known(
    reader: Reader, path: KeyPath, guesses: dict[str, Any], op: Operation, found: AdmissionResult
) -> frozenset[str]:
    """What of the plan is the job's own, and not a substitute."""
    corrected = {keys[0] for keys, _ in found.errors}
    sound = {name for name in GEOMETRY if name in guesses or reader.sound((*path, name))} - corrected
    if not op.chooses_output:
        sound.add("to")
    if reader.sound((*path, "tiled", "channels")) and (*path, "cblocked") not in reader.invalid:
        sound.add("format")
    scalars = {"op", "dtype", "to"} if op.packs else {"op", "dtype"}
    of = {
        "op": {"op"},
        "dtype": {"op", "dtype"},
        "shape": {"shape"},
        "tiled dtype": scalars,
        "kernel": scalars | {"format"},
        "span": set(GEOMETRY),
    }
    return frozenset(name for name, keys in of.items() if keys <= sound)


GEOMETRY = ("op", "dtype", "to", "shape", "tiled", "cblocked", "linear")
GUESSED = {"op": op_names, "dtype": all_dtypes, "to": targets, "backend": lambda: BACKENDS}


def _guesses(reader: Reader, path: KeyPath, values: dict[str, Any]) -> dict[str, str]:
    """The names that were probably meant for those that are misspelt, which are reported already."""
    written = written_at(reader, path)
    found = {}
    for name, names in GUESSED.items():
        text = written.get(name)
        if name not in values and isinstance(text, str) and (meant := closest(text, names())):
            found[name] = meant
    return found


def written_at(reader: Reader, path: KeyPath) -> dict[str, Any]:
    """The table at `path` as it is written, right or wrong; empty where there is none."""
    value: Any = reader.source.values
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        else:
            value = value[int(step)] if isinstance(value, list) else None
    return value if isinstance(value, dict) else {}


def _together(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
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


def judge_expected_ticks(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    """Report limits of ticks that nothing can keep: none at all, two that exclude each other, those of a failure."""
    expected = values.get("expect") or {}
    for name in TICK_NAMES:
        limits, here = expected.get(name), (*path, "expect", name)
        if limits is None or not reader.sound(here):
            continue
        if expected.get("fault"):
            text = f"got {name} and fault, wanted one of them: a job that fails has no such ticks"
            _error_at_key(reader, here, text)
        elif isinstance(limits, dict):
            low, high = limits.get("at_least"), limits.get("at_most")
            if low is None and high is None:
                reader.report_error(here, "got an empty table, wanted at_most, at_least or both")
            elif low is not None and high is not None and low > high:
                reader.report_error((*here, "at_least"), f"got {low}, wanted no more than at_most, {high}")


def tick_limits(expected: dict[str, Any]) -> Iterator[TickLimit]:
    """The limits that `expect` says."""
    for name in TICK_NAMES:
        limits = expected.get(name)
        if isinstance(limits, dict):
            yield TickLimit(name, limits.get("at_most"), limits.get("at_least"))
        elif limits is not None:
            yield TickLimit(name, limits, limits)


def _report_ev74_keys(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    """Report what only EV74 knows, on a job that it does not run: such a setting is never met."""
    if values.get("backend") == "a65":
        for keys, value in _on_ev74_only(values):
            text = f"got {value} on a job that only a65 runs, wanted no such key, or backend ev74 or both"
            _error_at_key(reader, (*path, *keys), text)


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


def _report_idle_faults(
    reader: Reader, path: KeyPath, values: dict[str, Any], empty: bool, workers: int | None
) -> None:
    """Report the faults that nothing can meet: of an empty tensor, of workers that are not there, late by no tick."""
    if empty:
        for keys, value in _on_ev74_only(values):
            if keys[0] == "faults" or keys == ("expect", "fault"):
                text = f"got {value} on an empty tensor, wanted no such key: nothing is submitted, nothing fails"
                _error_at_key(reader, (*path, *keys), text)
        return
    for index, fault in enumerate(values.get("faults", ())):
        worker, where = fault.get("worker", 0), (*path, "faults", index)
        kind = fault.get("kind") or closest(str(written_at(reader, where).get("kind")), FAULT_KINDS)
        if kind in TRANSFER_FAULTS and workers is not None and worker >= workers:
            text = f"got {worker}, wanted at most {workers - 1}: the job has {workers} workers, numbered from 0"
            reader.report_error((*path, "faults", index, "worker"), text)
        if kind == "late" and fault.get("ticks") == 0:
            text = "got 0 on a late completion, wanted an integer of at least 1: how many ticks late it is"
            _error_at_key(reader, (*where, "ticks"), text)


def _one_layout(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    layouts = [name for name in ("tiled", "cblocked") if name not in values or values[name] is not None]
    if not layouts:
        here = reader.source.place(path)
        example = _tiled_example(values.get("shape") or ())
        text = f"missing, wanted tiled, such as {example}, or cblocked on {BLOCKED}"
        reader.report_error((*path, "tiled"), text, here)
    elif len(layouts) == 2:
        _error_at_key(reader, (*path, "cblocked"), "got tiled and cblocked, wanted one of them")


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
        _error_at_key(reader, (*path, "to"), text)
    own = [parameter.name for parameter in op.parameters]
    for parameter in _parameters():
        value = parameter.value_in(values)
        if value is not None and parameter.name not in own:
            does = f"only {names_where(lambda row, p=parameter: p in row.parameters)} {parameter.does}"
            where = (parameter.group, parameter.name) if parameter.group else (parameter.name,)
            _error_at_key(reader, (*path, *where), f"got {value} on {op.name}, wanted no such key: {does}")


def _parameters() -> list[Parameter]:
    """Every parameter of the table, once."""
    found = {parameter.name: parameter for row in OPERATIONS.values() for parameter in row.parameters}
    return list(found.values())


def _error_at_key(reader: Reader, path: KeyPath, text: str) -> None:
    reader.report_error(path, text, reader.source.key_place(path))


def _plan(
    reader: Reader, path: KeyPath, found: AdmissionResult, known: frozenset[str], *, ev74: bool, to_run: bool
) -> Plan | None:
    """The admitted plan; errors of what can be judged are reported even where other keys of the job are wrong.

    Of a job with errors it is the plan of what is right about it, if there is one.
    """
    errors = [
        (keys, text) for keys, text in found.errors if "op" in known or keys[0] in ("shape", "tiled", "linear")
    ]  # what all operations admit is known without one
    if found.corrected is not None and ev74 and "span" in known and (unfit := representable(found.corrected)):
        errors.append(unfit)
    if found.plan is not None and to_run and not errors:
        errors = list(unsupported(found.plan, ev74=ev74))
    for keys, text in errors:
        if (*path, *keys) not in reader.invalid and (len(keys) > 1 or reader.sound((*path, *keys))):
            reader.report_error((*path, *keys), text)
    return found.corrected


def _geometry(reader: Reader, path: KeyPath, values: dict[str, Any]) -> Geometry:
    """What the job asks of admission, with something harmless in the place of what was reported already."""
    op = Op(values["op"]) if "op" in values else Op(_op_of(values))
    chosen = DType(values["dtype"]) if "dtype" in values else narrowest(op.inputs)
    shape = _shape(reader, path, values)
    outputs = op.outputs()
    target = values.get("to") or (narrowest(outputs).value if op.chooses_output else None)
    geometry = Geometry(
        op=op,
        dtype=chosen,
        shape=shape,
        tiled=_tiled(reader, path, values, shape),
        to=DType(target) if target and op.chooses_output else None,
        parameters=tuple(
            (parameter.name, value)
            for parameter in op.parameters
            if parameter.name != FILL and (value := parameter.value_in(values)) is not None
        ),
    )
    fill = values.get(FILL)
    if FILL not in values or "dtype" not in values:
        fill = 0 if geometry.tiled_dtype is DType.INT8 else None
    return attrs.evolve(geometry, int8_channel_padding=fill, linear=_linear(reader, path, values, geometry))


def _op_of(values: dict[str, Any]) -> str:
    """An operation that admits the layout, for a job that names none."""
    blocked = "cblocked" in values and values["cblocked"] is not None and values.get("tiled") is None
    form = TileFormat.CBLOCKED if blocked else TileFormat.COMPACT
    return next(name for name, row in OPERATIONS.items() if form in row.formats)


def _shape(reader: Reader, path: KeyPath, values: dict[str, Any]) -> tuple[int, ...]:
    """The extents; 1 for one that is no integer, and as many as the layouts need where there is no list of them."""
    if "shape" in values:
        return tuple(values["shape"])
    written = written_at(reader, path)
    if isinstance(written.get("shape"), list):
        return tuple(_extent(item) for item in written["shape"])
    axes = _integers((values.get("tiled") or {}).get("axes", ()), -1)
    strides = (values.get("linear") or {}).get("strides_bytes", ())
    return (1,) * (len(strides) or min(MAX_RANK, max(3, *(axis + 1 for axis in axes), 3)))


def _extent(item: Any) -> int:
    """The integer, or the one in a text; 1 for what is none."""
    if isinstance(item, str) and item.isascii() and item.isdecimal() and len(item) < 10:
        return int(item)
    return _integers([item], 1)[0]


def _integers(values: Iterable[Any], other: int) -> list[int]:
    return [value if isinstance(value, int) and not isinstance(value, bool) else other for value in values]


def _linear(reader: Reader, path: KeyPath, values: dict[str, Any], geometry: Geometry) -> Contiguous | Strided:
    """The strides; for those that are no integers, what is clear of all others."""
    if values.get("linear") is None:
        return Contiguous()
    written = written_at(reader, (*path, "linear")).get("strides_bytes")
    if not isinstance(written, list):
        return Contiguous()
    strides = _integers(written, 0)
    if len(strides) == len(geometry.shape):
        for axis, (value, stride) in enumerate(zip(written, strides, strict=True)):
            if isinstance(value, bool) or value != stride:
                strides[axis] = clear_of(strides, geometry.shape, axis, geometry.linear_dtype.width)
    return Strided(tuple(strides))


def _tiled(reader: Reader, path: KeyPath, values: dict[str, Any], shape: tuple[int, ...]) -> MlaTiled | MlaCBlocked:
    """The layout, with harmless entries in the place of those that are wrong by themselves."""
    channel = max(0, len(shape) - 1)
    if values.get("cblocked") is not None and values.get("tiled") is None:
        return MlaCBlocked(*_entries(reader, (*path, "cblocked"), "tile", [1, 1, 1], 1))
    given = values.get("tiled")
    if given is None:
        return MlaTiled((-1, -1, -1, channel), (1, 1, 1, 1))
    where = (*path, "tiled")
    axes = _entries(reader, where, "axes", [-1, -1, -1, channel], None)
    tile = _entries(reader, where, "tile", [1, 1, 1, 1], 1)
    if "axes" not in given and axes[:3] == [-1, -1, -1]:
        tile[:3] = [min(1, extent) for extent in tile[:3]]
    for position, axis in enumerate(axes):
        if axis is None and position == 3:
            axes[3] = next((free for free in range(len(shape)) if free not in axes), channel)
        elif axis is None:
            axes[position], tile[position] = -1, min(1, tile[position])
    channels = given.get("channels") or closest(str(written_at(reader, where).get("channels")), CHANNELS) or "compact"
    return MlaTiled(tuple(axes), tuple(tile), ChannelStorage(channels))


def _entries(reader: Reader, path: KeyPath, name: str, without: list[int], other: int | None) -> list[Any]:
    """The entries of a list, `other` for those that are no integers; `without` where it is no list of that length."""
    written = written_at(reader, path).get(name)
    if not isinstance(written, list) or len(written) != len(without):
        return without
    return [item if isinstance(item, int) and not isinstance(item, bool) else other for item in written]


def _input_source(values: dict[str, Any], folder: Path) -> InputSource:
    written = values.get("file")
    return InputSource(
        values.get("pattern"), folder / written if written else None, written, values.get("job"), values.get("port")
    )
