"""A twin of a board: a hidden device measures the experiments of a plan, with noise, in place of silicon.

    python twin.py FOLDER

fills in setup.toml and table.csv of a folder that `tessbed calibrate plan` wrote. Nothing of the hidden device is in
the folder but what it "measured"; HIDDEN is what a fit should find.
"""

import math
import random
import sys
from pathlib import Path

import tessbed

CLOCK_MHZ = 1000
NOISE = 0.01
HIDDEN = {
    "device.dispatch_ticks": 81_000,
    "device.completion_ticks": 62_000,
    "device.dma.bytes_per_tick": 12,
    "device.dma.issue_ticks": 17,
    "device.dma.setup_ticks": 85,
    "device.memory.bytes_per_tick": 48,
    "device.memory.read_latency_ticks": 260,
    "device.compute.band_ticks": 210,
    "device.compute.run_ticks": 9,
}
SETUP = f"""board = "a twin"
clock_mhz = {CLOCK_MHZ}
clock_source = "measured"
timer = "ticks of the hidden device"
timer_resolution_ns = 1.0

[ranges]
"memory.background_percent" = [0, 0]
"""


def microseconds(path: Path) -> dict[str, float]:
    """What the hidden device takes for an experiment, without noise."""
    report = tessbed.Scenario.load(path, HIDDEN).run(engine="exact")
    job = report.document["jobs"][0]["results"]["ev74"]
    loaded = job["job_ticks"] - tessbed.DeviceSpec().kernel_load_ticks
    return {"device": job["ticks"] / CLOCK_MHZ, "job": loaded / CLOCK_MHZ}


def main(folder: Path) -> None:
    (folder / "setup.toml").write_text(SETUP)
    head, *lines = (folder / "table.csv").read_text().splitlines()
    measured, noise = {}, random.Random("twin")
    for line in lines:
        name, observable, repeat, _, unit, split, note = line.split(",")
        if name not in measured:
            measured[name] = microseconds(folder / "experiments" / f"{name}.toml")
        value = measured[name][observable] * math.exp(noise.gauss(0, NOISE))
        head += f"\n{name},{observable},{repeat},{value:.3f},{unit},{split},{note}"
    (folder / "table.csv").write_text(f"{head}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
