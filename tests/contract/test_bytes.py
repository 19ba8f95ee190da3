"""Each backend writes exactly the bytes that the documents say, on real, hand-written and random tensors."""

from hashlib import sha256
from random import Random

import pytest

from tests.contract.backends import Run
from tests.geometries import FAMILY, name_of, random_geometries
from tests.golden.by_hand import BY_HAND, ByHand
from tests.golden.corners import CORNERS
from tests.golden.realworld import REALWORLD, Recorded
from tests.oracle import PREFILL, Geometry, expected_output, golden_bytes, input_bytes
from tests.requests import request_of
from tests.words import source_of

RANDOM = random_geometries(300, seed=300)
FAMILY_RANDOM = random_geometries(48, 300, FAMILY)


@pytest.mark.quick
@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case.name)
def test_by_hand(run: Run, case: ByHand) -> None:
    """The hand-written bytes come out, with the gaps as they were."""
    assert run(request_of(case.geometry), case.source, PREFILL).hex(" ") == case.expected.hex(" ")


@pytest.mark.parametrize("case", REALWORLD, ids=lambda case: case.name)
def test_realworld(run: Run, case: Recorded) -> None:
    """A real model's tensor gives the recorded SHA-256."""
    tess = case.geometry.op == "tess"
    source = golden_bytes(case.linear_bytes if tess else case.tiled_bytes)
    output = run(request_of(case.geometry), source, PREFILL)
    assert len(output) == (case.tiled_bytes if tess else case.linear_bytes)
    assert sha256(output).hexdigest() == case.sha256


@pytest.mark.parametrize("geometry", RANDOM, ids=map(name_of, RANDOM))
def test_random(run: Run, geometry: Geometry) -> None:
    """A random tensor of random bytes agrees with the literal oracle, whatever the output held before."""
    source = Random(name_of(geometry)).randbytes(input_bytes(geometry))
    for prefill in (PREFILL, PREFILL ^ 0xFF):
        assert run(request_of(geometry), source, prefill) == expected_output(geometry, source, prefill)


@pytest.mark.parametrize("geometry", FAMILY_RANDOM, ids=map(name_of, FAMILY_RANDOM))
def test_random_values(run: Run, geometry: Geometry) -> None:
    """So does a random tensor whose values are converted: words near ties, NaNs, infinities, subnormals."""
    source = source_of(geometry)
    assert run(request_of(geometry), source, PREFILL) == expected_output(geometry, source)


@pytest.mark.parametrize("geometry", CORNERS.values(), ids=list(CORNERS))
def test_corners(run: Run, geometry: Geometry) -> None:
    """Where a field, a buffer or a vector is outgrown, the bytes still agree with the literal oracle."""
    source = golden_bytes(input_bytes(geometry))
    output, expected = run(request_of(geometry), source, PREFILL), expected_output(geometry, source)
    assert len(output) == len(expected)
    assert [offset for offset in range(len(expected)) if output[offset] != expected[offset]][:5] == []
