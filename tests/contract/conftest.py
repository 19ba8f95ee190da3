"""Every contract test takes `run` and so happens once for each backend."""

import pytest

from tests.contract.backends import BACKENDS, Run


@pytest.fixture(params=BACKENDS.values(), ids=list(BACKENDS))
def run(request: pytest.FixtureRequest) -> Run:
    """One backend: (request, source, prefill) to the output's required span."""
    return request.param
