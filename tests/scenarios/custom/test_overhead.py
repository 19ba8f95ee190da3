"""A copy as a user's kernel costs little more to simulate than the built-in packing of the same bytes."""

from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from tessbed.firmware_models.custom.image_kernels import ImageKernels
from tessbed.firmware_models.image import FirmwareImage
from tessbed.kernels.custom.kernel_plan import plan_kernel
from tessbed.kernels.custom.loading import load_kernel
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios.exact.exact_device import ExactDevice
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.model import KernelJob, ScenarioJob
from tessbed.sim.device.device import Device
from tessbed.sim.spec.device_spec import DeviceSpec

EXAMPLES = Path(__file__).parents[3] / "examples"
TESS = """
name = "tess"
[[jobs]]
name = "tess"
op = "tess"
backend = "ev74"
dtype = "int8"
shape = [1024, 1024, 1]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 32, 1024, 1] }
input = { pattern = "golden" }
"""
SIZE = 1 << 20


def best(work: Callable[[], object]) -> float:
    """The processor time of the quickest of some calls."""
    times = []
    for _ in range(30):
        began = process_time()
        work()
        times.append(process_time() - began)
    return min(times)


def jobs() -> tuple[ScenarioJob, KernelJob]:
    """The same bytes packed by the built-in operation, and copied by a kernel."""
    kernel = load_kernel("copy.py:copy", EXAMPLES)
    plan = plan_kernel(kernel, {"rows": 1024, "columns": 1024})
    (built_in,) = compose(parse_toml(TESS, "tess"), Path()).operations
    return built_in, KernelJob(0, "copy", "copy.py:copy", EXAMPLES, plan=plan)


@pytest.mark.long
def test_on_the_event_engine() -> None:
    """At most 1.5 times the built-in operation."""
    built_in, mine = jobs()
    image = FirmwareImage(custom=ImageKernels.of([mine.planned.kernel]))
    with Runtime(Device(DeviceSpec(), image)) as host, host.allocate(SIZE) as source, host.allocate(SIZE) as target:
        theirs = best(lambda: host.run(built_in.plan, [source], [target]))
        ours = best(lambda: host.run(mine.planned, [source], [target]))
    assert ours <= 1.5 * theirs


@pytest.mark.long
def test_on_the_exact_engine() -> None:
    """At most 3 times the built-in operation."""
    built_in, mine = jobs()
    theirs = best(lambda: ExactDevice(DeviceSpec()).run(built_in))
    ours = best(lambda: ExactDevice(DeviceSpec()).run(mine))
    assert ours <= 3 * theirs
