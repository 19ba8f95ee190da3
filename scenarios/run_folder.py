"""The run folder: everything about a run, as files.

scenario.toml        the scenario with every default spelled out; running it gives the same folder
devices/NAME.toml    its preset, where that is none that ships
inputs/              the input files under their own names, which the scenario in the folder reads; the bytes of inputs
                     from other sources as 00-NAME.bin
outputs/00-NAME.bin  the bytes that a job wrote; 00-NAME.BACKEND.bin where two backends differ; of kernels
                     00-NAME.PORT.bin
kernels/HASH/NAME.py the source of kernels of one's own, by the first 16 digits of its hash
scenario.sha256      the hashes of these, as `sha256sum --check` reads them
stats.json           the run's document, with all that the device counted (versioned)
report.md            the run for people
events.jsonl         every move of every EV74 job, with its tick
packets/00-NAME.bin  the bound packet of an EV74 job, and .txt, its disassembly
transfers/00-NAME.csv  every DMA transfer of the job, ticks from its launch
run.json             wall time, machine, versions, a list of the files: the only file that differs from run to run
"""

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any

import attrs

from tessbed import __version__
from tessbed.kernels.custom.loading import parse_reference
from tessbed.kernels.custom.source_tree import tree_of
from tessbed.kernels.disassembly import disassemble
from tessbed.scenarios.backends import Bytes
from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.format.presets.preset_text import preset_text
from tessbed.scenarios.format.toml_writer import toml_text
from tessbed.scenarios.model import AnyJob, InputSource, KernelJob, Scenario, to_values
from tessbed.scenarios.outcome import JobOutcome, Outcome, ScenarioRun
from tessbed.scenarios.output.earlier_run import RECORD, judge, record
from tessbed.scenarios.output.folder import OutputFolder
from tessbed.scenarios.report import SCHEMA_VERSION, document, exit_code, report_table
from tessbed.sim.spec.device_spec import preset_names
from tessbed.sim.spec.origins import Origins
from tessbed.sim.stats import TransferRecord

INPUTS, OUTPUTS, DEVICES, KERNELS = "inputs", "outputs", "devices", "kernels"
_CHUNK_BYTES = 1 << 20
_EVERY_LINES = 4096

Advance = Callable[[int], None]


