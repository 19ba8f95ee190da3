"""Plan folder: all that a board needs to run a plan, as files, and the empty table for what it measures.

Nothing that was measured is ever lost: a table with a value in it, or any other file with another content, is refused
before anything is written.
"""

import errno
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tessbed.kernels.disassembly import disassemble
from tessbed.scenarios.exact.exact_device import ExactDevice
from tessbed.scenarios.format.toml_writer import toml_text, value_text
from tessbed.scenarios.model import KernelJob
from tessbed.scenarios.output.files import check_file, write_files
from tessbed.scenarios.output.folder import folder_of_files
from tessbed.scenarios.study.calibration.board_data import COLUMNS, FIT, VALIDATE
from tessbed.scenarios.study.calibration.folder_files import EXPERIMENTS, PACKETS, PLAN_FILE, SETUP_FILE, TABLE_FILE
from tessbed.scenarios.study.calibration.plan.candidates import PROBE_FILE, Candidate


def plan_files(
    fitted: Sequence[Candidate],
    held: Sequence[Candidate],
    observables: Sequence[str],
    repeats: int,
    setup: str,
    about: Iterable[str],
) -> dict[str, bytes]:
    """The files of a plan by their names in the folder; `setup` is the text of a setup, `about` are lines on it."""
    files = {SETUP_FILE: setup.encode(), PLAN_FILE: "".join(f"{line}\n" for line in about).encode()}
    files[TABLE_FILE] = "\n".join(_table_lines(fitted, held, observables, repeats)).encode() + b"\n"
    for candidate in (*fitted, *held):
        name = candidate.experiment.name
        packet = bound_packet(candidate)
        files[f"{EXPERIMENTS}/{name}.toml"] = toml_text(candidate.values).encode()
        files[f"{PACKETS}/{name}.bin"] = packet
        files[f"{PACKETS}/{name}.txt"] = disassemble(packet).encode()
    if any(isinstance(candidate.experiment.job, KernelJob) for candidate in (*fitted, *held)):
        files[f"{EXPERIMENTS}/{PROBE_FILE.name}"] = PROBE_FILE.read_bytes()
    return files


def bound_packet(candidate: Candidate) -> bytes:
    """The packet of an experiment, its addresses those of the first job of a device."""
    experiment = candidate.experiment
    return ExactDevice(experiment.device).launch(experiment.job).packet.raw


def write_plan(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files. Raises OSError where one is there already with another content; then nothing has changed."""
    folders = sorted({(folder / name).parent for name in files})
    for path in folders:
        path.mkdir(parents=True, exist_ok=True)
    with folder_of_files(folder):
        for name, content in files.items():
            path = folder / name
            check_file(path)
            if path.exists() and path.read_bytes() != content:
                wanted = "wanted a new folder, so that nothing measured is lost"
                raise FileExistsError(errno.EEXIST, f"the file is there with another content: {wanted}", str(path))
        write_files({folder / name: content for name, content in files.items()})


def setup_template(preset: str) -> str:
    """A setup to be filled in."""
    return "\n".join(
        (
            "# How the board was measured. Fill in every line.",
            'board = "my board"',
            "clock_mhz = 1_000                # of the vision processor",
            'clock_source = "assumed"         # measured, documented or assumed; times say little on an assumed clock',
            'timer = "cycle counter"          # what counted',
            "timer_resolution_ns = 1.0        # its smallest step",
            f"preset = {value_text(preset)}            # the device of the guesses",
            "",
            '[ranges]                         # what is known better, as in "dma.setup_ticks" = [50, 100]',
            "",
        )
    )


def _table_lines(
    fitted: Sequence[Candidate], held: Sequence[Candidate], observables: Sequence[str], repeats: int
) -> Iterable[str]:
    yield ",".join(COLUMNS)
    for split, candidates in ((FIT, fitted), (VALIDATE, held)):
        for candidate in candidates:
            for observable in observables:
                for repeat in range(repeats):
                    yield f"{candidate.experiment.name},{observable},{repeat},,us,{split},"
