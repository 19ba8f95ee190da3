"""Tokens from anywhere: each is the case of a valid scenario, or refused in a sentence, in little time and memory."""

import base64
import json
import random
import resource
import zlib
from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest

from tessbed.cli import main
from tessbed.kernels import ChannelStorage, DType, MlaCBlocked, MlaTiled, Op
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.model import Geometry
from tessbed.scenarios.verification.explore import token
from tessbed.scenarios.verification.explore.bench import ExplorationCase
from tessbed.sim.spec.device_spec import DeviceSpec
from tests import oracle
from tests.breadth import breadth
from tests.scenarios.verification.explore.test_exploration import BY_NAME, case_of, case_of_mutant, explore

PADDED = MlaTiled((-1, 0, 1, 2), (1, 1, 6, 5), ChannelStorage.PAD16)


def fused(op: str, dtype: DType, tiled: MlaTiled | MlaCBlocked, parameters: Any, fill: int | None = None) -> Any:
    """A case of a fused operation on [4, 6, 5]."""
    geometry = Geometry(
        Op(op), dtype, (4, 6, 5), tiled, int8_channel_padding=fill, parameters=tuple(parameters.items())
    )
    return ExplorationCase(geometry, DeviceSpec(), 2, 0xC3)


CASES = [
    case_of(oracle.Geometry("detess", (4, 10, 3), "int8", (-1, 0, 1, 2), (1, 2, 10, 3)), workers=2),
    case_of(
        oracle.Geometry("tess", (4, 6, 5), "int8", (-1, 0, 1, 2), (1, 1, 6, 5), True, fill=3), dma={"outstanding": 2}
    ),
    case_of(oracle.Geometry("tess", (4, 6), "bf16", (-1, -1, 0, 1), (1, 1, 2, 5), strides_bytes=(24, 4))),
    case_of(oracle.Geometry("detesscast", (4, 6, 20), "bf16", None, None, cblocked=(2, 3, 20), to="fp32")),
    fused("casttess", DType.FP32, PADDED, {}),
    fused("quanttess", DType.FP32, PADDED, {"scale": 0.1, "zero_point": -3, "rounding": "up"}, fill=7),
    fused("detessdequant", DType.INT8, MlaCBlocked(2, 3, 5), {"scale": 12.75, "zero_point": -128}),
]
"""Small jobs of every operation: tiles, padded channels, strides, channel blocks, values that are converted."""


def packed(body: Any) -> str:
    """The token of a body, whatever it is."""
    return wrapped(body if isinstance(body, bytes) else json.dumps(body).encode())


def wrapped(text: bytes) -> str:
    """A token that expands to `text`."""
    return token.PREFIX + base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")


def body_of(text: str) -> Any:
    """What a good token holds."""
    inner = text.removeprefix(token.PREFIX)
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(inner + "=" * (-len(inner) % 4))))


def encoded(case: Any, order: Any = ()) -> str:
    """A token that there is."""
    text = token.encode_token(case, order)
    assert text is not None
    return text


def replayed(capsys: pytest.CaptureFixture[str], text: str, *options: str) -> tuple[object, str, str]:
    """How `tessbed explore --replay` ends: exit code, stdout, stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["explore", "--replay", text, *options])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.geometry.op.name)
def test_a_good_token_is_replayed(case: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The plainest order of right firmware is right, and the token says so as it is and with every key in its place."""
    assert token.decode_token(encoded(case)) == (case, [])
    code, out, err = replayed(capsys, encoded(case))
    assert (code, err) == (0, "")
    assert "every byte is right" in out
    assert out.splitlines()[-1] == "ok"


def test_every_operation_has_a_token() -> None:
    """No operation is without a case here."""
    assert {case.geometry.op for case in CASES} == set(Op)


