"""What planning a launch for the exact engine takes: `python -m tests.bench_planning [--rounds N]`.

By runs, as the product does, and band by band, as the enumerating planner does for small ones. In
every round each is planned once, one after the other; CPU time, medians over rounds.
"""

import argparse
import time
from collections.abc import Callable
from random import Random
from statistics import median

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_summary import plan_launch
from tessbed.firmware_models.nests.enumerating_planner import EnumeratingPlanner
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.firmware_models.test_launch_summary import HWC, packet_geometry
from tests.oracle import Geometry

MOST_ENUMERATED = 40_000
SIZES = (("10 thousand", 100, 100), ("1 million", 1000, 1000), ("10 million", 3200, 3125))


def cases() -> list[tuple[str, int, PacketGeometry]]:
    """Uniform grids that pack and unpack, and one whose rows end in a cut tile and start at ever other places."""
    found = []
    for _, height, width in SIZES:
        tile = (1, 1, 1, 16)
        grids = [
            ("tess, 16 bytes a tile", Geometry("tess", (height, width, 16), "int8", HWC, tile)),
            ("detess, 16 bytes a tile", Geometry("detess", (height, max(width, 2400), 16), "int8", HWC, tile)),
            (
                "tess, cut tiles, odd rows",
                Geometry("tess", (4 * height - 1, 4 * width - 1, 5), "bf16", HWC, (1, 4, 4, 5)),
            ),
        ]
        found += [(name, height * max(width, 2400 * name.startswith("d")), _bound(asked)) for name, asked in grids]
    return found


def _bound(asked: Geometry) -> PacketGeometry:
    return packet_geometry(asked, Random(1))


def _cpu_ms(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return 1000 * (time.process_time() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    rounds, spec = parser.parse_args().rounds, DeviceSpec()
    ms: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
    for _ in range(rounds):
        for name, tiles, geometry in cases():
            by_runs, one_by_one = ms.setdefault((name, tiles), ([], []))
            by_runs.append(_cpu_ms(lambda at=geometry: plan_launch(at, spec, 4)))
            if tiles <= MOST_ENUMERATED:
                one_by_one.append(_cpu_ms(lambda at=geometry: EnumeratingPlanner(spec).draw(at, 4)))
    print(f"{'ms to plan a launch of 4 workers':32} {'tiles':>12} {'by runs':>10} {'band by band':>14}")
    for (name, tiles), (by_runs, one_by_one) in ms.items():
        enumerated = f"{median(one_by_one):14.0f}" if one_by_one else f"{'':14}"
        print(f"{name:32} {tiles:12,} {median(by_runs):10.1f} {enumerated}")


if __name__ == "__main__":
    main()
