"""Job parser: from the values of one [[jobs]] table to a ScenarioJob.

An error in one key does not hide those in others: what was reported already is replaced by something harmless, and the
rest goes before admission all the same.
"""

from pathlib import Path
from typing import Any

import attrs

from tessbed.kernels import Plan
from tessbed.kernels.operations import Operation
from tessbed.scenarios import inputs
from tessbed.scenarios.format.diagnostics import KeyPath, closest
from tessbed.scenarios.format.jobs.admission_errors import AdmissionResult, admit, representable, unsupported
from tessbed.scenarios.format.jobs.expected_ticks import tick_limits
from tessbed.scenarios.format.jobs.geometry_parser import read_geometry
from tessbed.scenarios.format.jobs.key_combinations import judge_ev74_keys, judge_faults, judge_together
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.format.schema_keys import BACKENDS, all_dtypes, op_names, targets
from tessbed.scenarios.model import Geometry, InputSource, ScenarioJob
from tessbed.sim.fault_injection import Fault
from tessbed.sim.spec.device_spec import DeviceSpec


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
    judge_together(reader, path, values)
    backends = ("a65", "ev74") if values.get("backend", "both") == "both" else (values["backend"],)
    geometry = read_geometry(reader, path, values)
    found = admit(geometry)
    known = _known(reader, path, guesses, geometry.op, found)
    plan = _plan(reader, path, found, known, ev74="ev74" in backends, to_run=to_run)
    if not (reader.sound((*path, "shape")) and reader.sound((*path, "linear"))):
        known -= {"span"}  # no packet can hold it
    workers, most = values.get("workers"), device.workers
    if "ev74" not in backends:
        judge_ev74_keys(reader, path, values)
    elif workers is not None and reader.sound(("device", "workers")) and workers > most:
        reader.report_error((*path, "workers"), f"got {workers}, wanted at most {most}, the workers of the device")
    source = _input_source(values.get("input") or {}, folder)
    if to_run:
        for text in inputs.errors(source, plan, known):
            reader.report_error((*path, "input", "file" if source.path else "pattern"), text)
    if "ev74" in backends:
        empty = plan is not None and "shape" in known and plan.empty
        launched = min(workers or most, most) if reader.sound(("device", "workers")) else workers
        judge_faults(reader, path, values, empty, launched)
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
    written = reader.written_at(path)
    found = {}
    for name, names in GUESSED.items():
        text = written.get(name)
        if name not in values and isinstance(text, str) and (meant := closest(text, names())):
            found[name] = meant
    return found


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


def _input_source(values: dict[str, Any], folder: Path) -> InputSource:
    written = values.get("file")
    return InputSource(
        values.get("pattern"), folder / written if written else None, written, values.get("job"), values.get("port")
    )
