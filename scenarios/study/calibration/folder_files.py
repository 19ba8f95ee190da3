"""Folder files: the names of the files of a calibration, which lives in a folder.

setup.toml               the board, its clock and timer (board_data.Setup)
table.csv                what was measured, a row for each repetition (board_data.Table)
plan.txt                 what a plan expects to learn
experiments/NAME.toml    one scenario for each experiment, of one job on ev74
packets/NAME.bin         its packet, bound to the addresses that it is predicted for
fit.json                 the result of a fit; fit.state.json what is done of one that is not at its end
"""

from pathlib import Path

SETUP_FILE, TABLE_FILE, PLAN_FILE = "setup.toml", "table.csv", "plan.txt"
FIT_FILE, STATE_FILE = "fit.json", "fit.state.json"
EXPERIMENTS, PACKETS = "experiments", "packets"
"""Folders inside that of a calibration."""


def experiment_path(folder: Path, name: str) -> Path:
    """The scenario file of an experiment of a calibration in `folder`."""
    return folder / EXPERIMENTS / f"{name}.toml"
