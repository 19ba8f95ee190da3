"""The bench measures what it says: the same bytes from every contender, and a report of fixed form."""

import json
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tessbed.bench import competitors
from tessbed.bench import measurement as measuring
from tessbed.bench.cases import CASES, BenchCase
from tessbed.bench.report import bench_document, format_bench, run_bench
from tessbed.kernels import OPERATIONS
from tessbed.kernels.a65.executor import executor_of

SMALL = (
    BenchCase("blocks", "detesscast", "bf16", (9, 9, 32), (4, 4, 32), "cblocked", "groups16", "fp32"),
    BenchCase("boundary tiles", "tess", "bf16", (9, 10, 19), (4, 4, 16), "pad16", "odd"),
    BenchCase("channel-first", "detess", "int8", (9, 10, 19), (4, 4, 16), "compact", "channel_first", order="chw"),
    BenchCase("pitched", "tess", "int8", (9, 10, 19), (4, 4, 16), "pad16", "pitched", pitch=3),
    BenchCase("narrow", "casttess", "bf16", (9, 10, 19), (4, 4, 16), "pad16", "odd", "fp32"),
    BenchCase("quantize", "quanttess", "int8", (9, 10, 19), (4, 4, 16), "pad16", "odd", "fp32"),
    BenchCase("rank 1", "tess", "bf16", (1, 1, 40), (1, 1, 16), "compact", "odd", rank=1),
    BenchCase("rank 2, channel-first", "detess", "bf16", (1, 9, 40), (1, 4, 16), "compact", "odd", order="chw", rank=2),
    BenchCase("rank 5", "tess", "int8", (4, 5, 19), (4, 4, 16), "pad16", "odd", outer=(2, 3)),
    BenchCase("scalars apart", "detesscast", "bf16", (9, 10, 5), (4, 3, 5), "compact", "sparse", "fp32", apart=2),
    BenchCase("dequantize", "detessdequant", "int8", (9, 9, 32), (4, 4, 32), "cblocked", "odd", "fp32"),
)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_rivals_give_the_same_bytes(case: BenchCase) -> None:
    """The pipelines that the bench beats are right: their bytes equal the executor's, and so they are measured."""
    entry = measuring.measure_case(case, rounds=1)
    assert entry.rival in ("numpy", "einops", "torch", "views", "torch views")
    assert min(entry.call_ns, entry.copy_ns, entry.user_ns, entry.prepare_ns) > 0


def test_wrong_rival_stops_the_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline whose bytes differ would void the comparison: nothing is measured."""
    monkeypatch.setattr(
        competitors, "transposers", lambda: {"blank": lambda array, order: np.zeros_like(array.transpose(order))}
    )
    with pytest.raises(ArithmeticError, match="blank"):
        measuring.measure_case(SMALL[1], rounds=1)


def test_report() -> None:
    """Text and JSON hold every case that matches, with its ratios, and means of its family."""
    reported: list[str] = []
    report = run_bench(SMALL[:4], match="l", rounds=1, progress=reported.append)
    assert reported == ["blocks", "boundary tiles", "channel-first"]
    document = json.loads(json.dumps(bench_document(report)))
    assert document["schema_version"] == 1
    assert [entry["name"] for entry in document["measurements"]] == reported
    assert {entry["name"]: entry["cases"] for entry in document["summaries"]} == {
        "bf16 dense": 2,
        "bf16 16-channel groups": 1,
        "int8 channel-first": 1,
        "int8 channel-first and pitched": 1,
    }
    text = format_bench(report)
    assert all(name in text for name in (*reported, "geometric means", "int8 channel-first and pitched"))


def test_cases_are_named_once() -> None:
    """Every case has a name of its own and is admitted."""
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        executor_of(OPERATIONS[case.op]).check_inference(case.request())


def test_turns_are_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every contender begins as many rounds of turns as the others, and comes as often behind each neighbour."""
    seen: list[str] = []
    runs = {name: partial(str, name) for name in "abc"}

    def time(run: Callable[[], str], repeats: int) -> float:
        seen.append(run())
        return 1.0

    monkeypatch.setattr(measuring, "_time", time)
    times = measuring.time_in_turns(runs, rounds=6)
    assert {len(found) for found in times.values()} == {6 * measuring.TURNS}
    turns = seen[len(runs) :]
    assert {turns[::3].count(name) for name in runs} == {2 * measuring.TURNS}
    pairs = [turns[at : at + 2] for at in range(len(turns) - 1) if at % 3 < 2]
    assert {pairs.count([first, then]) for first in runs for then in runs if first != then} == {2 * measuring.TURNS}
