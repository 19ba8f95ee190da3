"""Exploring finds what order alone can corrupt, shrinks it, and replays it; right firmware comes out clean."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tessbed.cli import main
from tessbed.firmware_models import worker_loop
from tessbed.kernels import ChannelStorage, Contiguous, DType, MlaCBlocked, MlaTiled, Op, Strided
from tessbed.scenarios.model import Geometry
from tessbed.scenarios.verification.explore import schedules, token
from tessbed.scenarios.verification.explore.bench import ExplorationBench, ExplorationCase, OrderResult
from tessbed.scenarios.verification.explore.exploration import explore
from tessbed.scenarios.verification.explore.report import ExplorationReport, document, unsafe
from tessbed.scenarios.verification.explore.shrink import shrink, smaller_cases
from tessbed.sim.interleavings import untimed_engine
from tessbed.sim.interleavings.actions import Name
from tessbed.sim.interleavings.untimed_worker import UntimedWorker
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests import oracle
from tests.firmware_models.mutants import MUTANTS, Mutant
from tests.geometries import random_geometries

CORRUPTING = [mutant for mutant in MUTANTS if mutant.corrupts]
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


ROWS = """\
name = "rows"
[[jobs]]
name = "rows"
op = "detess"
dtype = "int8"
shape = [24, 20, 5]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 3, 20, 5] }
input = { pattern = "golden" }
"""


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    """How `tessbed explore` ends: exit code, stdout, stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["explore", *arguments])
    return ended.value.code, *capsys.readouterr()


def case_of(geometry: oracle.Geometry, **changes: object) -> ExplorationCase:
    """A case in the tests' words."""
    if geometry.cblocked is not None:
        tiled: MlaTiled | MlaCBlocked = MlaCBlocked(*geometry.cblocked)
    else:
        assert geometry.axes is not None
        assert geometry.tile is not None
        tiled = MlaTiled(
            geometry.axes, geometry.tile, ChannelStorage.PAD16 if geometry.pad16 else ChannelStorage.COMPACT
        )
    filled = geometry.op == "tess" and geometry.dtype == "int8" and geometry.pad16
    wanted = Geometry(
        op=Op(geometry.op),
        dtype=DType(geometry.dtype),
        shape=geometry.shape,
        tiled=tiled,
        linear=Contiguous() if geometry.strides_bytes is None else Strided(geometry.strides_bytes),
        to=DType(geometry.to) if geometry.to else None,
        int8_channel_padding=geometry.fill if filled else None,
    )
    spec = override(DeviceSpec(), changes)
    return ExplorationCase(wanted, spec, spec.workers, 0xC3)


def again(case: ExplorationCase, order: Sequence[Name]) -> tuple[ExplorationCase, list[Name]]:
    """What the token of a case and an order holds."""
    text = token.encode_token(case, order)
    assert text is not None
    return token.decode_token(text)


def case_of_mutant(mutant: Mutant) -> ExplorationCase:
    """The job in which a mutant's bug shows."""
    return case_of(mutant.geometry, **mutant.changes)


@pytest.mark.parametrize("mutant", CORRUPTING, ids=lambda mutant: mutant.name)
def test_a_bug_is_found_shrunk_and_replayed(mutant: Mutant) -> None:
    """Some order corrupts a byte; a smaller job does too; its token gives the same order and the same wrong byte."""
    case = case_of_mutant(mutant)
    assert explore(case, 20, 7).ok
    with mutant.applied():
        found = explore(case, 100, 7)
        assert found.corrupted
        smallest = shrink(found, 7)
        assert smallest.failure is not None
        assert smallest.transfers <= found.transfers
        case, order = again(smallest.case, smallest.failure.order)
        assert case == smallest.case
        outcomes = [ExplorationBench(case).run(schedules.recorded_order(order)) for _ in range(2)]
        assert outcomes[0].wrong == outcomes[1].wrong
        assert outcomes[0].corrupted
        assert schedules.fingerprint(order) == smallest.failure.fingerprint


