"""Errors: each is reported in its place, with what was got, wanted and probably meant; and all of them at once."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.reader import HINTED
from tessbed.scenarios.format.toml_source import parse_toml
from tests.scenarios.texts import SMALL


def problems_of(text: str, folder: Path = Path()) -> list[str]:
    """The lines that a user would see."""
    try:
        compose(parse_toml(text, "f"), folder)
    except ScenarioError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_small_is_sound() -> None:
    """The text that the other tests corrupt has no error."""
    assert problems_of(SMALL) == []


OPS = '"tess", "detess", "detesscast", "casttess", "quanttess", "detessdequant" or "external"'
INTEGER = "wanted an integer"
ERRORS = [  # what to replace in SMALL, by what, and the one line that it gives
    ('name = "small"', "", 'f:1:1: name: missing, wanted text, for example "head"'),
    ('name = "small"', "name = 3", 'f:1:8: name: got 3, wanted text, for example "head"'),
    (
        'name = "small"',
        'nmae = "small"',
        "f:1:1: nmae: unknown key, wanted name, about, seed, device, firmware, jobs, "
        "host, servers, devices, queues, streams, faults or load; did you mean name?",
    ),
    (
        'name = "small"',
        'name = "small"\nseed = true',
        "f:2:8: seed: got the boolean true, wanted an integer from 0 to 18446744073709551615",
    ),
    (
        'name = "small"',
        'name = "small"\nseed = 1.0',
        "f:2:8: seed: got the float 1.0, wanted an integer from 0 to 18446744073709551615",
    ),
    ('op = "tess"', "op = 1", f"f:4:6: jobs[0].op: got 1, wanted {OPS}"),
    ('op = "tess"', 'op = "tes"', f'f:4:6: jobs[0].op: got the text "tes", wanted {OPS}; did you mean tess?'),
    (
        'dtype = "int8"\n',
        'dtype = "int8"\nbackend = "gpu"\n',
        'f:6:11: jobs[0].backend: got the text "gpu", wanted "a65", "ev74" or "both"',
    ),
    (
        'dtype = "int8"',
        'dtype = "int9"',
        'f:5:9: jobs[0].dtype: got the text "int9", wanted "int8", "bf16" or "fp32"; did you mean int8?',
    ),
    (
        'dtype = "int8"',
        'dtype = "fp16"',
        "f:5:9: jobs[0].dtype: got fp16, wanted int8 or bf16; "
        "Tess moves INT8 and BF16 only; cast or quantize first [dtype_unsupported]",
    ),
    (
        'dtype = "bf16"',
        'dtype = "int8"',
        "f:13:9: jobs[1].dtype: got int8; quantized MLA output belongs to DetessDequant, not to DetessCast [quantized]",
    ),
    (
        "shape = [3, 5, 4]\ntiled",
        "shape = [3, true, 4]\ntiled",
        "f:6:13: jobs[0].shape[1]: got the boolean true, wanted an integer",
    ),
    (
        "shape = [3, 5, 4]\ntiled",
        'shape = "3x5x4"\ntiled',
        'f:6:9: jobs[0].shape: got the text "3x5x4", wanted a list of integers, one for each axis',
    ),
    (
        "shape = [3, 5, 4]\ntiled",
        "shape = [3, -5, 4]\ntiled",
        "f:6:13: jobs[0].shape[1]: got -5, wanted an integer of at least 0 [extent_invalid]",
    ),
    (
        "tile = [1, 2, 2, 16]",
        "tile = [1, 2, 16]",
        "f:7:40: jobs[0].tiled.tile: got a list of 3: [1, 2, 16], wanted four integers [d, h, w, c],"
        " such as [1, 16, 16, 3]",
    ),
    (
        "tile = [1, 2, 2, 16]",
        "tile = [1, 0, 2, 16]",
        "f:7:44: jobs[0].tiled.tile[1]: got 0, wanted an integer of at least 1 [tile_extent]",
    ),
    (
        "tile = [1, 2, 2, 16]",
        "tile = [2, 2, 2, 16]",
        "f:7:41: jobs[0].tiled.tile[0]: got 2, wanted 1: "
        "axis d is omitted; map it or set its tile extent to 1 [omitted_axis_tile]",
    ),
    (
        "axes = [-1, 0, 1, 2]",
        "axes = [-1, 0, 0, 2]",
        "f:7:26: jobs[0].tiled.axes[2]: got 0, which is already h; each axis is mapped at most once [axis_duplicate]",
    ),
    (
        "axes = [-1, 0, 1, 2]",
        "axes = [-1, 0, 1, 3]",
        "f:7:29: jobs[0].tiled.axes[3]: got 3, wanted -1 or a logical axis below 3 [axis_out_of_range]",
    ),
    (
        'channels = "pad16"',
        'channels = "pad32"',
        'f:7:66: jobs[0].tiled.channels: got the text "pad32", wanted "compact" or "pad16"; did you mean pad16?',
    ),
    (
        "int8_channel_padding = -3",
        "",
        "f:2:3: jobs[0].int8_channel_padding: got none, wanted -128 to 127: "
        "INT8 PadTo16 needs an explicit fill value [fill_required]",
    ),
    (
        "int8_channel_padding = -3",
        "int8_channel_padding = 200",
        "f:8:24: jobs[0].int8_channel_padding: got 200, wanted an integer from -128 to 127",
    ),
    (
        "int8_channel_padding = -3",
        'int8_channel_padding = -3\nto = "fp32"',
        'f:9:1: jobs[0].to: got "fp32" on tess, wanted no such key: only detesscast changes the scalar type',
    ),
    (
        "int8_channel_padding = -3",
        "int8_channel_padding = -3\nworkers = 5",
        "f:9:11: jobs[0].workers: got 5, wanted at most 4, the workers of the device",
    ),
    (
        "int8_channel_padding = -3",
        "int8_channel_padding = -3\ncblocked = { tile = [1, 1, 16] }",
        "f:9:1: jobs[0].cblocked: got tiled and cblocked, wanted one of them",
    ),
    (
        'input = { pattern = "golden" }\n',
        "",
        "f:2:3: jobs[0].input: missing, wanted a table with pattern, file, job or port",
    ),
    (
        'input = { pattern = "golden" }',
        "input = { }",
        "f:9:9: jobs[0].input: got neither pattern nor file, wanted one of them",
    ),
    (
        'input = { pattern = "golden" }',
        'input = { pattern = "goldn" }',
        'f:9:21: jobs[0].input.pattern: got the text "goldn", wanted "golden", "random", "ramp", "image" or '
        '"activations"; did you mean golden?',
    ),
    (
        'input = { pattern = "golden" }',
        'input = "golden"',
        'f:9:9: jobs[0].input: got the text "golden", wanted a table with pattern, file, job or port',
    ),
    (
        'name = "unpack"',
        'name = "pack"',
        'f:11:8: jobs[1].name: got "pack", the name of jobs[0], wanted a name of its own',
    ),
    (
        "cblocked = { tile = [2, 2, 4] }\n",
        "",
        "f:10:3: jobs[1].tiled: missing, wanted tiled, such as { axes = [-1, 0, 1, 2], tile = [1, 3, 5, 4] }, "
        "or cblocked on detesscast or detessdequant",
    ),
    (
        "cblocked = { tile = [2, 2, 4] }",
        "cblocked = { tile = [2, -2, 4] }",
        "f:15:25: jobs[1].cblocked.tile[1]: got -2, wanted an integer of at least 1 [tile_extent]",
    ),
    ('to = "fp32"\n', "", 'f:10:3: jobs[1].to: missing, wanted "fp32" or "bf16": detesscast needs it'),
    (
        'to = "fp32"',
        'to = "fp16"',
        "f:17:6: jobs[1].to: got fp16, wanted fp32 or bf16; "
        "DetessCast widens to FP32 or keeps BF16; FP16 is not supported [dtype_unsupported]",
    ),
    (
        "[100, 20, 4]",
        "[100, 4]",
        "f:16:28: jobs[1].linear.strides_bytes: got 2 strides, wanted 3, one for each axis [stride_count]",
    ),
    (
        "[100, 20, 4]",
        "[100, 18, 4]",
        "f:16:34: jobs[1].linear.strides_bytes[1]: got 18, wanted a multiple of the scalar's 4 bytes "
        "[stride_unaligned]",
    ),
    (
        "[100, 20, 4]",
        "[40, 20, 4]",
        "f:16:29: jobs[1].linear.strides_bytes[0]: got 40, wanted at least 96, the span of the axes inside it; "
        "overlap can not be excluded, use larger strides [stride_overlap]",
    ),
    (
        "[100, 20, 4]",
        "[100, 20, -4]",
        "f:16:38: jobs[1].linear.strides_bytes[2]: got -4, wanted an integer of at least 0 [stride_negative]",
    ),
    (
        'to = "fp32"',
        'to = "fp32"\noutput_prefill = 256',
        "f:18:18: jobs[1].output_prefill: got 256, wanted an integer from 0 to 255",
    ),
    (
        'to = "fp32"',
        'to = "fp32"\nexpect = { output_sha256 = "abc" }',
        'f:18:28: jobs[1].expect.output_sha256: got the text "abc", wanted 64 hexadecimal digits',
    ),
    (
        'name = "small"',
        'name = "small"\n[device]\nworker = 3',
        "f:3:1: device.worker: unknown field 'worker'; did you mean 'workers'?",
    ),
    (
        'name = "small"',
        'name = "small"\ndevice = { workers = 65 }',
        "f:2:22: device.workers: got 65, wanted an integer from 1 to 64 (workers)",
    ),
    (
        'name = "small"',
        'name = "small"\ndevice = { preset = "ev74" }',
        "f:2:21: device.preset: unknown preset 'ev74'; did you mean 'ev74-axi'?",
    ),
    (
        'name = "small"',
        'name = "small"\ndevice = { preset = 4 }',
        'f:2:21: device.preset: got 4, wanted text such as "ev74-4core"',
    ),
    (
        'name = "small"',
        'name = "small"\nfirmware = { ops = ["detesscast"] }',
        "f:2:20: firmware.ops: got detesscast, wanted tess too: jobs[0] needs it on EV74",
    ),
    (
        'name = "small"',
        'name = "small"\nfirmware = { packet_versions = ["2.0", 3] }',
        'f:2:40: firmware.packet_versions[1]: got 3, wanted a version such as "1.0"',
    ),
]


@pytest.mark.parametrize(("old", "new", "line"), ERRORS, ids=[line.split(": ")[1] for _, _, line in ERRORS])
def test_one_error(old: str, new: str, line: str) -> None:
    """One error gives one line, and that line names its location."""
    assert SMALL.count(old) >= 1
    assert problems_of(SMALL.replace(old, new, 1)) == [line]


def test_all_at_once() -> None:
    """Errors of different kinds, in both jobs and in the device, are all reported, in the order of the file."""
    text = SMALL.replace('name = "small"', "seed = -1\ndevice = { slots = 9, dma = { outstanding = 0 } }")
    text = text.replace("axes = [-1, 0, 1, 2], tile = [1, 2, 2, 16]", "axes = [-1, 0, 0, -1], tile = [1, 0, 2, 0]")
    text = text.replace('backend = "both"', "").replace("[100, 20, 4]", "[102, 18, 4]").replace('"random"', '"rando"')
    places = [line.split(": ")[1] for line in problems_of(text)]
    assert places == [
        "name",
        "seed",
        "device.slots",
        "device.dma.outstanding",
        "jobs[0].tiled.axes[2]",
        "jobs[0].tiled.axes[3]",
        "jobs[0].tiled.tile[1]",
        "jobs[0].tiled.tile[3]",
        "jobs[1].linear.strides_bytes[0]",
        "jobs[1].linear.strides_bytes[1]",
        "jobs[1].input.pattern",
    ]


@pytest.mark.parametrize(
    "shape",
    [None, [1], [7], [2, 17], [9, 0, 5], [1, 1, 1], [720, 1280, 3], [2, 3, 4, 5], [3, 1, 2, 1, 400, 6]],
    ids=str,
)
def test_the_tiles_that_are_proposed_will_do(shape: list[int] | None) -> None:
    """Where no layout is given, the one in the message is admitted for the job's shape."""
    key = f"shape = {shape}\n" if shape else ""
    job = f'name = "x"\n[[jobs]]\nname = "x"\nop = "tess"\ndtype = "bf16"\n{key}input = {{ pattern = "ramp" }}\n'
    line = problems_of(job)[-1]
    proposed = line.partition("such as ")[2].partition(", or cblocked")[0]
    shaped = "" if shape else "shape = [40, 50, 60]\n"
    assert problems_of(f"{job}{shaped}tiled = {proposed}\n") == []


