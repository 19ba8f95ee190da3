"""The run folder: everything about a run, as files.

scenario.toml        the scenario with every default spelled out; running it gives the same folder
devices/NAME.toml    its preset, where that is none that ships
inputs/HASH.npy      the input files, named by the SHA-256 of their content; the scenario in the folder reads these
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
from tessbed.kernels.ev74.disasm import disassemble
from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.format.toml_writer import toml_text
from tessbed.scenarios.model import AnyJob, InputSource, KernelJob, Scenario, to_values
from tessbed.scenarios.outcome import JobOutcome, Outcome, ScenarioRun
from tessbed.scenarios.output.earlier_run import RECORD, judge, record
from tessbed.scenarios.output.folder import OutputFolder
from tessbed.scenarios.report import SCHEMA_VERSION, document, exit_code, report_table
from tessbed.sim.spec.device_spec import preset_names, to_mapping
from tessbed.sim.stats import TransferRecord

INPUTS, DEVICES, KERNELS = "inputs", "devices", "kernels"
_PART = "part"
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
        path.write_text(toml_text(to_mapping(scenario.preset_device)), encoding="utf-8")
        return written

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
    """Copy the file into the folder; its name there is derived from its content."""
    folder.mkdir(exist_ok=True)
    part, digest = folder / _PART, hashlib.sha256()
    with source.open("rb") as reading, part.open("wb") as writing:
        while chunk := reading.read(_CHUNK_BYTES):
            digest.update(chunk)
            writing.write(chunk)
    name = f"{digest.hexdigest()}{source.suffix.lower()}"
    part.replace(folder / name)
    return name


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
        name = file_name(entry)
        result = outcome.run.result if outcome.run else None
        if result and result.packet:
            files[f"packets/{name}.bin"] = result.packet
            files[f"packets/{name}.txt"] = disassemble(result.packet).encode()
        if result and result.stats:
            files[f"transfers/{name}.csv"] = _csv(result.stats.trace, advance)
    return files


def _sums(scenario: Scenario) -> list[str]:
    """A line for each input file, whose name is its hash."""
    sources = [job.input for job in scenario.operations]
    sources += [buffer.source for job in scenario.kernels for buffer in job.buffers]
    written = sorted({source.written for source in sources if source.written})
    return [*(f"{Path(name).stem}  {name}\n" for name in written), *_kernel_sums(scenario)]


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


def file_name(entry: JobOutcome) -> str:
    """The job's number and its name, as far as it fits into a file name."""
    return f"{entry.job.index:02}-{re.sub(r'[^A-Za-z0-9._-]+', '-', entry.job.name).strip('-.')[:60]}".rstrip("-")


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
