"""The packet commands: encode, disasm, diff, verify, and bit-flip coverage."""

import io
import json
import sys
from functools import partial
from pathlib import Path

import pytest

from tessbed.commands import bit_flips
from tessbed.kernels.disassembly import disassemble
from tessbed.kernels.ev74 import rules
from tessbed.kernels.ev74.fields import BY_NAME, FIELDS
from tests.cli.conftest import Said, Tessbed
from tests.kernels.ev74.cases import BOUND, FOLDER, corrupted

HEAD = FOLDER / "cast-head.bin"
TEMPLATE, COPY = FOLDER / f"{BOUND[0]}.bin", FOLDER / f"{BOUND[0]}-bound.bin"
TINY = """
name = "tiny"
[[jobs]]
name = "pair"
op = "detess"
backend = "ev74"
dtype = "bf16"
shape = [2, 3]
tiled = { axes = [-1, -1, 0, 1], tile = [1, 1, 2, 3] }
input = { pattern = "golden" }
[[jobs]]
name = "on the CPU"
op = "detess"
backend = "a65"
dtype = "bf16"
shape = [2, 3]
tiled = { axes = [-1, -1, 0, 1], tile = [1, 1, 2, 3] }
input = { pattern = "golden" }
[[jobs]]
name = "nothing / at all"
op = "detess"
dtype = "bf16"
shape = [0, 3]
tiled = { axes = [-1, -1, 0, 1], tile = [1, 1, 2, 3] }
input = { pattern = "golden" }
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A scenario with one packet."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A packet whose tile is larger than its axis, with a right checksum."""
    path = tmp_path / "broken.bin"
    path.write_bytes(corrupted(HEAD.read_bytes(), h_tile=81))
    return path


def test_encode_writes_a_packet_and_its_listing_for_each_device_job(
    tessbed: Tessbed, tiny: Path, tmp_path: Path
) -> None:
    """A65 jobs and empty jobs have no packet; the path of the one that has is on stdout, the golden bytes are in it."""
    folder = tmp_path / "new" / "packets"
    said = tessbed("encode", tiny, "-o", folder)
    assert said == Said(0, f"{folder}/00-pair.bin\n", "")
    raw = (folder / "00-pair.bin").read_bytes()
    assert raw == (FOLDER / "detess-2x3.bin").read_bytes()
    assert (folder / "00-pair.txt").read_text(encoding="utf-8") == disassemble(raw)
    assert sorted(path.name for path in folder.iterdir()) == ["00-pair.bin", "00-pair.txt"]


def test_encode_twice_writes_the_same(tessbed: Tessbed, tiny: Path, tmp_path: Path) -> None:
    """The JSON document gives path, size and hash, and a second run changes nothing."""
    first, second = (tessbed("encode", tiny, "-o", tmp_path / "packets", "--json") for _ in range(2))
    assert first == second
    (entry,) = json.loads(first.out)
    assert (entry["job"], entry["bytes"]) == ("pair", 216)
    assert (tmp_path / "packets" / "00-pair.bin").samefile(entry["packet"])


# what becomes of an encoded folder, and what is said; None where it may be replaced
EARLIER = {
    "the same": (lambda folder: None, None),
    "another packet": (lambda folder: _renew(folder, HEAD.read_bytes()), None),
    "no listing": (lambda folder: (folder / "00-pair.txt").unlink(), None),
    "no packet": (lambda folder: (folder / "00-pair.bin").unlink(), None),
    "a user's file": (lambda folder: (folder / "mine.bin").write_bytes(b"mine"), None),
    "notes in the listing": (lambda folder: (folder / "00-pair.txt").write_text("notes"), "00-pair.txt: File exists"),
    "no packet of ours": (lambda folder: (folder / "00-pair.bin").write_bytes(b"mine"), "00-pair.bin: File exists"),
    "a broken packet": (
        lambda folder: _renew(folder, corrupted(HEAD.read_bytes(), h_tile=81)),
        "00-pair.bin: File exists",
    ),
    "a bound packet": (
        lambda folder: _renew(folder, corrupted(HEAD.read_bytes(), input_address=1 << 20, output_address=2 << 20)),
        "00-pair.bin: File exists and is no packet without addresses",
    ),
    "a link": (lambda folder: _link(folder / "00-pair.bin"), "00-pair.bin: File exists and is a symbolic link"),
    "a link for a listing": (lambda folder: _link(folder / "00-pair.txt"), "00-pair.txt: File exists and is a symbol"),
    "read-only": (lambda folder: (folder / "00-pair.bin").chmod(0o444), "00-pair.bin: the file is read-only"),
}