def test_no_jobs() -> None:
    """A scenario without jobs says how to write one."""
    assert problems_of('name = "x"') == ["f:1:1: jobs: missing, wanted at least one [[jobs]] table"]
    assert problems_of('name = "x"\njobs = []') == [
        "f:2:8: jobs: got an empty list, wanted at least one [[jobs]] table"
    ]


def test_not_representable() -> None:
    """What no packet can hold is refused in the file, for the key that is too large; the A65 alone takes it."""
    text = SMALL.replace("shape = [3, 5, 4]\ncblocked", "shape = [1, 1, 4294967296]\ncblocked")
    text = text.replace("[100, 20, 4]", "[68719476736, 17179869184, 4]")
    assert problems_of(text) == [
        "f:14:9: jobs[1].shape: packet field c_extent: got 4294967296, the limit is 4294967295; "
        "use the A65 backend or split the tensor"
    ]
    assert problems_of(text.replace('name = "unpack"', 'name = "unpack"\nbackend = "a65"')) == []


FILES = [
    ("x.bin", None, 'got "x.bin", wanted a file: {folder}/x.bin does not exist'),
    ("x.bin", b"12345", "got 5 bytes in x.bin, wanted 60, the whole required span of the input, gaps included"),
    ("x.txt", b"", 'got "x.txt", wanted a file that ends in .bin (raw bytes) or .npy (the logical tensor)'),
    (".bin", None, 'got ".bin", wanted a file that ends in .bin (raw bytes) or .npy (the logical tensor)'),
    ("x.npy", b"nothing", "got x.npy, which is no .npy file that numpy reads: "),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[f"{n}-{c}" for n, c, _ in FILES])
