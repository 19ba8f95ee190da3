"""Compose: from a source's values to a Scenario that can run, with every mistake of the file reported at once."""

from pathlib import Path
from typing import Any

from tessbed.kernels import ChannelStorage, Contiguous, DType, MlaCBlocked, MlaTiled, Op, Plan, Strided
from tessbed.kernels.ev74.fields import VERSION_MAJOR, VERSION_MINOR
from tessbed.scenarios import inputs
from tessbed.scenarios.admit import admit, representable
from tessbed.scenarios.keys import SCENARIO
from tessbed.scenarios.model import FirmwareChoice, Geometry, InputSource, Job, Scenario
from tessbed.scenarios.problems import KeyPath, ScenarioError, path_text
from tessbed.scenarios.reader import Reader, describe
from tessbed.scenarios.toml_source import Source
from tessbed.sim.errors import SpecError
from tessbed.sim.faults import Fault
from tessbed.sim.spec import DeviceSpec, load_preset, override

DEFAULT_PRESET = "ev74-4core"


def compose(source: Source, folder: Path) -> Scenario:
    """The scenario; input files are looked for in `folder`. Raises ScenarioError with every mistake."""
    reader = Reader(source)
    values = reader.table((), source.values, SCENARIO)
    preset, device = _device(reader, values.get("device") or {})
    listed = values.get("jobs") or []
    jobs = [_job(reader, ("jobs", index), job, device, folder) for index, job in enumerate(listed)]
    _unique_names(reader, listed)
    firmware = _firmware(values.get("firmware") or {})
    for job in jobs:
        if job is not None and "ev74" in job.backends:
            _held(reader, firmware, job)
    if reader.problems:
        raise ScenarioError(reader.problems)
    return Scenario(
        name=values["name"],
        about=values["about"],
        seed=values["seed"],
        preset=preset,
        device=device,
        firmware=firmware,
        jobs=tuple(job for job in jobs if job is not None),
    )


def _device(reader: Reader, values: dict[str, Any]) -> tuple[str, DeviceSpec]:
    """The preset's name and the resolved device; the default device where either can not be had."""
    preset = values.get("preset", DEFAULT_PRESET)
    spec = DeviceSpec()
    if not isinstance(preset, str):
        reader.blame(("device", "preset"), f'got {describe(preset)}, wanted text such as "{DEFAULT_PRESET}"')
    else:
        try:
            spec = load_preset(preset)
        except SpecError as error:
            _blame_device(reader, error)
    try:
        return str(preset), override(spec, {name: value for name, value in values.items() if name != "preset"})
    except SpecError as error:
        _blame_device(reader, error)
        return str(preset), spec


def _blame_device(reader: Reader, error: SpecError) -> None:
    for path, text in error.problems:
        full = ("device", *path)
        reader.blame(full, text, reader.source.key_place(full) if text.startswith("unknown field") else None)


def _firmware(values: dict[str, Any]) -> FirmwareChoice:
    return FirmwareChoice(**{name: tuple(names) for name, names in values.items() if names is not None})


def _held(reader: Reader, firmware: FirmwareChoice, job: Job) -> None:
    """Blame the firmware for what the job needs of it; the runtime would refuse the job, there is no fallback."""
    version = f"{VERSION_MAJOR}.{VERSION_MINOR}"
    needs = {"ops": job.geometry.op.value, "dtypes": job.geometry.dtype.value, "packet_versions": version}
    for key, need in needs.items():
        held = getattr(firmware, key)
        if held is not None and need not in held:
            text = f"got {', '.join(held) or 'nothing'}, wanted {need} too"
            reader.blame(("firmware", key), f"{text}: {path_text(('jobs', job.index))} needs it on EV74")


def _unique_names(reader: Reader, jobs: list[dict[str, Any]]) -> None:
    first: dict[str, int] = {}
    for index, job in enumerate(jobs):
        name = job.get("name")
        if name in first:
            before = path_text(("jobs", first[name]))
            reader.blame(("jobs", index, "name"), f'got "{name}", the name of {before}, wanted a name of its own')
        elif isinstance(name, str):
            first[name] = index


