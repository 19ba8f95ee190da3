"""The bench of loads compares like with like."""

from tests.bench_loads import measure


def test_a_plain_simpy_model_has_the_same_latencies() -> None:
    """Processes and Resources, written without the recurrence in mind, find the latencies of the same frames."""
    assert measure(500, 500)["equal"]