def test_input_files(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    """A missing, short or strange input file is an error of the scenario, reported before anything runs."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    lines = problems_of(SMALL.replace('{ pattern = "golden" }', f'{{ file = "{name}" }}', 1), tmp_path)
    assert len(lines) == 1
    assert lines[0].startswith("f:9:18: jobs[0].input.file: " + message.format(folder=tmp_path))


def test_many_unknown_keys_are_all_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each unknown key is reported in its place; only the first ones are compared with the keys that there are."""
    compared: list[str] = []

    def closest(name: str, names: Iterable[str]) -> None:
        compared.append(name)

    monkeypatch.setattr("tessbed.scenarios.format.reader.closest", closest)
    monkeypatch.setattr("tessbed.scenarios.format.diagnostics.closest", closest)
    text = SMALL.replace("[[jobs]]", "".join(f"key{i} = {i}\n" for i in range(3 * HINTED)) + "[[jobs]]", 1)
    reported = problems_of(text)
    assert len(reported) == 3 * HINTED
    assert set(compared) == {f"key{i}" for i in range(HINTED)}


def test_a_large_table_is_cut_short() -> None:
    """A table in the place of something else is reported by its first keys."""
    (text,) = problems_of(
        SMALL.replace('name = "small"', "name = { " + ", ".join(f"k{i} = 1" for i in range(99)) + " }")
    )
    assert text.startswith("f:1:8: name: got a table with k0, k1, k2,")
    assert len(text) < 160
