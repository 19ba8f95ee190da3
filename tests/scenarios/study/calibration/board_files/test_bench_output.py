"""The public bench's output: what it holds, as rows and scenarios, and what is no complete or right output.

The lines have the form that the bench's source prints; the numbers are invented.
"""

import re
from pathlib import Path

import pytest

from tessbed.kernels.operations import OPERATIONS
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.toml_writer import toml_text
from tessbed.scenarios.library import load
from tessbed.scenarios.study.calibration.board_data import Table
from tessbed.scenarios.study.calibration.board_files.bench_output import bench_rows, bench_scenario, read_bench
from tessbed.scenarios.study.calibration.board_files.table_file import TableReader, table_text

HASHES = "hashes: " + " ".join(
    f"{name}=0x8c1f2be9a1540c3d" for name in ("host_payload", "host_full", "ev74_payload_first", "ev74_full_first")
)
OUTPUT = """\
[case] evo-bf16-luma input=384x1664x1 tile=384x17x1 dtype=BF16 elem_bytes=2 payload_bytes=1277952 aligned_bytes=1277952
  host_generic: avg_ms=2.1034 min_ms=2.0811 max_ms=2.4410 approx_gbps=1.2151
  host_neon: avg_ms=0.6120 min_ms=0.6011 max_ms=0.7002 approx_gbps=4.1763
  ev74_wall: avg_ms=1.4120 min_ms=1.2013 max_ms=2.9120 approx_gbps=1.8101
  ev74_element: avg_ms=0.5120 min_ms=0.4800 max_ms=0.9700 approx_gbps=4.9920
  HASHES
  ev74_stability: payload=stable full=stable
  compare_host_vs_ev74: payload_match=yes full_match=yes payload_mismatches=0 padding_mismatches=0
  previews: host=8b 41 07 c2 19 c1 a4 40 f2 41 3e c1 99 42 01 c2 ev74=8b 41 07 c2 19 c1 a4 40 f2 41 3e c1 99 42 01 c2
[case] evo-bf16-uv input=192x832x2 tile=39x42x2 dtype=BF16 elem_bytes=2 payload_bytes=638976 aligned_bytes=639616
  host_generic: avg_ms=1.1034 min_ms=1.0811 max_ms=1.4410 approx_gbps=1.1582
  host_neon: avg_ms=0.3120 min_ms=0.3011 max_ms=0.4002 approx_gbps=4.0960
  ev74_wall: avg_ms=0.9120 min_ms=0.8013 max_ms=1.9120 approx_gbps=1.4013
  ev74_element: avg_ms=0.0000 min_ms=0.0000 max_ms=0.0000 approx_gbps=0.0000
  HASHES
  ev74_stability: payload=stable full=unstable
  compare_host_vs_ev74: payload_match=yes full_match=no payload_mismatches=0 padding_mismatches=12
  first_diff: absolute=12 tile=0
  previews: host=8b 41 07 c2 19 c1 a4 40 f2 41 3e c1 99 42 01 c2 ev74=8b 41 07 c2 19 c1 a4 40 f2 41 3e c1 99 42 01 c2
[OK] tess_a65_vs_ev74_bench completed
""".replace("HASHES", HASHES)
WALL = "ev74_wall: avg_ms=1.4120 min_ms=1.2013 max_ms=2.9120 approx_gbps=1.8101"


def test_the_cases_and_their_rows() -> None:
    """A row for each case whose timer counted, in microseconds, with the other statistics in its note."""
    luma, chroma = read_bench(OUTPUT, "b")
    assert (luma.shape, luma.tile, chroma.shape, chroma.tile) == (
        (384, 1664, 1),
        (384, 17, 1),
        (192, 832, 2),
        (39, 42, 2),
    )
    rows = [row for case in (luma, chroma) for row in bench_rows(case, "ev74_element", "mean", "200 runs")]
    assert [(row.experiment, row.observable, row.value, row.unit) for row in rows] == [
        ("evo-bf16-luma", "job", 512.0, "us")
    ]
    assert rows[0].note == "ev74_element: mean of 200 runs; min 480.0, max 970.0 us; with code of the host"
    walls = [row.value for case in (luma, chroma) for row in bench_rows(case, "ev74_wall", "min", "200 runs")]
    assert walls == [1201.3, 801.3]
    assert TableReader().table(table_text(Table(tuple(rows))), "t").observations == tuple(rows)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: f"12: {line}",  # ctest -V
        lambda line: f"{line}\r",  # a serial console
        lambda line: f"0:00:01.234 4711 0xffff INFO neatprocesscvu: run\n{line}",  # logs of GStreamer between
    ],
    ids=("ctest", "a console", "logs"),
)
def test_how_an_output_is_kept_does_not_matter(change) -> None:
    """The numbers are the same where each line has the prefix of ctest, a carriage return, or other lines around it."""
    lines = "\n".join(map(change, OUTPUT.splitlines()))
    rows = [row for case in read_bench(lines, "b") for row in bench_rows(case, "ev74_wall", "mean", "200 runs")]
    assert [row.value for row in rows] == [1412.0, 912.0]


