"""Everything that is claimed of the A65's rows, claimed again of its NEON instructions, emulated."""

import pytest

from tests.kernels.a65 import test_qualification, test_values
from tests.kernels.a65.memory_cases import KINDS, geometries
from tests.kernels.a65.running import assert_right

pytest.importorskip("ziglang", reason="needs the package ziglang, which has no wheel for this machine")
pytest.importorskip("unicorn", reason="needs the package unicorn, which has no wheel for this machine")

from tests.kernels.a65.neon.fixtures import neon, program  # noqa: F401

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

globals().update(
    (name, claim)
    for module in (test_qualification, test_values)
    for name, claim in vars(module).items()
    if name.startswith("test_")
)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("part", range(4))
def test_memory_cases(op: str, part: int) -> None:
    """Every case that moves an address or an end stays inside its pages, with the right bytes."""
    for geometry in list(geometries(op))[part::4]:
        assert_right(geometry)