DAMAGED = [
    ("nothing", "", "begins with tessbed1-"),
    ("a word", "nonsense", "begins with tessbed1-"),
    ("a prefix", "tessbed1-", "damaged token"),
    ("no base64", "tessbed1-!!!!", "damaged token"),
    ("no zlib", "tessbed1-AAAA", "damaged token"),
    ("text that is not ASCII", "tessbed1-\u00e4\u00f6", "damaged token"),
    ("cut off", encoded(CASES[0])[:-9], "damaged token"),
    ("without its checksum", encoded(CASES[0])[:-4], "it is cut off"),
    ("a character too many", encoded(CASES[0])[:40] + "!" + encoded(CASES[0])[40:], "damaged token"),
    ("longer than it is", encoded(CASES[0]) + "AAAA", "damaged token"),
    ("something behind it", token.PREFIX + base64.urlsafe_b64encode(zlib.compress(b"{}") * 2).decode(), "follows it"),
    ("no JSON", wrapped(b"{"), "wanted JSON in it"),
    ("no text", wrapped(b"\xff\xfe\x00"), "wanted JSON in it"),
    ("not a number", wrapped(b'{"case": NaN, "order": []}'), "got NaN"),
    ("a number without end", wrapped(b'{"case": -Infinity, "order": []}'), "got -Infinity"),
    ("a number of many digits", wrapped(b'{"case": ' + b"9" * 100_000 + b', "order": []}'), "wanted JSON in it"),
    ("a bomb", wrapped(b" " * (1 << 26)), "expands to more than 2,097,152 bytes"),
    ("a long one", "tessbed1-" + "A" * (1 << 21), "wanted 131,072 at most"),
    ("deep lists", wrapped(b"[" * 500_000 + b"]" * 500_000), "32 levels"),
    ("deep tables", wrapped(b'{"a":' * 60 + b"1" + b"}" * 60), "32 levels"),
    ("a list", packed([]), "wanted a table with case or order"),
    ("no order", packed({"case": {}}), "order missing"),
    ("too much", packed({"case": {}, "order": [], "more": 1}), "wanted case, order alone"),
    ("a case without fields", packed({"case": {}, "order": []}), "op, dtype, shape"),
]


