"""Job parser: from the values of one [[jobs]] table to an admitted Job; checks the combination of its keys.

A mistake in one key does not hide those in others: what was blamed already is replaced by something harmless, and the
rest goes before admission all the same.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
from tessbed.kernels.operations import Parameter, names_where
from tessbed.scenarios import inputs
from tessbed.scenarios.format.admission_errors import admit, representable, unsupported
from tessbed.scenarios.format.diagnostics import KeyPath
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.format.schema_keys import BLOCKED, CHOOSING
from tessbed.scenarios.model import Geometry, InputSource, ScenarioJob
from tessbed.sim.fault_injection import TRANSFER_FAULTS, Fault
from tessbed.sim.spec.device_spec import DeviceSpec

FILL = "int8_channel_padding"


def job_of(
    reader: Reader, path: KeyPath, values: dict[str, Any], device: DeviceSpec, folder: Path, *, to_run: bool = True
) -> ScenarioJob | None:
    """The job whose keys stand at `path`, or None where it was blamed for something; a job `to_run` needs its input."""
    if path in reader.invalid:
        return None
    _together(reader, path, values)
    backends = ("a65", "ev74") if values.get("backend") == "both" else (values.get("backend", "a65"),)
    plan = _plan(reader, path, values, "ev74" in backends, to_run)
    workers = values.get("workers")
    if "ev74" not in backends:
        _nowhere_to_be(reader, path, values)
    elif workers is not None and workers > device.workers:
        reader.report_error(
            (*path, "workers"), f"got {workers}, wanted at most {device.workers}, the workers of the device"
        )
    source = _input_source(values.get("input") or {}, folder)
    if to_run and plan is not None and reader.sound((*path, "input")) and (text := inputs.mistake(source, plan)):
        reader.report_error((*path, "input", "file"), text)
    if plan is not None and "ev74" in backends:
        _never_striking(reader, path, values, plan, min(workers or device.workers, device.workers))
    if plan is None or not reader.sound(path):
        return None
    return ScenarioJob(
        index=int(path[-1]),
        name=values["name"],
        geometry=_geometry(reader, path, values),
        plan=plan,
        backends=backends,
        input=source,
        output_prefill=values["output_prefill"],
        workers=workers,
        expected_sha256=(values["expect"] or {}).get("output_sha256"),
        expected_fault=(values["expect"] or {}).get("fault"),
        timeout_ticks=values["timeout_ticks"],
        faults=tuple(Fault(**fault) for fault in values["faults"]),
    )


def _together(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    """Blame keys that contradict or miss each other."""
    _one_layout(reader, path, values)
    _fitting_the_op(reader, path, values)
    given = values.get("input")
    if given and reader.sound((*path, "input")) and (given["pattern"] is None) == (given["file"] is None):
        what = "neither pattern nor file" if given["file"] is None else "pattern and file"
        reader.report_error((*path, "input"), f"got {what}, wanted one of them")


def _nowhere_to_be(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    """Blame what only EV74 knows, on a job that it does not run: such a setting is never met."""
    if values.get("backend") == "a65":
        for keys, value in _on_ev74_only(values):
            text = f"got {value} on a job that only a65 runs, wanted no such key, or backend ev74 or both"
            _error_at_key(reader, (*path, *keys), text)


def _on_ev74_only(values: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """The keys of a job that are there and mean nothing without EV74, with their values in words."""
    for name in ("workers", "timeout_ticks"):
        if values.get(name):
            yield (name,), str(values[name])
    if faults := values.get("faults"):
        yield ("faults",), " and ".join(str(fault.get("kind", "a fault")) for fault in faults)
    if fault := (values.get("expect") or {}).get("fault"):
        yield ("expect", "fault"), fault


def _never_striking(reader: Reader, path: KeyPath, values: dict[str, Any], plan: Plan, workers: int) -> None:
    """Blame the faults that nothing can meet: those of an empty tensor, and of workers that the job does not have."""
    if plan.empty:
        for keys, value in _on_ev74_only(values):
            if keys[0] in ("faults", "expect"):
                text = f"got {value} on an empty tensor, wanted no such key: nothing is submitted, nothing fails"
                _error_at_key(reader, (*path, *keys), text)
        return
    for index, fault in enumerate(values.get("faults", ())):
        worker = fault.get("worker", 0)
        if fault.get("kind") in TRANSFER_FAULTS and worker >= workers:
            text = f"got {worker}, wanted at most {workers - 1}: the job has {workers} workers, numbered from 0"
            reader.report_error((*path, "faults", index, "worker"), text)


def _one_layout(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    layouts = [name for name in ("tiled", "cblocked") if name not in values or values[name] is not None]
    if not layouts:
        here = reader.source.place(path)
        reader.report_error((*path, "tiled"), f"missing, wanted tiled, or cblocked on {BLOCKED}", here)
    elif len(layouts) == 2:
        _error_at_key(reader, (*path, "cblocked"), "got tiled and cblocked, wanted one of them")


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
        value = _value(parameter, values)
        if value is not None and parameter.name not in own:
            does = f"only {names_where(lambda row, p=parameter: p in row.parameters)} {parameter.does}"
            where = (parameter.group, parameter.name) if parameter.group else (parameter.name,)
            _error_at_key(reader, (*path, *where), f"got {value} on {op.name}, wanted no such key: {does}")


def _parameters() -> list[Parameter]:
    """Every parameter of the table, once."""
    found = {parameter.name: parameter for row in OPERATIONS.values() for parameter in row.parameters}
    return list(found.values())


def _value(parameter: Parameter, values: dict[str, Any]) -> Any:
    """What a job says of a parameter, None where it says nothing."""
    return ((values.get(parameter.group) or {}) if parameter.group else values).get(parameter.name)


def _error_at_key(reader: Reader, path: KeyPath, text: str) -> None:
    reader.report_error(path, text, reader.source.key_place(path))


def _plan(reader: Reader, path: KeyPath, values: dict[str, Any], ev74: bool, to_run: bool) -> Plan | None:
    """The admitted plan; mistakes of what can be judged are blamed even where other keys of the job are wrong."""
    if not all(name in values for name in ("op", "shape")):
        return None
    plan, mistakes = admit(_geometry(reader, path, values))
    if plan is not None and ev74:
        unfit = representable(plan)
        mistakes = [unfit] if unfit else []
    if plan is not None and to_run and not mistakes:
        mistakes = list(unsupported(plan, ev74=ev74))
    invalid = {keys[0] for keys, _ in mistakes if not reader.sound((*path, keys[0]))}
    for keys, text in mistakes:
        if keys[0] not in invalid:
            reader.report_error((*path, *keys), text)
    return None if mistakes else plan


def _geometry(reader: Reader, path: KeyPath, values: dict[str, Any]) -> Geometry:
    """What the job asks of admission, with something harmless in the place of what was blamed already."""
    shape, op = tuple(values["shape"]), Op(values["op"])
    dtype = DType(values.get("dtype", "bf16"))
    linear = values.get("linear")
    scalars_known = all(reader.sound((*path, name)) for name in ("dtype", "to"))
    strided = linear if scalars_known and reader.sound((*path, "linear")) else None
    outputs = op.outputs()
    target = values.get("to") or (outputs[0].value if op.chooses_output else None)
    fill_known = reader.sound((*path, "int8_channel_padding")) and reader.sound((*path, "dtype"))
    return Geometry(
        op=op,
        dtype=dtype,
        shape=shape,
        tiled=_tiled(reader, path, values, len(shape)),
        linear=Strided(strided["strides_bytes"]) if strided else Contiguous(),
        to=DType(target) if target and op.chooses_output else None,
        int8_channel_padding=values.get("int8_channel_padding") if fill_known else 0 if dtype is DType.INT8 else None,
        parameters=tuple(
            (parameter.name, value)
            for parameter in op.parameters
            if parameter.name != FILL and (value := _value(parameter, values)) is not None
        ),
    )


def _tiled(reader: Reader, path: KeyPath, values: dict[str, Any], rank: int) -> MlaTiled | MlaCBlocked:
    for name in ("cblocked", "tiled"):
        found = values.get(name)
        if found and reader.sound((*path, name)):
            if name == "cblocked":
                return MlaCBlocked(*found["tile"])
            return MlaTiled(found["axes"], found["tile"], ChannelStorage(found["channels"]))
    return MlaTiled((-1, -1, -1, rank - 1), (1, 1, 1, 1))


def _input_source(values: dict[str, Any], folder: Path) -> InputSource:
    written = values.get("file")
    return InputSource(values.get("pattern"), folder / written if written else None, written)