@attrs.frozen
class RunFolder:
    """A folder that a run is written for; an earlier run in it stays whole until the new one is.

    A context manager: what is not written by its end leaves nothing behind.
    """

    path: Path
    _output: OutputFolder
    _kept: dict[str, tuple[str, str]] = attrs.field(factory=dict, init=False)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Make the folder. Raises OSError where that fails, or where it holds files that are no run's."""
        return cls(path, OutputFolder.open(path, judge))

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *error: object) -> None:
        self._output.close()

    def adopt(self, scenario: Scenario) -> Scenario:
        """The same scenario with every input file copied for the folder, and read there.

        So is the source of kernels of one's own, which are loaded here. Raises OSError, ScenarioError.
        """
        copies: dict[Path, str] = {}
        jobs = []
        for job in prepared(scenario).jobs:
            if isinstance(job, KernelJob):
                buffers = [attrs.evolve(b, source=self._adopted_input(b.source, copies)) for b in job.buffers]
                jobs.append(self._adopted_kernel(attrs.evolve(job, buffers=tuple(buffers))))
            else:
                jobs.append(attrs.evolve(job, input=self._adopted_input(job.input, copies)))
        return attrs.evolve(scenario, jobs=tuple(jobs), preset=self._adopted_preset(scenario))

    def _adopted_input(self, source: InputSource, copies: dict[Path, str]) -> InputSource:
        """The source of an input, for a file its copy in the folder."""
        path = source.path
        if path is None:
            return source
        with self._named():
            written = copies[path] = copies.get(path) or f"{INPUTS}/{_copied(path, self._output.new / INPUTS)}"
        return InputSource(None, self._output.new / written, written)

    def keep(self, job: AnyJob, backend: str, port: str, held: Bytes) -> None:
        """Write bytes that a job has read, or that a backend has written, which may be as another wrote them.

        An input file of raw bytes is in the folder already. Raises OSError.
        """
        name = file_name(job) + (f".{port}" if port else "")
        if not held.size or (not backend and _is_raw(job, port)):
            return
        with self._named():
            if backend:
                self._keep_output(name, backend, held)
            else:
                folder = _made(self._output.new / INPUTS)
                held.tofile(folder / _free_name(folder, name, ".bin"))

    def _keep_output(self, name: str, backend: str, held: Bytes) -> None:
        folder, digest = _made(self._output.new / OUTPUTS), hashlib.sha256(held.data).hexdigest()
        other, known = self._kept.setdefault(name, (backend, digest))
        if other == backend:
            held.tofile(folder / f"{name}.bin")
        elif known != digest:
            (folder / f"{name}.bin").rename(folder / f"{name}.{other}.bin")
            held.tofile(folder / f"{name}.{backend}.bin")

    def _adopted_kernel(self, job: KernelJob) -> KernelJob:
        """The job with the source of its kernel in the folder; a kernel of a file is the copy."""
        kept = f"{KERNELS}/{job.planned.digest[:16]}"
        with self._named():
            for name, content in tree_of(job.planned.kernel).files:
                target = self._output.new / kept / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        found = parse_reference(job.reference, job.folder)
        reference = f"{kept}/{found.file.name}:{found.name}" if found and found.file else job.reference
        return attrs.evolve(job, reference=reference, source_sha256=job.planned.digest, folder=self._output.new)

    def _adopted_preset(self, scenario: Scenario) -> str:
        """The preset's name, for one of a file or of a package that of its copy in the folder."""
        if scenario.preset in preset_names():
            return scenario.preset
        written = f"{DEVICES}/{PurePath(scenario.preset).name.removesuffix('.toml')}.toml"
        path = self._output.new / written
        path.parent.mkdir(exist_ok=True)
        path.write_text(self._preset_text(scenario, path), encoding="utf-8")
        return written

    def _preset_text(self, scenario: Scenario, path: Path) -> str:
        """A preset that changes a calibrated one starts from a copy of that, beside it."""
        calibrated = scenario.origins.device
        if calibrated in (None, scenario.preset_device):
            return preset_text(scenario.preset_device, scenario.origins)
        base = path.with_suffix(".calibrated.toml")
        base.write_text(preset_text(calibrated, scenario.origins), encoding="utf-8")
        return f'preset = "{base.name}"\n{preset_text(scenario.preset_device, Origins())}'

    def write(self, run: ScenarioRun, seconds: float, advance: Advance = lambda count: None) -> None:
        """Write all files, then put them in the place of an earlier run's. The run is that of an adopted scenario.

        `advance` hears of the transfers that are written. Raises OSError; then an earlier run is as it was.
        """
        with self, self._named():
            for name, content in contents(run, advance).items():
                target = self._output.new / name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(content)
            (self._output.new / RECORD).write_bytes(record(machine(seconds), self._output.new))
            self._output.swap_in(lambda folder: judge(folder, self.path))

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the folder in an error of the system that names no file, such as that of a full disk."""
        try:
            yield
        except OSError as error:
            if error.filename is not None:
                raise
            raise OSError(error.errno, error.strerror or str(error), str(self.path)) from None


def _copied(source: Path, folder: Path) -> str:
    """Copy the file into the folder; returns its name there, which is its own as far as that is free."""
    name = _free_name(_made(folder), plain_name(source.stem) or "input", source.suffix.lower())
    with source.open("rb") as reading, (folder / name).open("xb") as writing:
        while chunk := reading.read(_CHUNK_BYTES):
            writing.write(chunk)
    return name


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def _free_name(folder: Path, stem: str, suffix: str) -> str:
    """The name, with a number where another file has it, in whatever case."""
    taken, number, name = {path.name.lower() for path in folder.iterdir()}, 1, f"{stem}{suffix}"
    while name.lower() in taken:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def _is_raw(job: AnyJob, port: str) -> bool:
    """Whether a job reads an input from a file that holds its very bytes."""
    source = job.buffer(port).source if isinstance(job, KernelJob) else job.input
    return source.path is not None and source.path.suffix.lower() == ".bin"


def contents(run: ScenarioRun, advance: Advance = lambda count: None) -> dict[str, bytes]:
    """Every file but run.json and the inputs: the same bytes for the same scenario, seed and version."""
    scenario = toml_text(to_values(run.scenario)).encode()
    digest = hashlib.sha256(scenario).hexdigest()
    files = {
        "scenario.toml": scenario,
        "scenario.sha256": "".join([f"{digest}  scenario.toml\n", *_sums(run.scenario)]).encode(),
        "stats.json": _json(stats(run, digest)),
        "report.md": report_text(run, digest).encode(),
        "events.jsonl": "".join(f"{json.dumps(event)}\n" for event in events(run)).encode(),
    }
    for entry, outcome in _device_outcomes(run):
        name = file_name(entry.job)
        result = outcome.run.result if outcome.run else None
        if result and result.packet:
            files[f"packets/{name}.bin"] = result.packet
            files[f"packets/{name}.txt"] = disassemble(result.packet).encode()
        if result and result.stats:
            files[f"transfers/{name}.csv"] = _csv(result.stats.trace, advance)
    return files


def _sums(scenario: Scenario) -> list[str]:
    """A line for each input file."""
    sources = [job.input for job in scenario.operations]
    sources += [buffer.source for job in scenario.kernels for buffer in job.buffers]
    files = {source.written: source.path for source in sources if source.written and source.path}
    return [*(f"{_digest(files[name])}  {name}\n" for name in sorted(files)), *_kernel_sums(scenario)]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _kernel_sums(scenario: Scenario) -> list[str]:
    """A line for each file of a kernel's source."""
    sums = {}
    for job in scenario.kernels:
        for name, content in tree_of(job.planned.kernel).files:
            sums[f"{KERNELS}/{job.planned.digest[:16]}/{name}"] = hashlib.sha256(content).hexdigest()
    return [f"{sums[name]}  {name}\n" for name in sorted(sums)]