def _renew(folder: Path, raw: bytes) -> None:
    (folder / "00-pair.bin").write_bytes(raw)
    (folder / "00-pair.txt").write_text(disassemble(raw), encoding="utf-8")


def _link(path: Path) -> None:
    path.rename(path.parents[1] / "theirs")
    path.symlink_to(path.parents[1] / "theirs")


@pytest.mark.parametrize(("change", "words"), EARLIER.values(), ids=EARLIER)
def test_encode_replaces_only_what_it_writes(tessbed: Tessbed, tiny: Path, tmp_path: Path, change, words) -> None:
    """Packets without addresses and their listings; anything else is named, and no file of the folder changes."""
    folder = tmp_path / "made" / "packets"
    assert tessbed("encode", tiny, "-o", folder).code == 0
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    change(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = tessbed("encode", tiny, "-o", folder)
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert said.code == (2 if words else 0)
    assert (words or "") in said.err
    assert after == (before if words else {**before, **written})


def test_encode_does_not_write_through_a_link(tessbed: Tessbed, tiny: Path, tmp_path: Path) -> None:
    """A link for the folder is refused; where a file can not be written, the folder that was made for it goes."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "link").symlink_to("theirs")
    said = tessbed("encode", tiny, "-o", tmp_path / "link")
    assert (said.code, list((tmp_path / "theirs").iterdir())) == (2, [])
    assert "is a symbolic link, which is never followed" in said.err


BEYOND_THIS_DEVICE = {
    "window": ("jobs.0.shape=[400000000, 3]", "window"),
    "small window": ("device.memory.window_bytes=4096", "window"),
    "firmware": ('firmware.ops=["tess"]', "firmware"),
    "input file": ('jobs.0.input={file="absent.bin"}', "absent.bin"),
}


@pytest.mark.parametrize("to_run", [["run"], ["validate"], ["bound"], ["explain"]], ids=lambda command: command[0])
@pytest.mark.parametrize(("change", "words"), BEYOND_THIS_DEVICE.values(), ids=BEYOND_THIS_DEVICE.keys())
def test_what_only_a_run_needs(
    tessbed: Tessbed, tiny: Path, tmp_path: Path, change: str, words: str, to_run: list[str]
) -> None:
    """A packet needs no room for its storage, no firmware and no input yet; whoever runs the job does."""
    folder = tmp_path / "packets"
    said = tessbed("encode", tiny, "-o", folder, "--set", change)
    assert (said.code, said.err) == (0, "")
    assert (folder / "00-pair.bin").stat().st_size == 216
    for command, text in (("show", "pair: detess"), ("verify", "job 'pair': valid, unbound")):
        said = tessbed(command, tiny, "--set", change)
        assert (said.code, said.err) == (0, "")
        assert text in said.out
    said = tessbed(*to_run, tiny, "--set", change)
    assert said.code == 2
    assert words in said.err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("jobs.0.backend=a65", "has no packet"),
        (
            "jobs.0.shape=[4294967297, 1]",
            "jobs.0.shape: packet field w_extent: got 4294967297, the limit is 4294967295",
        ),
    ],
)
def test_encode_says_why_there_is_no_packet(
    tessbed: Tessbed, tiny: Path, tmp_path: Path, change: str, words: str
) -> None:
    """A scenario without a device job, and a job that no packet can hold, exit with 2 and write nothing."""
    said = tessbed("encode", tiny, "-o", tmp_path / "packets", "--set", change)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert not (tmp_path / "packets").exists()


def test_disasm_shows_one_listing(tessbed: Tessbed) -> None:
    """One packet gives its disassembly and nothing else."""
    assert tessbed("disasm", HEAD) == Said(0, disassemble(HEAD.read_bytes()), "")


def test_disasm_shows_several_each_with_its_name(tessbed: Tessbed, broken: Path) -> None:
    """Several packets, invalid ones among them, are shown one after the other."""
    said = tessbed("disasm", HEAD, broken)
    assert said.code == 0
    assert said.out == f"{HEAD}: {disassemble(HEAD.read_bytes())}\n{broken}: {disassemble(broken.read_bytes())}"


def test_disasm_as_json(tessbed: Tessbed, broken: Path) -> None:
    """Every field by name, and the fault."""
    good, bad = json.loads(tessbed("disasm", "--json", HEAD, broken).out)
    assert good["fault"] is None
    assert list(good["fields"]) == [field.name for field in FIELDS]
    assert (bad["fault"]["code"], bad["fault"]["field"], bad["fields"]["h_tile"]) == ("geometry", "h_tile", 81)


def test_a_packet_comes_from_standard_input(tessbed: Tessbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HEAD.read_bytes())))
    assert tessbed("verify", "-") == Said(0, "-: valid, unbound\n", "")


def test_diff_distinguishes_equal_from_different(tessbed: Tessbed) -> None:
    """Equal packets exit with 0 and print nothing on stdout; different ones exit with 1, one field a line."""
    assert tessbed("diff", HEAD, HEAD) == Said(0, "", "the packets are equal\n")
    assert tessbed("diff", HEAD, HEAD, "-q") == Said(0, "", "")
    said = tessbed("diff", TEMPLATE, COPY)
    assert (said.code, said.err) == (1, "")
    assert [line.split()[1] for line in said.out.splitlines()] == ["crc32", "input_address", "output_address"]


def test_diff_as_json(tessbed: Tessbed) -> None:
    """The document says whether they are equal, and each field with both values."""
    said = tessbed("diff", "--json", TEMPLATE, COPY)
    document = json.loads(said.out)
    assert (said.code, document["equal"], document["bytes"]) == (1, False, [216, 216])
    assert document["fields"][1] == {"offset": 200, "field": "input_address", "left": 0, "right": BOUND[1]}


def test_verify_judges_each_packet(tessbed: Tessbed, broken: Path) -> None:
    """Unbound and bound packets are valid; one that is not makes the exit code 1 and shows fault and field."""
    assert tessbed("verify", TEMPLATE, COPY) == Said(0, f"{TEMPLATE}: valid, unbound\n{COPY}: valid, bound\n", "")
    said = tessbed("verify", COPY, broken)
    assert said.code == 1
    assert said.out.splitlines()[1] == f"{broken}: refused: h_tile: got 81, wanted at most the extent 80 [geometry]"


def test_verify_as_json(tessbed: Tessbed, broken: Path) -> None:
    """A verdict for each packet."""
    said = tessbed("verify", "--json", COPY, broken)
    good, bad = json.loads(said.out)
    assert said.code == 1
    assert good == {"packet": str(COPY), "bound": True, "fault": None}
    assert (bad["bound"], bad["fault"]["code"]) == (False, "geometry")


def test_verify_with_a_repaired_checksum(tessbed: Tessbed, tmp_path: Path) -> None:
    """A damaged field shows its own fault, and what is right but for its checksum is said to be valid."""
    damaged, spoiled, short = tmp_path / "damaged.bin", tmp_path / "spoiled.bin", tmp_path / "short.bin"
    raw = bytearray(TEMPLATE.read_bytes())
    raw[12] ^= 1
    spoiled.write_bytes(raw)
    raw[21] = 9
    damaged.write_bytes(raw)
    short.write_bytes(raw[:14])
    assert tessbed("verify", damaged).out.endswith("[crc]\n")
    said = tessbed("verify", "--repair-crc", damaged, spoiled, TEMPLATE, short)
    assert said.code == 1
    assert said.out.splitlines() == [
        f"{damaged}: refused: outer_rank: got 0x9, wanted 0 to 5 [range]; its checksum was wrong",
        f"{spoiled}: valid, unbound; its checksum was wrong",
        f"{TEMPLATE}: valid, unbound",
        f"{short}: refused: packet_bytes: got 14 bytes, wanted 216 [size]",
    ]
    documents = json.loads(tessbed("verify", "--json", "--repair-crc", damaged, TEMPLATE).out)
    assert [document["repaired"] for document in documents] == [True, False]
    assert tessbed("verify", "--repair-crc", "--census", "luma").code == 2


def test_verify_of_a_short_file(tessbed: Tessbed, tmp_path: Path) -> None:
    """A file that ends early is refused, not a crash."""
    short = tmp_path / "short.bin"
    short.write_bytes(HEAD.read_bytes()[:100])
    assert tessbed("verify", short).out == f"{short}: refused: packet_bytes: got 100 bytes, wanted 216 [size]\n"
    assert json.loads(tessbed("verify", "--json", short).out)[0]["bound"] is False


def test_verify_of_a_scenario_encodes_its_jobs(tessbed: Tessbed, tiny: Path) -> None:
    """A scenario means the packets of its device jobs."""
    assert tessbed("verify", tiny) == Said(0, f"{tiny}, job 'pair': valid, unbound\n", "")


def test_census_as_a_table(tessbed: Tessbed, tiny: Path) -> None:
    """Bit-flip coverage of a tiny scenario explains every bit, a row for each field."""
    said = tessbed("verify", tiny, "--census")
    lines = said.out.splitlines()
    assert (said.code, said.err) == (0, "")
    assert lines[2].split()[:3] == ["offset", "field", "refused"]
    assert [line.split()[1] for line in lines[3 : 3 + len(FIELDS)]] == [field.name for field in FIELDS]
    assert lines[-1] == "ok: 1,728 bits, each caught by the checksum as it was, each explained with it repaired"


def test_census_as_json(tessbed: Tessbed, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document has the verdict, the sums and every flip, here of a few fields."""
    fields = [BY_NAME[name] for name in ("magic", "version_major", "crc32", "flags", "h_tile")]
    bits = 8 * sum(field.width for field in fields)
    monkeypatch.setattr(bit_flips, "flip_every_bit", partial(bit_flips.flip_every_bit, fields=fields))
    document = json.loads(tessbed("verify", tiny, "--census", "--json", "--seed", "3").out)
    (job,) = document["jobs"]
    assert (document["verdict"], job["bits"], job["unexplained"]) == ("ok", bits, 0)
    assert sum(job["fates"].values()) == len(job["flips"]) == bits
    assert {flip["with_old_crc"] for flip in job["flips"]} == {"crc", "magic", "version"}


def test_an_unexplained_bit_fails_the_census(tessbed: Tessbed, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule on fills eight bits do nothing: they are named, and the exit code is 1."""
    monkeypatch.setattr(rules, "RULES", tuple(rule for rule in rules.RULES if rule.__name__ != "_fill"))
    monkeypatch.setattr(
        bit_flips,
        "flip_every_bit",
        partial(bit_flips.flip_every_bit, fields=[BY_NAME["channel_fill"], BY_NAME["flags"]]),
    )
    said = tessbed("verify", tiny, "--census")
    assert said.code == 1
    assert "unexplained: channel_fill bit 7: ends in crc with the checksum as it was, in ok with it" in said.out
    assert said.out.splitlines()[-1] == "FAILED: 8 of 24 bits unexplained"
    document = json.loads(tessbed("verify", tiny, "--census", "--json").out)
    assert (document["verdict"], document["jobs"][0]["unexplained"]) == ("failed", 8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["disasm"], "tessbed disasm: got no PACKET...; `tessbed disasm --help` shows how"),
        (["disasm", "no/such.bin"], "no/such.bin: No such file or directory"),
        (["disasm", FOLDER], "Is a directory"),
        (["diff", HEAD], "tessbed diff: got no B"),
        (["diff", HEAD, "no/such.bin"], "no/such.bin"),
        (["verify", "no/such.bin"], "no such file, and no scenario of that name"),
        (["verify", HEAD, "--census"], "--census: wanted one scenario"),
        (["verify", "documents-calls", "documents-2x17", "--census"], "--census: wanted one scenario"),
        (["verify", "yolov8n-heads-bf16", "--census"], "moves 2,457,600 bytes; bit-flip coverage runs it 3,456 times"),
        (["encode", "documents-calls"], "tessbed encode: got no --output"),
        (["encode", "documents-calls", "-o", HEAD], "cast-head.bin: File exists and is a regular file"),
    ],
    ids=lambda value: " ".join(Path(str(word)).name for word in value) if isinstance(value, list) else "",
)
def test_an_error_is_one_line_and_exit_2(tessbed: Tessbed, arguments: list[object], words: str) -> None:
    """Nothing on stdout, the error in one line on stderr, no traceback."""
    said = tessbed(*arguments)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("command", ["verify", "disasm"])
def test_one_packet_that_is_missing_hides_no_other(tessbed: Tessbed, command: str) -> None:
    """Those that can be read are judged and shown, the missing one is reported, and the exit code is 2."""
    said = tessbed(command, "no/such.bin", TEMPLATE)
    assert (said.code, str(TEMPLATE) in said.out) == (2, True)
    assert said.err.startswith("no/such.bin: ")
    document = json.loads(tessbed(command, TEMPLATE, "no/such.bin", "--json").out)
    assert [entry["packet"] for entry in document["packets"]] == [str(TEMPLATE)]
    assert [entry["file"] for entry in document["diagnostics"]] == ["no/such.bin"]


def test_a_huge_file_is_no_packet(tessbed: Tessbed, tmp_path: Path) -> None:
    """A file of more than a mebibyte is refused before it is shown."""
    huge = tmp_path / "huge.bin"
    huge.write_bytes(bytes((1 << 20) + 1))
    said = tessbed("disasm", huge)
    assert (said.code, said.out) == (2, "")
    assert "got more than 1,048,576 bytes; is this a packet?" in said.err