def _job(reader: Reader, path: KeyPath, values: dict[str, Any], device: DeviceSpec, folder: Path) -> Job | None:
    """The job, or None where something about it was blamed."""
    if path in reader.spoilt:
        return None
    _together(reader, path, values)
    backends = ("a65", "ev74") if values.get("backend") == "both" else (values.get("backend", "a65"),)
    plan = _plan(reader, path, values, "ev74" in backends)
    workers = values.get("workers")
    if workers is not None and workers > device.workers:
        reader.blame((*path, "workers"), f"got {workers}, wanted at most {device.workers}, the workers of the device")
    source = _input_source(values.get("input") or {}, folder)
    if plan is not None and reader.sound((*path, "input")):
        text = inputs.mistake(source, plan)
        if text:
            key = "file" if source.path else "pattern"
            reader.blame((*path, "input", key), text)
    if plan is None or not reader.sound(path):
        return None
    return Job(
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
    here, op = reader.source.place(path), values.get("op")
    layouts = [name for name in ("tiled", "cblocked") if name not in values or values[name] is not None]
    if not layouts:
        reader.blame((*path, "tiled"), "missing, wanted tiled, or cblocked on detesscast", here)
    elif len(layouts) == 2:
        _blame_key(reader, (*path, "cblocked"), "got tiled and cblocked, wanted one of them")
    target, fill = values.get("to"), values.get("int8_channel_padding")
    if op == "detesscast" and "to" in values and target is None:
        reader.blame((*path, "to"), 'missing, wanted "fp32" or "bf16": detesscast needs it', here)
    elif op in ("tess", "detess") and target is not None:
        text = f'got "{target}" on {op}, wanted no such key: only detesscast changes the scalar type'
        _blame_key(reader, (*path, "to"), text)
    if op in ("detess", "detesscast") and fill is not None:
        text = f"got {fill} on {op}, wanted no such key: only tess writes padding"
        _blame_key(reader, (*path, "int8_channel_padding"), text)
    given = values.get("input")
    if given and reader.sound((*path, "input")) and (given["pattern"] is None) == (given["file"] is None):
        what = "neither pattern nor file" if given["file"] is None else "pattern and file"
        reader.blame((*path, "input"), f"got {what}, wanted one of them")


def _blame_key(reader: Reader, path: KeyPath, text: str) -> None:
    reader.blame(path, text, reader.source.key_place(path))


def _plan(reader: Reader, path: KeyPath, values: dict[str, Any], ev74: bool) -> Plan | None:
    """The admitted plan; mistakes of what can be judged are blamed even where other keys of the job are wrong."""
    if not all(name in values for name in ("op", "shape")):
        return None
    plan, mistakes = admit(_geometry(reader, path, values))
    if plan is not None and ev74:
        unfit = representable(plan)
        mistakes = [unfit] if unfit else []
    spoilt = {keys[0] for keys, _ in mistakes if not reader.sound((*path, keys[0]))}
    for keys, text in mistakes:
        if keys[0] not in spoilt:
            reader.blame((*path, *keys), text)
    return None if mistakes else plan


def _geometry(reader: Reader, path: KeyPath, values: dict[str, Any]) -> Geometry:
    """What the job asks of admission, with something harmless in the place of what was blamed already."""
    shape, op = tuple(values["shape"]), Op(values["op"])
    dtype = DType(values.get("dtype", "bf16"))
    linear = values.get("linear")
    scalars_known = all(reader.sound((*path, name)) for name in ("dtype", "to"))
    strided = linear if scalars_known and reader.sound((*path, "linear")) else None
    target = values.get("to") or ("fp32" if op is Op.DETESSCAST else None)
    fill_known = reader.sound((*path, "int8_channel_padding")) and reader.sound((*path, "dtype"))
    return Geometry(
        op=op,
        dtype=dtype,
        shape=shape,
        tiled=_tiled(reader, path, values, len(shape)),
        linear=Strided(strided["strides_bytes"]) if strided else Contiguous(),
        to=DType(target) if target and op is Op.DETESSCAST else None,
        int8_channel_padding=values.get("int8_channel_padding") if fill_known else 0 if dtype is DType.INT8 else None,
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