def test_shrinking_repeats() -> None:
    """The same seed shrinks to the same job."""
    mutant = BY_NAME["even tile split"]
    with mutant.applied():
        first, second = (shrink(explore(case_of_mutant(mutant), 20, 3), 3) for _ in range(2))
    assert first == second


def test_few_transfers_are_explored_exhaustively() -> None:
    """Up to eight transfers every order that can be distinguished is run; the report says which of the two it was."""
    small = case_of(oracle.Geometry("tess", (4, 6, 5), "bf16", (-1, 0, 1, 2), (1, 1, 6, 5)), workers=2)
    large = case_of(oracle.Geometry("tess", (40, 6, 5), "bf16", (-1, 0, 1, 2), (1, 1, 6, 5)), workers=2)
    found = explore(small, 30, 1)
    assert (found.mode, found.transfers, found.ok) == ("exhaustive", 8, True)
    assert explore(large, 30, 1).mode == "seeded"
    assert explore(large, 30, 1).orders == 30


def test_an_exhaustive_search_says_when_it_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that would need more orders than allowed is not called exhaustive."""
    monkeypatch.setattr("tessbed.scenarios.verification.explore.exploration.MOST_ORDERS", 2)
    mutant = BY_NAME["even row split"]
    with mutant.applied():
        found = explore(
            case_of(oracle.Geometry("detess", (2, 20), "int8", (-1, -1, 0, 1), (1, 1, 2, 20)), workers=2), 9, 1
        )
    assert (found.mode, found.orders) == ("bounded", 2)


def test_clean_firmware_is_right_in_every_order() -> None:
    """Small random jobs, explored: no finding, no corrupted byte, at any granule."""
    exhaustive = 0
    for index, geometry in enumerate(random_geometries(40, seed=88)):
        if 0 in geometry.shape:
            continue
        random = Random(index)
        granule, workers = random.choice([16, 32, 64, 128]), random.randint(1, 5)
        found = explore(case_of(geometry, write_granule_bytes=granule, workers=workers), 5, index)
        assert found.ok
        exhaustive += found.mode == "exhaustive"
    assert exhaustive > 3


def test_luck_is_distinguished_from_wrong() -> None:
    """A hazard depends on the order; what is wrong in every order is a plain wrong answer."""
    explored = {}
    for name in ("even row split", "narrowed pitch"):
        with BY_NAME[name].applied():
            explored[name] = [ExplorationReport("job", explore(case_of_mutant(BY_NAME[name]), 20, 1))]
    assert unsafe(explored["even row split"])
    assert not unsafe(explored["narrowed pitch"])
    assert document("x", explored["narrowed pitch"])["verdict"] == "failed"


def test_tokens_of_any_job() -> None:
    """Every kind of geometry and device survives its token."""
    for geometry in random_geometries(60, seed=89):
        if 0 not in geometry.shape:
            case = case_of(geometry, workers=3, dma={"outstanding": 2}, memory={"split_port": True})
            assert again(case, [(0, 0, 0), (1, 2, 1)]) == (case, [(0, 0, 0), (1, 2, 1)])


def test_smaller_cases_are_smaller() -> None:
    """Each candidate has fewer workers, elements or tile elements, or loses its strides."""
    case = case_of(
        oracle.Geometry("tess", (4, 6), "int8", (-1, -1, 0, 1), (1, 1, 2, 5), strides_bytes=(9, 1)), workers=3
    )
    steps = list(smaller_cases(case))
    assert case not in steps
    assert len(steps) > 6


def test_an_order_left_out_is_no_wrong_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the exhaustive search does not run again counts neither as run nor as corrupted."""
    ran: list[OrderResult] = []
    run = ExplorationBench.run

    def noted(self: ExplorationBench, *arguments: object, **options: object) -> OrderResult:
        ran.append(run(self, *arguments, **options))  # pyright: ignore[reportArgumentType]
        return ran[-1]

    monkeypatch.setattr(ExplorationBench, "run", noted)
    rows = oracle.Geometry("detess", (4, 10, 3), "int8", (-1, 0, 1, 2), (1, 2, 10, 3))
    with BY_NAME["even row split"].applied():
        found = explore(case_of(rows, workers=2), 9, 1)
    assert found.mode == "exhaustive"
    assert found.corrupted == sum(one.wrong is not None for one in ran)
    assert 0 < found.corrupted < found.orders == len(ran) - 1