@pytest.mark.parametrize(("text", "words"), [row[1:] for row in DAMAGED], ids=[row[0] for row in DAMAGED])
def test_what_is_no_token_is_refused(text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is no token ends in exit code 2 and one line that says what was wanted; with --json in a document."""
    code, out, err = replayed(capsys, text)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("--replay: ")
    assert err.count("\n") == 1
    code, out, _ = replayed(capsys, text, "--json")
    assert code == 2
    assert json.loads(out)


WRONG = [
    ("workers of text", {"workers": "x"}, "jobs[0].workers"),
    ("no workers", {"workers": None}, "jobs[0].workers"),
    ("workers and a half", {"workers": 1.5}, "jobs[0].workers"),
    ("true workers", {"workers": True}, "jobs[0].workers"),
    ("too many workers", {"workers": 2**31}, "jobs[0].workers"),
    ("more workers than the device's", {"workers": 5}, "jobs[0].workers"),
    ("workers below one", {"workers": 0}, "jobs[0].workers"),
    ("a prefill beyond a byte", {"prefill": 256}, "jobs[0].output_prefill"),
    ("a prefill of text", {"prefill": "c3"}, "jobs[0].output_prefill"),
    ("no prefill", {"prefill": None}, "jobs[0].output_prefill"),
    ("a device of text", {"device": "fast"}, "device"),
    ("an unknown field", {"device": {"wrkers": 2}}, "device.wrkers"),
    ("a field of text", {"device": {"workers": "x"}}, "device.workers"),
    ("a field without bound", {"device": {"workers": 2**40}}, "device.workers"),
    ("a preset", {"device": {"preset": "ev74-4core"}}, "device.preset"),
    ("a window that is too small", {"device": {"memory": {"window_bytes": 4096}}}, "window"),
    (
        "scratch beyond bounds",
        {"device": {"cores": 64, "workers": 64, "scratch_bytes": 1 << 28}, "workers": 64},
        "shape",
    ),
    ("an unknown operation", {"op": "tes"}, "jobs[0].op"),
    ("no operation", {"op": None}, "jobs[0].op"),
    ("an unknown type", {"dtype": "int4"}, "jobs[0].dtype"),
    ("a shape of text", {"shape": "4x10x3"}, "jobs[0].shape"),
    ("a shape of fractions", {"shape": [4.0, 10, 3]}, "jobs[0].shape[0]"),
    ("an extent below zero", {"shape": [4, -10, 3]}, "jobs[0].shape[1]"),
    ("a shape beyond all memory", {"shape": [4, 10**18, 3]}, "jobs[0]"),
    ("a shape beyond the bound", {"shape": [4, 10**7, 3]}, "jobs[0].shape"),
    ("an empty tensor", {"shape": [4, 0, 3]}, "jobs[0].shape"),
    ("a fill that is not wanted", {"fill": 3}, "jobs[0].int8_channel_padding"),
    ("a fill of false", {"fill": False}, "jobs[0].int8_channel_padding"),
    ("a target that is not wanted", {"to": "fp32"}, "jobs[0].to"),
    ("a target of nothing", {"to": ""}, "jobs[0].to"),
    ("tiles of text", {"tiled": "hwc"}, "tiled"),
    ("tiles of two", {"tiled": [[-1, 0, 1, 2], [1, 2, 10, 3]]}, "tiled"),
    ("tiles padded by a number", {"tiled": [[-1, 0, 1, 2], [1, 2, 10, 3], 0]}, "tiled"),
    ("axes of text", {"tiled": [["a", 0, 1, 2], [1, 2, 10, 3], False]}, "jobs[0].tiled.axes[0]"),
    ("an axis twice", {"tiled": [[-1, 0, 0, 2], [1, 2, 10, 3], False]}, "jobs[0].tiled.axes"),
    ("blocks for detess", {"tiled": [2, 10, 3]}, "jobs[0].cblocked"),
    ("strides of text", {"strides": "dense"}, "jobs[0].linear.strides_bytes"),
    ("strides that overlap", {"strides": [1, 1, 1]}, "jobs[0].linear.strides_bytes"),
    ("false strides", {"strides": False}, "jobs[0].linear.strides_bytes"),
    ("strides beyond a packet", {"strides": [10**19, 3, 1]}, "jobs[0].linear.strides_bytes"),
]


@pytest.mark.parametrize(("fields", "where"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_token_is_validated_like_a_scenario(
    fields: dict[str, Any], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job or device that no scenario file may have is refused with the key, never judged."""
    body = body_of(encoded(CASES[0]))
    body["case"] |= fields
    code, out, err = replayed(capsys, packed(body))
    assert (code, out) == (2, "")
    assert where in err
    assert "Traceback" not in err


QUANTIZED = [
    ("none", None, "jobs[0].quantization"),
    ("text", "x", "jobs[0].quantization"),
    ("a scale of nothing", {"scale": 0, "zero_point": 1}, "jobs[0].quantization.scale"),
    ("a zero point of text", {"scale": 1.5, "zero_point": "1"}, "jobs[0].quantization.zero_point"),
    ("another rounding", {"scale": 1.5, "zero_point": 1, "rounding": "odd"}, "jobs[0].quantization.rounding"),
]


@pytest.mark.parametrize(("table", "where"), [row[1:] for row in QUANTIZED], ids=[row[0] for row in QUANTIZED])
def test_the_quantization_of_a_token_is_validated(table: Any, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What no scenario may say of a conversion is refused, and so is a conversion that the operation has not."""
    body = body_of(encoded(next(case for case in CASES if case.geometry.op is Op("quanttess"))))
    body["case"]["quantization"] = table
    code, _, err = replayed(capsys, packed(body))
    assert (code, where in err) == (2, True)
    body = body_of(encoded(CASES[0]))
    body["case"]["quantization"] = {"scale": 1.5, "zero_point": 1}
    code, _, err = replayed(capsys, packed(body))
    assert (code, "jobs[0].quantization" in err) == (2, True)


ORDERS = [
    ("text", "abc", "wanted a list of names"),
    ("nothing", None, "wanted a list of names"),
    ("numbers", [1], "order[0]"),
    ("pairs", [[0, 0]], "order[0]"),
    ("text in a name", [["0", 0, 0]], "order[0]"),
    ("truth in a name", [[False, 0, 0]], "order[0]"),
    ("fractions in a name", [[0.0, 0, 0]], "order[0]"),
    ("a thread that there is not", [[7, 7, 7]], "which can not go on"),
    ("a number without bound", [[0, 0, 10**300]], "which can not go on"),
    ("cut off", [[0, 0, 0]], "wanted None"),
]


@pytest.mark.parametrize(("order", "words"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS])
def test_an_order_is_a_list_of_names(order: Any, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An order that is none, or that the job can not take, is refused."""
    body = body_of(encoded(CASES[0]))
    code, out, err = replayed(capsys, packed({**body, "order": order}))
    assert (code, out) == (2, "")
    assert words in err


def test_an_order_that_goes_on_after_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """A verdict is about the whole order of the token: actions behind the job's end are no part of any order."""
    with BY_NAME["even row split"].applied():
        found = explore(case_of_mutant(BY_NAME["even row split"]), 20, 1)
        assert found.failure is not None
        order = [*found.failure.order]
        assert replayed(capsys, encoded(found.case, order))[0] == 4
        code, out, err = replayed(capsys, encoded(found.case, [*order, order[-1]]))
    assert (code, out) == (2, "")
    assert f"ends after {len(order):,} of {len(order) + 1:,} actions" in err


def test_a_plain_order_has_an_end(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an order a job of more actions than allowed is refused when they are used up."""
    monkeypatch.setattr("tessbed.scenarios.verification.explore.schedules.MOST_ACTIONS", 5)
    code, out, err = replayed(capsys, encoded(CASES[0]))
    assert (code, out) == (2, "")
    assert "more than 5 actions" in err


def test_no_token_is_printed_that_is_not_accepted() -> None:
    """What would be too large for a token has none."""
    assert token.encode_token(CASES[0], [(number * 7919, number, number % 9973) for number in range(300_000)]) is None
    large = oracle.Geometry("detess", (3000, 3000, 8), "int8", (-1, 0, 1, 2), (1, 8, 3000, 8))
    assert token.encode_token(case_of(large), []) is None


VALUES: list[Any] = [None, True, False, -1, 0, 1.5, 2**31, 2**63, 10**40, 1e308, "x", "", [], [[]], {}, {"x": 1}]


def mutants(value: Any) -> Iterator[Any]:
    """The value with one thing in it replaced, left out or doubled, everywhere in turn."""
    yield from VALUES
    if isinstance(value, dict):
        for name in value:
            yield {other: inner for other, inner in value.items() if other != name}
            for inner in mutants(value[name]):
                yield {**value, name: inner}
    elif isinstance(value, list):
        for index in range(min(len(value), 3)):
            yield value[:index] + value[index + 1 :]
            yield value[:index] + [value[index]] * 2 + value[index + 1 :]
            for inner in mutants(value[index]):
                yield [*value[:index], inner, *value[index + 1 :]]


ALTERED = breadth([CASES[number] for number in (6, 5, 3, 2, 4, 1, 0)], suite=4)
"""Beginning with those that together have every field that a token can have."""


@pytest.mark.parametrize("case", ALTERED, ids=lambda case: case.geometry.op.name)
def test_every_altered_token_is_a_case_or_refused(case: Any) -> None:
    """Every field with every kind of wrong value: a ScenarioError, or a case that its own token gives again."""
    body = body_of(encoded(case, [(0, 0, 0), (1, 0, 0)]))
    began, refused, accepted = process_time(), 0, 0
    for altered in mutants(body):
        try:
            again, order = token.decode_token(packed(altered))
        except ScenarioError:
            refused += 1
        else:
            accepted += 1
            assert token.decode_token(encoded(again, order)) == (again, order)
    assert refused > 300
    assert accepted > 5
    assert process_time() - began < 60


def test_altered_bytes_raise_nothing_else() -> None:
    """Flipped, cut and doubled characters of a token raise the documented error alone."""
    rng, good = random.Random(5), encoded(CASES[1], [(0, 0, 0)])
    for _ in range(3000):
        text = [*good]
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(text))
            text[place : place + rng.randint(0, 2)] = rng.choice(["", "A", "_", "-", "=", "%", "\n", "\u20ac"])
        try:
            token.decode_token("".join(text))
        except ScenarioError:
            continue
    inner = json.dumps(body_of(good)).encode()
    for _ in range(3000):
        raw = bytearray(inner)
        raw[rng.randrange(len(raw))] = rng.randrange(256)
        try:
            token.decode_token(wrapped(bytes(raw)))
        except ScenarioError:
            continue


def test_a_bomb_takes_little_memory() -> None:
    """A token that would expand to 64 MiB is refused within the bound of what it may expand to."""
    bomb = wrapped(b"[" + b"0," * (1 << 25) + b"0]")
    assert len(bomb) < token.MOST_CHARACTERS
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        with pytest.raises(ScenarioError):
            token.decode_token(bomb)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10