def test_the_scenarios_are_the_bench_s_own_jobs(tmp_path: Path) -> None:
    """Admission gives their tiled sides the sizes that the bench states: shapes, tiles and alignment are understood."""
    for case, aligned in zip(read_bench(OUTPUT, "b"), (1277952, 639616), strict=True):
        path = tmp_path / f"{case.name}.toml"
        path.write_text(toml_text(bench_scenario(case, "ev74-4core")))
        (job,) = load(str(path)).operations
        assert job.plan.op == OPERATIONS["tess"]
        assert (job.plan.input.required_bytes, job.plan.output.required_bytes) == (case.payload_bytes, aligned)


MISTAKES = {
    "another file": ("hello\n", "b:1:1: got no line that begins with [case]"),
    "not at its end": (OUTPUT.replace("[OK]", "[??]"), "b:10:1: the output has no line [OK]"),
    "skipped": ("[SKIP-LONG] dispatcher unavailable\n", "b:1:1: the bench skipped its cases: [SKIP-LONG] dispatcher"),
    "skipped later": (OUTPUT.replace("[OK]", "[SKIP-LONG]"), "b:20:1: the bench skipped its cases: [SKIP-LONG] tess"),
    "failed": (OUTPUT + "[FAIL] EV74 tess benchmark returned no output\n", "b:21:1: the bench failed: [FAIL] EV74"),
    "wrong bytes": (OUTPUT.replace("payload_match=yes", "payload_match=no", 1), "b:8:1: case evo-bf16-luma: "),
    "unstable bytes": (OUTPUT.replace("payload=stable", "payload=unstable", 1), "b:7:1: case evo-bf16-luma: payload="),
    "cut off": ("\n".join(OUTPUT.split("\n")[:12]) + "\n[OK]\n", "b:10:1: case evo-bf16-uv has no line ev74_wall"),
    "no verdict": (re.sub(r".*stability.*\n", "", OUTPUT), "b:1:1: case evo-bf16-luma does not say whether its bytes"),
    "an order": (OUTPUT.replace("min_ms=1.2013", "min_ms=1.5"), "b:4:1: ev74_wall: got min 1.5, mean 1.412"),
    "microseconds": (OUTPUT.replace(WALL, "ev74_wall: avg_ms=1412 min_ms=1201 max_ms=2912 approx_gbps=1.8101"),
        "b:4:1: ev74_wall: got 1.8101 GB/s with a mean of 1412 ms, wanted 0.00181"),
    "sizes": (OUTPUT.replace("aligned_bytes=639616", "aligned_bytes=638976"), "b:10:1: case evo-bf16-uv: got 638,976"),
    "no geometry": (OUTPUT.replace("input=192x832x2 ", ""), "b:10:1: case evo-bf16-uv: 'input' is missing or unknown"),
    "no number": (OUTPUT.replace("avg_ms=1.4120", "avg_ms=fast"), "b:4:1: ev74_wall: "),
    "another type": (OUTPUT.replace("dtype=BF16", "dtype=INT32", 1), "b:1:1: case evo-bf16-luma: 'INT32' is missing"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "part"), MISTAKES.values(), ids=MISTAKES)
def test_what_is_no_right_output_is_refused(text: str, part: str) -> None:
    """At its line; a time of wrong bytes, or of other units than it says, is no measurement."""
    with pytest.raises(ScenarioError) as refused:
        read_bench(text, "b")
    assert part in str(refused.value)