def failing(*_: object, **__: object) -> None:
    """A call that is wrong in itself."""
    raise TypeError("got what nobody expects")


def firmware_that_fails(worker: object, program: object) -> Iterator[object]:
    """A worker loop with a crash of its own."""
    yield from ()
    failing()


def firmware_that_asks_wrongly(worker: UntimedWorker, program: object) -> Iterator[object]:
    """A worker loop that misuses the device model."""
    yield from worker.gather([])


BROKEN = [
    ("firmware crashes", worker_loop, "run_bands", firmware_that_fails, 1),
    ("firmware misuses the device", worker_loop, "run_bands", firmware_that_asks_wrongly, 1),
    ("the stage fails", untimed_engine, "cost_table", lambda spec: None, 70),
    ("the order fails", schedules, "Random", lambda seed: None, 70),
    ("the comparison fails", np, "flatnonzero", failing, 70),
]


@pytest.mark.parametrize(("owner", "name", "bug", "code"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_failure_of_ours_is_no_finding(
    owner: object,
    name: str,
    bug: object,
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Firmware may fail in any way; when what runs it fails, there is a traceback and no verdict."""
    file = tmp_path / "rows.toml"
    file.write_text(ROWS, encoding="utf-8")
    monkeypatch.setattr(owner, name, bug)
    ended, out, err = said(capsys, str(file), "--orders", "10")
    assert ended == code
    assert ("Traceback" in err, out == "") == (code == 70, code == 70)
    assert ("not a verdict" in err) == (code == 70)


def firmware_without_memory(worker: object, program: object) -> Iterator[object]:
    """A worker loop on a machine that has no memory left."""
    yield from ()
    raise MemoryError


def test_a_machine_without_memory_is_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that runs out while firmware runs is a refusal, not a verdict on the firmware."""
    file = tmp_path / "rows.toml"
    file.write_text(ROWS, encoding="utf-8")
    monkeypatch.setattr(worker_loop, "run_bands", firmware_without_memory)
    ended, out, _ = said(capsys, str(file), "--orders", "3")
    assert (ended, out) == (2, "")


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tessbed explore` exits 0 on right firmware, 4 on a hazard with a token, and replays that token."""

    def reported(*arguments: str) -> tuple[object, str, str]:
        return said(capsys, *arguments)

    file = tmp_path / "rows.toml"
    file.write_text(ROWS, encoding="utf-8")
    code, out, _ = reported(str(file), "--orders", "10")
    assert code == 0
    assert "seeded" in out
    assert out.splitlines()[-1] == "ok: 10 orders of 1 job, every byte right, nothing unordered"
    with BY_NAME["even row split"].applied():
        code, out, _ = reported(str(file), "--orders", "10", "--json")
        assert code == 4
        (job,) = json.loads(out)["jobs"]
        assert job["findings"]
        assert job["spoilt"] > 0
        code, text, _ = reported("--replay", job["replay"])
        assert code == 4
        assert job["smallest"]["failure"]["order"] in text
        assert job["smallest"]["failure"]["what"] in text
        code, text, _ = reported(str(file), "--orders", "10")
        assert code == 4
        assert f"to replay: tessbed explore --replay {job['replay']}" in text
    assert reported("--replay", "nonsense")[0] == 2
    code, _, err = reported()
    assert code == 2
    assert "missing SCENARIO" in err
