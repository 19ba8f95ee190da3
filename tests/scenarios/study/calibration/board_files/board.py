"""A calibration's folder, as a twin would fill it: scenarios, a setup, and lines with noise that a test may spoil."""

from collections.abc import Callable, Iterable
from math import exp
from pathlib import Path
from random import Random

import attrs

from tessbed.scenarios.study.calibration.board_data import FIT, VALIDATE, Observation, Table
from tessbed.scenarios.study.calibration.board_files.table_file import table_text
from tessbed.scenarios.study.calibration.experiment import read_experiment
from tests.scenarios.study.calibration.twin import PARTS, measured_parts

JOBS = {
    "luma": ("bf16", [384, 1664, 1], [1, 384, 17, 1]),
    "chroma": ("bf16", [192, 832, 2], [1, 39, 42, 2]),
    "image": ("int8", [640, 640, 3], [1, 32, 128, 3]),
    "small": ("int8", [40, 40, 16], [1, 8, 40, 16]),
    "rows": ("bf16", [60, 80, 8], [1, 12, 80, 8]),
}
HELD_OUT = ("image", "small", "rows")
SETUP = """board = "board 7"
clock_mhz = 1000
clock_source = "measured"
timer = "cycle counter"
timer_resolution_ns = 1.0
"""
Spoil = Callable[[Observation], Observation | None]


def scenario(name: str, workers: int) -> str:
    """The scenario of a Tess job."""
    dtype, shape, tile = JOBS[name]
    return (
        f'name = "{name}"\n[device]\nworkers = 8\n[[jobs]]\nname = "{name}"\nop = "tess"\nbackend = "ev74"\n'
        f'dtype = "{dtype}"\nshape = {shape}\nworkers = {workers}\ninput = {{ pattern = "golden" }}\n'
        f'tiled = {{ axes = [-1, 0, 1, 2], tile = {tile}, channels = "compact" }}\n'
    )


def write_board(
    folder: Path, spoil: Spoil = lambda row: row, setup: str = SETUP, repeats: int = 8, jobs: Iterable[str] = JOBS
) -> Path:
    """The folder, with lines of each job on one and four workers; `spoil` may change or drop any of them."""
    (folder / "experiments").mkdir(parents=True)
    rows: list[Observation] = []
    for name in jobs:
        for workers in (1, 4):
            experiment = f"{name}.w{workers}"
            (folder / "experiments" / f"{experiment}.toml").write_text(scenario(name, workers))
            rows += measured(folder, experiment, repeats)
    (folder / "setup.toml").write_text(setup)
    kept: Iterable[Observation] = filter(None, map(spoil, rows))
    (folder / "table.csv").write_text(table_text(Table(tuple(kept))))
    return folder


def measured(folder: Path, name: str, repeats: int) -> list[Observation]:
    """What a device would measure that is as it was guessed, with 1 % of noise, in microseconds."""
    random, parts = Random(name), measured_parts(read_experiment(folder, name), {})
    split = VALIDATE if name.split(".")[0] in HELD_OUT else FIT
    return [
        Observation(
            name,
            observable,
            repeat,
            round(sum(parts[part] for part in PARTS[observable]) / 1000 * exp(random.gauss(0, 0.01)), 3),
            "us",
            split,
        )
        for observable in ("device", "job")
        for repeat in range(repeats)
    ]


def changed(name: str, observable: str = "device", repeats: tuple[int, ...] = tuple(range(99))) -> Callable[..., Spoil]:
    """A spoiler of some lines: `changed("luma.w1")(value=lambda value: 2 * value)`."""

    def spoiler(**changes: Callable[[float], object]) -> Spoil:
        def spoil(row: Observation) -> Observation:
            if (row.experiment, row.observable) != (name, observable) or row.repeat not in repeats:
                return row
            return attrs.evolve(row, **{key: change(getattr(row, key)) for key, change in changes.items()})  # type: ignore[arg-type]

        return spoil

    return spoiler
