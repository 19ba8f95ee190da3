"""Loader: from a source's values to a Scenario that can run, with every error of the file reported at once."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tessbed.kernels.ev74.fields import VERSION_MAJOR
from tessbed.kernels.operations import operation
from tessbed.scenarios.format.address_space import too_small
from tessbed.scenarios.format.diagnostics import LONGEST_KEY, KeyPath, ScenarioError, path_text, shortened
from tessbed.scenarios.format.jobs.job_parser import JobFindings, job_of
from tessbed.scenarios.format.jobs.kernel_parser import judge_makers, kernel_job_of
from tessbed.scenarios.format.load.load_keys import SCENARIO_FILE
from tessbed.scenarios.format.load.load_parser import is_external, linked, load_of
from tessbed.scenarios.format.presets.preset_file import DevicePreset, PresetSource, read_preset
from tessbed.scenarios.format.reader import Reader, describe_value
from tessbed.scenarios.format.toml_source import Source
from tessbed.scenarios.model import FirmwareChoice, KernelJob, Scenario
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec, override

DEFAULT_PRESET = "ev74-4core"
PRESET = ("device", "preset")
KERNEL = "kernel"


def compose(source: Source, folder: Path, *, to_run: bool = True) -> Scenario:
    """The scenario; input files are looked for in `folder`. Raises ScenarioError with every error.

    A scenario `to_run` needs its input files, a firmware that holds what its jobs ask for, and a window that holds
    their storage; whoever looks at its jobs and packets alone needs none of these.
    """
    reader = Reader(source)
    values = reader.table((), source.values, SCENARIO_FILE)
    preset, device, base = _device(reader, values.get("device") or {}, folder)
    listed = values.get("jobs") or []
    ours = [(index, job) for index, job in enumerate(listed) if not is_external(job)]
    found = [_job(reader, index, job, device, folder, to_run) for index, job in ours]
    judged = [one for one in found if isinstance(one, JobFindings)]
    _unique_names(reader, listed)
    judge_makers(reader, listed, [one for one in found if isinstance(one, KernelJob)])
    firmware = firmware_choice(reader, values.get("firmware") or {})
    load = load_of(reader, values, {one.index: one.plan for one in judged}, device, folder)
    if to_run:
        _served(reader, device, firmware, judged)
    if reader.problems:
        raise ScenarioError(reader.problems)
    return Scenario(
        name=values["name"],
        about=values["about"],
        seed=values["seed"],
        preset=preset,
        device=device,
        preset_device=base.device,
        origins=base.origins,
        firmware=firmware,
        jobs=linked([job for one in found if (job := one.job if isinstance(one, JobFindings) else one) is not None]),
        load=load,
    )


def _job(
    reader: Reader, index: int, values: dict[str, Any], device: DeviceSpec, folder: Path, to_run: bool
) -> JobFindings | KernelJob | None:
    """What is known of a job of an operation, right or wrong; the job of a kernel, if it is right."""
    path: KeyPath = ("jobs", index)
    if KERNEL in reader.written_at(path):
        return kernel_job_of(reader, path, values, device, folder, to_run=to_run)
    return job_of(reader, path, values, device, folder, to_run=to_run)


def _device(reader: Reader, values: dict[str, Any], folder: Path) -> tuple[str, DeviceSpec, DevicePreset]:
    """The preset's name, the resolved device, and the preset; the default device where one can not be had."""
    preset = values.get("preset", DEFAULT_PRESET)
    base = _preset(reader, preset, folder)
    changes = {name: value for name, value in values.items() if name != "preset"}
    try:
        return str(preset), override(base.device, changes), base
    except SpecError as error:
        _device_error(reader, error)
        return str(preset), _sound_part(base.device, changes, [path for path, _ in error.problems]), base


def _preset(reader: Reader, preset: Any, folder: Path) -> DevicePreset:
    """The preset; one of another file or package with its errors at their own places."""
    if not isinstance(preset, str):
        reader.report_error(PRESET, f'got {describe_value(preset)}, wanted text such as "{DEFAULT_PRESET}"')
        return DevicePreset(DeviceSpec())
    place = reader.source.place(PRESET)
    by_option = place.source.startswith("--")
    named_in = PresetSource(Path() if by_option else folder, place, "" if by_option else path_text(PRESET))
    try:
        return read_preset(preset, named_in)
    except ScenarioError as error:
        reader.problems += error.problems
        reader.mark_invalid(PRESET)
        return DevicePreset(DeviceSpec())


def _sound_part(spec: DeviceSpec, changes: dict[str, Any], wrong: list[tuple[str, ...]]) -> DeviceSpec:
    """The device with those changes that are not wrong; without any where they do not go together."""
    try:
        return override(spec, _without(changes, wrong, ()))
    except SpecError:
        return spec


def _without(values: dict[str, Any], wrong: list[tuple[str, ...]], path: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: _without(value, wrong, (*path, name)) if isinstance(value, dict) else value
        for name, value in values.items()
        if (*path, name) not in wrong
    }


