"""Ports of external jobs: layouts that are not those of the other side are reported in their place."""

from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.format.toml_writer import toml_text
from tessbed.scenarios.model import to_values
from tessbed.scenarios.study.load.compilation import compile_load
from tessbed.scenarios.study.load.verification import verification

SOUND = """\
name = "ports"
[[jobs]]
name = "image"
op = "tess"
dtype = "int8"
shape = [4, 8, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3], channels = "pad16" }
int8_channel_padding = 0
input = { pattern = "golden" }
[[jobs]]
name = "network"
op = "external"
server = "mla"
ticks = 70_000
[[jobs.reads]]
job = "image"
dtype = "int8"
shape = [4, 8, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3], channels = "pad16" }
[[jobs.writes]]
name = "box"
dtype = "bf16"
shape = [4, 8, 16]
cblocked = { tile = [2, 4, 16] }
[[jobs.writes]]
name = "class"
dtype = "bf16"
shape = [4, 8, 32]
cblocked = { tile = [2, 4, 16] }
[[jobs]]
name = "head"
op = "detesscast"
dtype = "bf16"
to = "fp32"
shape = [4, 8, 16]
cblocked = { tile = [2, 4, 16] }
input = { job = "network", port = "box" }
[[jobs]]
name = "boxes"
op = "external"
server = "post"
ticks = 5_000
[[jobs.reads]]
job = "head"
dtype = "fp32"
shape = [4, 8, 16]
[[streams]]
name = "camera"
arrivals = { every = 900_000 }
"""


def problems_of(text: str) -> list[str]:
    """The lines that a user would see."""
    try:
        compose(parse_toml(text, "f"), Path())
    except ScenarioError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_ports_that_fit_order_the_jobs_and_run() -> None:
    """Each job waits for what it reads, every byte of the jobs of ours is checked, and the ticks agree with events."""
    scenario = compose(parse_toml(SOUND, "f"), Path())
    program = compile_load(scenario)
    assert [stage.name for stage in program.streams[0].stages] == ["image", "network", "head", "boxes"]
    assert [stage.after for stage in program.streams[0].stages] == [(), (0,), (1,), (2,)]
    assert verification(scenario, program)["disagreement"] is None


def test_ports_read_back_as_the_same() -> None:
    """What `show --toml` writes is the same scenario."""
    scenario = compose(parse_toml(SOUND, "f"), Path())
    assert compose(parse_toml(toml_text(to_values(scenario)), "g"), Path()) == scenario


MISTAKES = {
    "a tile of another size": (
        'shape = [4, 8, 3]\ntiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3], channels = "pad16" }\n[[jobs.writes]]',
        'shape = [4, 8, 3]\ntiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 2, 3], channels = "pad16" }\n[[jobs.writes]]',
        'f:16:7: jobs[1].reads[0].job: got "image", which writes pad16 int8 of [4, 8, 3] with extents and tiles of '
        "c, d, h, w ((3, 3), (1, 1), (4, 2), (8, 4)), wanted pad16 int8 of [4, 8, 3] with extents and tiles of "
        "c, d, h, w ((3, 3), (1, 1), (4, 2), (8, 2)), as this port reads",
    ),
    "as many bytes in another order": (
        'dtype = "fp32"\nshape = [4, 8, 16]',
        'dtype = "fp32"\nshape = [8, 4, 16]',
        'f:44:7: jobs[3].reads[0].job: got "head", which writes linear fp32 of [4, 8, 16] with strides and extents '
        "((4, 16), (64, 8), (512, 4)), wanted linear fp32 of [8, 4, 16] with strides and extents "
        "((4, 16), (64, 4), (256, 8)), as this port reads",
    ),
    "a port of other tiles": (
        'name = "box"\ndtype = "bf16"\nshape = [4, 8, 16]\ncblocked = { tile = [2, 4, 16] }',
        'name = "box"\ndtype = "bf16"\nshape = [4, 8, 16]\ncblocked = { tile = [4, 4, 16] }',
        'f:37:35: jobs[2].input.port: got "box" of network, which writes cblocked bf16 of [4, 8, 16] with extents and '
        "tiles of c, d, h, w ((16, 16), (1, 1), (4, 4), (8, 4)), wanted cblocked bf16 of [4, 8, 16] with extents "
        "and tiles of c, d, h, w ((16, 16), (1, 1), (4, 2), (8, 4)), as this job reads",
    ),
    "another port": (
        'port = "box"',
        'port = "class"',
        'f:37:35: jobs[2].input.port: got "class" of network, which writes cblocked bf16 of [4, 8, 32] with extents '
        "and tiles of c, d, h, w ((32, 16), (1, 1), (4, 2), (8, 4)), wanted cblocked bf16 of [4, 8, 16] with extents "
        "and tiles of c, d, h, w ((16, 16), (1, 1), (4, 2), (8, 4)), as this job reads",
    ),
    "a port that there is not": (
        'port = "box"',
        'port = "bx"',
        'f:37:35: jobs[2].input.port: got "bx", wanted a port of network: box or class; did you mean box?',
    ),
    "one of two ports": (
        ', port = "box"',
        "",
        'f:37:17: jobs[2].input.job: got "network" without port, wanted the port that it reads: box or class',
    ),
    "a port of a pattern": (
        'job = "network", port',
        'pattern = "golden", port',
        "f:37:38: jobs[2].input.port: got port with pattern, wanted job: it is a port of an external job",
    ),
    "a job that there is not": (
        'job = "head"',
        'job = "hed"',
        'f:44:7: jobs[3].reads[0].job: got "hed", wanted the name of a job of this file; did you mean head?',
    ),
    "an external job on the other side": (
        'job = "head"',
        'job = "network"',
        'f:44:7: jobs[3].reads[0].job: got "network", wanted a job of an operation: what it writes is known, and '
        "compared",
    ),
    "two ports of one name": (
        'name = "class"',
        'name = "box"',
        'f:26:8: jobs[1].writes[1].name: got "box" twice, wanted a name of its own for each port',
    ),
    "a tile without pixels": (
        "shape = [4, 8, 32]\ncblocked = { tile = [2, 4, 16] }",
        "shape = [4, 8, 32]\ncblocked = { tile = [2, 0, 16] }",
        "f:29:25: jobs[1].writes[1].cblocked.tile[1]: got 0, wanted an integer of at least 1 [tile_extent]",
    ),
    "two layouts": (
        "shape = [4, 8, 32]",
        "shape = [4, 8, 32]\ntiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 32] }",
        "f:30:12: jobs[1].writes[1].cblocked: got tiled and cblocked, wanted one of them, or none for a dense tensor",
    ),
    "fp32 in tiles": (
        'name = "class"\ndtype = "bf16"',
        'name = "class"\ndtype = "fp32"',
        "f:27:9: jobs[1].writes[1].dtype: got fp32, wanted a scalar type that tiles of this format have",
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_port_that_does_not_fit_is_reported(old: str, new: str, expected: str) -> None:
    """One line, in its place, with both layouts."""
    assert SOUND.count(old) == 1
    assert problems_of(SOUND.replace(old, new)) == [expected]
