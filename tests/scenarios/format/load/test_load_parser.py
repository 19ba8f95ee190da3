"""Loads in scenario files: each mistake is reported in its place with what to do, and what is sound reads back."""

from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.format.toml_writer import toml_text
from tessbed.scenarios.load.load_model import Load
from tessbed.scenarios.model import to_values
from tessbed.scenarios.study.load.compilation import compile_load

SOUND = """\
name = "pipeline"
[host]
cores = 2
[[jobs]]
name = "image"
op = "tess"
backend = "ev74"
dtype = "int8"
shape = [4, 8, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3] }
input = { pattern = "golden" }
[[jobs]]
name = "network"
op = "external"
server = "mla"
ticks = 70_000
after = ["image"]
[[jobs]]
name = "head"
op = "detess"
backend = "a65"
dtype = "int8"
shape = [4, 8, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3] }
input = { job = "image" }
after = ["network"]
[[servers]]
name = "mla"
count = 2
[[streams]]
name = "camera"
jobs = ["image", "network", "head"]
arrivals = { every = 500_000 }
deadline_ticks = 400_000
queue = 2
on_full = "drop_old"
[load]
frames = 100
warmup = 10
seed = 1
"""
STREAM = """\
[[streams]]
name = "camera"
jobs = ["image", "network", "head"]
arrivals = { every = 500_000 }
deadline_ticks = 400_000
queue = 2
on_full = "drop_old"
"""


def problems_of(text: str, folder: Path = Path()) -> list[str]:
    """The lines that a user of `tessbed load` would see."""
    try:
        compile_load(compose(parse_toml(text, "f"), folder))
    except ScenarioError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_sound() -> None:
    """The text that the other tests corrupt has no error."""
    assert problems_of(SOUND) == []