def stats(run: ScenarioRun, digest: str) -> dict[str, Any]:
    """The run's document, the hash of its scenario and the full statistics of every EV74 job."""
    device = {
        entry.job.name: _plain(outcome.run.result.stats)
        for entry, outcome in _device_outcomes(run)
        if outcome.run and outcome.run.result
    }
    return {**document(run), "tessbed": __version__, "scenario_sha256": digest, "device_stats": device}


def report_text(run: ScenarioRun, digest: str) -> str:
    """The run for people, in Markdown."""
    jobs = [f"- `{entry.job.name}`: {_what(entry.job)}" for entry in run.jobs]
    return "\n".join(
        [
            f"# {run.scenario.name}",
            "",
            *([run.scenario.about, ""] if run.scenario.about else []),
            f"Scenario `{digest[:16]}`, seed {run.scenario.seed}, device `{run.scenario.preset}` with"
            f" {run.scenario.device.workers} workers, tessbed {__version__}. Exit code {exit_code(run)}.",
            "",
            *jobs,
            "",
            "```text",
            *report_table(run),
            "```",
            "",
        ]
    )


def _what(job: AnyJob) -> str:
    """What a job runs, for people."""
    if isinstance(job, KernelJob):
        arguments = ", ".join(f"{name}={value}" for name, value in job.planned.arguments)
        return f"kernel {job.reference} ({arguments}), source `{job.planned.digest[:16]}`"
    return f"{job.geometry.op.name} of {list(job.plan.shape)}"


def events(run: ScenarioRun) -> Iterator[dict[str, Any]]:
    """Every move of every EV74 job, in the order of ticks."""
    for entry, outcome in _device_outcomes(run):
        if outcome.run and outcome.run.job:
            for tick, move, state in outcome.run.job.history:
                yield {"tick": tick, "job": entry.job.name, "move": move.value, "state": state.value}


def file_name(job: AnyJob) -> str:
    """The job's number and its name, as far as it fits into a file name."""
    return f"{job.index:02}-{plain_name(job.name)}".rstrip("-")


def plain_name(name: str) -> str:
    """A name as far as it fits into a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]


def machine(seconds: float) -> dict[str, Any]:
    """What may differ between two runs of one scenario."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tessbed": __version__,
        "wall_seconds": round(seconds, 3),
        "machine": platform.platform(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "simpy": version("simpy"),
        "arguments": sys.argv[1:],
    }


def _device_outcomes(run: ScenarioRun) -> Iterator[tuple[JobOutcome, Outcome]]:
    return ((entry, outcome) for entry in run.jobs for outcome in entry.outcomes if outcome.backend == "ev74")


def _csv(trace: tuple[TransferRecord, ...], advance: Advance) -> bytes:
    names = [field.name for field in attrs.fields(TransferRecord)]
    values, raw = attrgetter(*names), bytearray((",".join(names) + "\n").encode())
    for first in range(0, len(trace), _EVERY_LINES):
        part = trace[first : first + _EVERY_LINES]
        raw += "".join([",".join(map(str, values(record))) + "\n" for record in part]).encode()
        advance(len(part))
    return bytes(raw)


def _plain(value: Any) -> Any:
    """Statistics as JSON holds them; the trace has files of its own, and the verdict on a kernel is elsewhere."""
    if attrs.has(type(value)):
        names = (field.name for field in attrs.fields(type(value)) if field.name not in ("trace", "kernel"))
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {"/".join(map(str, k)) if isinstance(k, tuple) else str(k): _plain(v) for k, v in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
