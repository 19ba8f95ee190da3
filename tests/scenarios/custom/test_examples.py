"""The kernels in `examples/`: each does what its reference says, and the race is found with its line."""

from pathlib import Path

import attrs
import numpy as np
import pytest

from tessbed.kernels.custom.kernel_plan import KernelPlan, plan_kernel
from tessbed.kernels.custom.loading import load_kernel
from tessbed.runtime.errors import JobFault
from tessbed.scenarios.custom.kernel_run import run_kernel
from tessbed.sim.spec.device_spec import DeviceSpec

EXAMPLES = Path(__file__).parents[3] / "examples"
SOUND = ["copy.py:copy", "transpose.py:transpose", "planes.py:planes", "reduce.py:reduce", "reduce.py:partials"]


def arrays(plan: KernelPlan) -> dict[str, np.ndarray]:
    """Numbers for every input."""
    random = np.random.default_rng(7)
    return {port.name: random.integers(0, 100, port.shape).astype(port.type.dtype) for port in plan.inputs}


@pytest.mark.parametrize("granule", [16, 64, 128])
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("reference", SOUND)
def test_an_example_does_what_its_reference_says(reference, workers, granule):
    """Each sound example gives the reference's bytes, whatever the grid and the granule, and no finding."""
    kernel = load_kernel(reference, EXAMPLES)
    spec = attrs.evolve(DeviceSpec(), write_granule_bytes=granule)
    ran = run_kernel(kernel, arrays(plan_kernel(kernel)), workers=workers, spec=spec)
    assert ran.judged
    assert ran.mismatch is None, str(ran.mismatch)


def test_the_race_is_found_at_its_line():
    """The example of a race ends with a hazard at the line that writes."""
    kernel = load_kernel("race.py:race", EXAMPLES)
    lines = (EXAMPLES / "race.py").read_text().splitlines()
    line = 1 + next(number for number, text in enumerate(lines) if "w.pack(" in text)
    with pytest.raises(JobFault) as caught:
        run_kernel(kernel, arrays(plan_kernel(kernel)))
    assert caught.value.status == "kernel_hazard"
    assert caught.value.detail in range(4)
    assert line > 1