MISTAKES = {
    "a job that there is not": (
        'after = ["image"]',
        'after = ["imag"]',
        'f:17:10: jobs[1].after[0]: got "imag", wanted the name of a job of this file; did you mean image?',
    ),
    "jobs that wait for each other": (
        'name = "image"\nop = "tess"',
        'name = "image"\nafter = ["head"]\nop = "tess"',
        "f:6:9: jobs[0].after: got a cycle, image after head after network after image, "
        "wanted one of them to come first: take one of these away",
    ),
    "a job that waits for itself": (
        'after = ["network"]',
        'after = ["head"]',
        'f:26:10: jobs[2].after[0]: got "head", the job itself, wanted a job that ends before it starts',
    ),
    "layouts that do not fit": (
        'op = "detess"\nbackend = "a65"\ndtype = "int8"\nshape = [4, 8, 3]\n'
        "tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3] }",
        'op = "detess"\nbackend = "a65"\ndtype = "int8"\nshape = [4, 8, 3]\n'
        "tiled = { axes = [-1, 0, 1, 2], tile = [1, 4, 4, 3] }",
        'f:25:17: jobs[2].input.job: got "image", which writes compact int8 of [4, 8, 3] with extents and tiles of'
        " c, d, h, w ((3, 3), (1, 1), (4, 2), (8, 4)), wanted compact int8 of [4, 8, 3] with extents and tiles of"
        " c, d, h, w ((3, 3), (1, 1), (4, 4), (8, 4)), as this job reads",
    ),
    "bytes of an external job": (
        'input = { job = "image" }',
        'input = { job = "network" }',
        'f:25:17: jobs[2].input.job: got "network", an external job, which says nothing of what it writes: '
        'wanted writes there, or a pattern or a file here, and after = ["network"]',
    ),
    "a queue of a core": (
        'after = ["network"]',
        'after = ["network"]\nqueue = "heads"',
        'f:27:9: jobs[2].queue: got "heads" on a job of the A65, wanted no such key: queues are those of devices',
    ),
    "a queue that no job names": (
        "[load]",
        '[[queues]]\nname = "heads"\n[load]',
        'f:38:8: queues[0].name: got "heads", wanted a job with this queue',
    ),
    "devices by the name of the cores": (
        "[load]",
        '[[devices]]\nname = "a65"\n[load]',
        'f:38:8: devices[0].name: got "a65", which are the cores of [host], wanted a name of its own',
    ),
    "devices of two clocks": (
        "[load]",
        '[[devices]]\nname = "left"\ndevice = { clock_mhz = 500 }\n[load]',
        "f:39:24: devices[0].device.clock_mhz: got 500, wanted 1000, as `device` has: all ticks are of one clock",
    ),
    "frames that are years apart": (
        "arrivals = { every = 500_000 }",
        "fps = 1e-9",
        "f:33:7: streams[0].fps: got 1e-09, which is a frame every 1000000000000000000 ticks, wanted at most "
        "1099511627776 between two frames",
    ),
    "an external job without a server": (
        'server = "mla"\n',
        "",
        'f:12:3: jobs[1].server: missing, wanted text, for example "head"',
    ),
    "ticks that are none": (
        "ticks = 70_000",
        "ticks = { poison = 70_000 }",
        "f:16:9: jobs[1].ticks: got a table with poison, wanted ticks from 0 to 1099511627776, "
        "{ poisson = MEAN }, { uniform = [LOW, HIGH] } with LOW at most HIGH, or { gamma = MEAN, cv = CV }",
    ),
    "a server that no job has": (
        'name = "mla"\ncount',
        'name = "mpa"\ncount',
        'f:28:8: servers[0].name: got "mpa", wanted one that a job occupies: mla; did you mean mla?',
    ),
    "a server by the name of the cores": (
        'server = "mla"',
        'server = "a65"',
        'f:15:10: jobs[1].server: got "a65", which are the cores of [host], wanted a name of its own',
    ),
    "a stream without a graph": (
        'jobs = ["image", "network", "head"]',
        "jobs = []",
        "f:32:8: streams[0].jobs: got an empty list, wanted the jobs of a frame, or no such key for all",
    ),
    "a graph without what it waits for": (
        'jobs = ["image", "network", "head"]',
        'jobs = ["image", "head"]',
        'f:32:18: streams[0].jobs[1]: got "head" without "network", wanted both: the one waits for the other',
    ),
    "a job twice": (
        'jobs = ["image", "network", "head"]',
        'jobs = ["image", "image"]',
        'f:32:18: streams[0].jobs[1]: got "image" twice, wanted each job once: a frame runs a job once',
    ),
    "a negative period": (
        "every = 500_000",
        "every = -500_000",
        "f:33:22: streams[0].arrivals.every: got -500000, wanted an integer from 1 to 1099511627776",
    ),
    "two rules of arrivals": (
        "every = 500_000",
        "every = 500_000, poisson = 3",
        "f:33:12: streams[0].arrivals: got every and poisson, "
        "wanted one of every, poisson, gamma, trace, closed or at_once",
    ),
    "no arrivals": (
        "arrivals = { every = 500_000 }\n",
        "",
        "f:30:3: streams[0]: got neither arrivals nor fps, wanted one of them",
    ),
    "arrivals and frames a second": (
        "arrivals = { every = 500_000 }",
        "arrivals = { every = 500_000 }\nfps = 30",
        "f:34:1: streams[0].fps: got arrivals and fps, wanted one of them",
    ),
    "a key of another rule": (
        "every = 500_000",
        "every = 500_000, think = 5",
        "f:33:31: streams[0].arrivals.think: got think with every, wanted no such key: only closed has it",
    ),
    "a trace out of order": (
        "every = 500_000",
        'trace = "late.csv"',
        "f:33:22: streams[0].arrivals.trace: late.csv, line 4: got tick 5 after 9, wanted the order of ticks: "
        "sort the rows",
    ),
    "a trace of something else": (
        "every = 500_000",
        'trace = "words.csv"',
        "f:33:22: streams[0].arrivals.trace: words.csv, line 2: got 'soon,camera', wanted a tick and a stream, "
        "or tick,stream in the first line",
    ),
    "a trace without the stream": (
        "every = 500_000",
        'trace = "other.csv"',
        'f:33:22: streams[0].arrivals.trace: got "other.csv" without a row of "camera", wanted one row for each frame',
    ),
    "a trace that is not there": (
        "every = 500_000",
        'trace = "none.csv"',
        'f:33:22: streams[0].arrivals.trace: got "none.csv", which can not be read: No such file or directory',
    ),
    "a trace that is no file": (
        "every = 500_000",
        'trace = "folder"',
        'f:33:22: streams[0].arrivals.trace: got "folder", which is no file, wanted a .csv with a tick and a stream in '
        "each row",
    ),
    "a trace of too many digits": (
        "every = 500_000",
        'trace = "digits.csv"',
        "f:33:22: streams[0].arrivals.trace: digits.csv, line 1: got '99999999999999999999,camera', wanted a tick and "
        "a stream, or tick,stream in the first line",
    ),
    "frames that are dropped and come again at once": (
        'arrivals = { every = 500_000 }\ndeadline_ticks = 400_000\nqueue = 2\non_full = "drop_old"\n'
        "[load]\nframes = 100",
        'arrivals = { closed = 9 }\nqueue = 0\non_full = "drop_new"\n[load]\nhorizon_ticks = 900',
        "f:33:12: streams[0].arrivals: got closed without think, wanted think of 1 or more, or load.frames: frames "
        "that are dropped would come again in the same tick, for ever",
    ),
    "a deadline below the service time": (
        "deadline_ticks = 400_000",
        "deadline_ticks = 4_000",
        "f:34:18: streams[0].deadline_ticks: got 4000, wanted at least 226257: a frame takes that long even if "
        "it never waits",
    ),
    "a rule for a full queue without a queue": (
        "queue = 2\n",
        "",
        'f:35:11: streams[0].on_full: got "drop_old" without queue, wanted queue = N: without it a queue is never full',
    ),
    "a queue through which nothing comes": (
        'queue = 2\non_full = "drop_old"',
        "queue = 0",
        'f:35:9: streams[0].queue: got 0 with on_full = "block", wanted 1 or more, or on_full = "drop_new": '
        "no frame would ever begin",
    ),
    "a device that there is not": (
        "queue = 2",
        'queue = 2\ndevice = "left"',
        'f:36:10: streams[0].device: got "left", wanted ev74',
    ),
    "two devices and no choice": (
        "[load]",
        '[[devices]]\nname = "left"\n[[devices]]\nname = "right"\n[load]',
        'f:30:3: streams[0]: no device for the job "image", wanted device = "left" or another of [[devices]], '
        "here or at the job",
    ),
    "more warm-up than frames": (
        "warmup = 10",
        "warmup = 100",
        "f:39:10: load.warmup: got 100 of 100 frames, wanted fewer: no frame would be left to report",
    ),
    "two streams of one name": (
        "[load]",
        f"{STREAM}[load]",
        'f:38:8: streams[1].name: got "camera", the name of streams[0], wanted a name of its own',
    ),
    "a misspelt key": (
        "deadline_ticks = 400_000",
        "deadline = 400_000",
        "f:34:1: streams[0].deadline: unknown key, wanted name, jobs, arrivals, fps, deadline_ticks, in_flight, queue,"
        " on_full, device or priority; did you mean deadline_ticks?",
    ),
    "no streams": (
        STREAM,
        "",
        "pipeline: no [[streams]], wanted at least one: a load needs frames, as in `[[streams]]` with `name` and "
        "`fps = 30`",
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_in_its_place(old: str, new: str, expected: str, tmp_path: Path) -> None:
    """One line for each mistake: what was got, what was wanted, what to do."""
    (tmp_path / "late.csv").write_text("tick,stream\n3,camera\n9,other\n5,camera\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "digits.csv").write_text("99999999999999999999,camera\n")
    (tmp_path / "words.csv").write_text("3,camera\nsoon,camera\n")
    (tmp_path / "other.csv").write_text("tick,stream\n3,kamera\n")
    assert SOUND.count(old) == 1
    assert problems_of(SOUND.replace(old, new), tmp_path) == [expected]


def test_frames_that_take_no_tick_do_not_circulate_for_ever() -> None:
    """A closed stream of an external job of no tick, with nothing but a horizon, would never pass its first tick."""
    text = 'name = "x"\n[[jobs]]\nname = "n"\nop = "external"\nserver = "s"\nticks = 0\n'
    text += '[[streams]]\nname = "c"\narrivals = { closed = 1 }\n[load]\nhorizon_ticks = 5\n'
    (problem,) = problems_of(text)
    assert problem.startswith("f:9:12: streams[0].arrivals: got closed without think, wanted think of 1 or more")
    assert problems_of(text.replace("closed = 1", "closed = 1, think = 1")) == []


def test_what_is_shown_reads_back_as_the_same() -> None:
    """Every default spelled out, the file is the same scenario; frames a second are written as ticks."""
    text = SOUND.replace("arrivals = { every = 500_000 }", "fps = 30")
    scenario = compose(parse_toml(text, "f"), Path())
    shown = toml_text(to_values(scenario))
    assert "arrivals = { every = 33333333 }" in shown
    assert compose(parse_toml(shown, "g"), Path()) == scenario


@pytest.mark.parametrize(
    "arrivals",
    [
        "{ poisson = 7 }",
        "{ gamma = 7, cv = 2.0 }",
        "{ closed = 4 }",
        "{ closed = 4, think = 3 }",
        "{ at_once = 9, first = 2 }",
        '{ trace = "a.csv" }',
    ],
)
def test_all_arrivals_read_back_as_the_same(arrivals: str, tmp_path: Path) -> None:
    """Each rule of arrivals is shown as it was written."""
    (tmp_path / "a.csv").write_text("tick,stream\n3,camera\n3,camera\n")
    scenario = compose(parse_toml(SOUND.replace("{ every = 500_000 }", arrivals), "f"), tmp_path)
    shown = toml_text(to_values(scenario))
    assert f"arrivals = {arrivals}\n" in shown
    assert compose(parse_toml(shown, "g"), tmp_path) == scenario


def test_a_trace_may_do_without_a_header(tmp_path: Path) -> None:
    """The rows of the stream, in order, whether their columns are named or not."""
    text = SOUND.replace("every = 500_000", 'trace = "a.csv"')
    for header in ("", "tick,stream\n"):
        (tmp_path / "a.csv").write_text(f"{header}3,camera\n4,other\n9,camera\n")
        load = compose(parse_toml(text, "f"), tmp_path).load
        assert load is not None
        assert load.streams[0].arrivals.ticks == (3, 9)


def test_a_scenario_without_a_load_has_none() -> None:
    """Whoever says nothing of a load has none, and one with an external job alone has one without streams."""
    alone = 'name = "x"\n[[jobs]]\nname = "n"\nop = "external"\nserver = "s"\nticks = 1\n'
    assert isinstance(compose(parse_toml(alone, "f"), Path()).load, Load)


HEADS = """\
name = "queues"
[[jobs]]
name = "left"
op = "tess"
backend = "ev74"
dtype = "int8"
shape = [4, 8, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3] }
input = { pattern = "golden" }
queue = "one"
[[jobs]]
name = "right"
op = "tess"
backend = "ev74"
dtype = "int8"
shape = [4, 8, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 4, 3] }
input = { pattern = "golden" }
queue = "one"
[[queues]]
name = "one"
grace_ticks = 5
[[streams]]
name = "camera"
fps = 30
priority = 1
"""


def test_a_queue_has_one_priority() -> None:
    """As its jobs start in the order of submission, a job that says another priority than the others is reported."""
    for priority, found in (
        (1, []),
        (
            -2,
            [
                "f:20:12: jobs[1].priority: got -2 in the queue one, wanted 1, the priority of left there: "
                "a queue has one, as its jobs start in order"
            ],
        ),
    ):
        text = HEADS.replace('queue = "one"\n[[queues]]', f'queue = "one"\npriority = {priority}\n[[queues]]')
        assert problems_of(text) == found


def test_queues_read_back() -> None:
    """Name, grace and the jobs of a queue survive being written and read."""
    scenario = compose(parse_toml(HEADS, "f"), Path())
    again = compose(parse_toml(toml_text(to_values(scenario)), "g"), Path())
    assert scenario.load is not None
    assert scenario.load == again.load
    assert [(queue.name, queue.grace_ticks) for queue in scenario.load.queues] == [("one", 5)]
    assert [stage.queue for stage in scenario.load.stages] == ["one", "one"]


def test_a_trace_as_a_spreadsheet_writes_it(tmp_path: Path) -> None:
    """With a byte order mark, carriage returns, a space behind a comma and an empty row."""
    (tmp_path / "a.csv").write_bytes("\ufefftick,stream\r\n5, camera\r\n\r\n9,camera\r\n".encode())
    scenario = compose(parse_toml(SOUND.replace("every = 500_000", 'trace = "a.csv"'), "f"), tmp_path)
    assert scenario.load is not None
    assert scenario.load.streams[0].arrivals.ticks == (5, 9)
