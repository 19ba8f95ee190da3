"""The bench's cases under pytest-benchmark: checked calls, and preparations apart.

Not collected with the suite: `pip install 'tessbed[bench]'`, then
`python -m pytest tests/bench/bench_a65.py --override-ini python_files=bench_*.py`.
"""

import pytest

from tessbed.bench import measurement
from tessbed.bench.cases import CASES, BenchCase
from tessbed.kernels import OPERATIONS
from tessbed.kernels.a65.executor import executor_of

pytest.importorskip("pytest_benchmark")

cases = pytest.mark.parametrize("case", [case for case in CASES if case.family != "huge"], ids=lambda case: case.name)


@cases
def test_call(case: BenchCase, benchmark) -> None:
    """One checked call on bound storage."""
    contenders = measurement.contenders(case)
    benchmark.group = case.name
    benchmark(contenders["call"])


@cases
def test_copy(case: BenchCase, benchmark) -> None:
    """np.copyto of the same traffic."""
    contenders = measurement.contenders(case)
    benchmark.group = case.name
    benchmark(contenders["copy"])


@cases
def test_preparation(case: BenchCase, benchmark) -> None:
    """Admission and preparation."""
    benchmark(executor_of(OPERATIONS[case.op]).check_inference, case.request())