def _device_error(reader: Reader, error: SpecError) -> None:
    for path, text in error.problems:
        full = ("device", *path)
        stranger = text.startswith("unknown field")
        place = reader.source.key_place(full) if stranger else None
        reader.report_error(full, text, place, "unknown_key" if stranger else "")


def firmware_choice(reader: Reader, values: dict[str, Any]) -> FirmwareChoice:
    """What the image is to hold. Reports `holds` beside the keys that it replaces, and kernels that no operation
    has."""
    given = {name: names for name, names in values.items() if names is not None}
    listed = given.pop("holds", None)
    if listed is None:
        return FirmwareChoice(**{name: tuple(names) for name, names in given.items()})
    for key in ("ops", "dtypes"):
        if given.pop(key, None) is not None:
            reader.report_error(("firmware", key), "got holds as well, wanted one of them: holds lists everything")
    held = [kernel for index, entry in enumerate(listed) for kernel in _kernels(reader, index, entry)]
    return FirmwareChoice(holds=tuple(dict.fromkeys(held)), **{name: tuple(names) for name, names in given.items()})


def _kernels(reader: Reader, index: int, entry: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The kernels of one entry: of each scalar type and tile format that it names, or that its operation has."""
    path: KeyPath = ("firmware", "holds", index)
    if not reader.sound(path) or "op" not in entry:
        return
    row = operation(entry["op"])
    known = {
        "dtype": [dtype.value for dtype in row.tiled_dtypes],
        "format": [form.value for form in row.formats],
    }
    for key, values in known.items():
        if entry[key] is not None and entry[key] not in values:
            reader.report_error((*path, key), f'got "{entry[key]}", {row.name} has {" or ".join(values)}')
            return
    chosen = [[entry[key]] if entry[key] else values for key, values in known.items()]
    yield from ((row.name, dtype, form) for dtype, form in product(*chosen))


def _served(reader: Reader, device: DeviceSpec, firmware: FirmwareChoice, jobs: list[JobFindings]) -> None:
    """Report what the device and its firmware have not got for the jobs."""
    needs: dict[tuple[str, str], list[int]] = {}
    for job in jobs:
        for need in _needs(job):
            needs.setdefault(need, []).append(job.index)
    for (key, need), indices in needs.items():
        _held(reader, firmware, key, need, indices)
    window = (("preset",), ("memory", "window_base"), ("memory", "window_bytes"))
    if all(reader.sound(("device", *path)) for path in window):
        _fit(reader, device, [job for job in jobs if "span" in job.known])


def _needs(job: JobFindings) -> Iterator[tuple[str, str]]:
    """What a job needs of the firmware, by the key that says whether it has it; only what is known of the job."""
    plan, known = job.plan, job.known
    if "ev74" not in job.backends:
        return
    if "kernel" in known:
        yield "holds", f"{plan.op.name} {plan.tiled_dtype.value} {plan.tile_format.value}"
    if "op" in known:
        yield "ops", plan.op.name
        yield "packet_versions", f"{VERSION_MAJOR}.{plan.op.version_minor}"
    if "tiled dtype" in known:
        yield "dtypes", plan.tiled_dtype.value


def _held(reader: Reader, firmware: FirmwareChoice, key: str, need: str, indices: list[int]) -> None:
    """Report the firmware for what jobs need of it; the runtime would refuse them, there is no fallback."""
    held = getattr(firmware, key)
    if held is None:
        return
    names = [" ".join(names) for names in held] if key == "holds" else held
    if need not in names:
        more = f" and {len(indices) - 1:,} more need" if len(indices) > 1 else " needs"
        got = shortened(", ".join(names), LONGEST_KEY * 4) or "nothing"
        needed = f"{path_text(('jobs', indices[0]))}{more} it on EV74"
        reader.report_error(("firmware", key), f"got {got}, wanted {need} too: {needed}")


def _fit(reader: Reader, device: DeviceSpec, jobs: list[JobFindings]) -> None:
    """Report the device's window where it does not hold every job; the job where the window is the preset's."""
    found = too_small(device.memory, jobs)
    if found is None:
        return
    needed, job = found
    window, path = ("device", "memory", "window_bytes"), ("jobs", job.index)
    size = f"{job.plan.input.required_bytes} bytes of input and {job.plan.output.required_bytes} of output"
    if window in reader.source.places:
        got = f"got {device.memory.window_bytes}, wanted at least {needed}"
        reader.report_error(window, f"{got}: {path_text(path)} has {size}")
    else:
        text = f"got {size}, wanted what the device's window of {device.memory.window_bytes} holds on EV74"
        reader.report_error((*path, "shape"), f"{text}; device.memory.window_bytes = {needed} is enough")


def _unique_names(reader: Reader, jobs: list[dict[str, Any]]) -> None:
    first: dict[str, int] = {}
    for index, job in enumerate(jobs):
        name = job.get("name")
        if name in first:
            before = path_text(("jobs", first[name]))
            reader.report_error(
                ("jobs", index, "name"), f'got "{name}", the name of {before}, wanted a name of its own'
            )
        elif isinstance(name, str):
            first[name] = index
