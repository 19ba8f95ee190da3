"""Failure cases: each error from the field is refused or found, and prints exactly its expected output."""

import subprocess
import sys
from pathlib import Path

import pytest

from tessbed.commands.drill import transcript
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.verification.failure_cases.case_format import STEPS, compose_failure_case, failure_cases
from tessbed.scenarios.verification.failure_cases.case_runner import ACTIONS, CaseRunner

PAGE = Path(__file__).parents[4] / "docs" / "drills.md"
HEAD = 'name = "n"\nabout = "a"\n'
TENSOR = '[[tensors]]\nname = "t"\ndtype = "int8"\nshape = [4, 4]\n'


@pytest.mark.parametrize("name", failure_cases())
def test_a_failure_case_prints_its_expected_output(name: str) -> None:
    """Every step goes as the failure case says, and a user reads these very words."""
    path = failure_cases()[name]
    script = compose_failure_case(parse_toml(path.read_text(encoding="utf-8"), str(path)))
    reported = CaseRunner(script).run()
    printed = transcript(script.name, script.about, [str(step) for step in reported], all(step.ok for step in reported))
    assert all(step.ok for step in reported)
    assert "\n".join(printed) + "\n" == path.with_suffix(".txt").read_text(encoding="utf-8")


def test_every_failure_case_makes_an_error_and_has_a_remark() -> None:
    """A failure case says where it comes from, and at least one step of it is refused."""
    assert len(failure_cases()) >= 13
    for path in failure_cases().values():
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# In the field: ")
        assert any(step.refused for step in compose_failure_case(parse_toml(text, path.name)).steps)


def test_the_table_of_steps_is_the_list_of_what_can_be_done() -> None:
    """Each step of the format is done by the stage, and is on the page with its keys."""
    text = PAGE.read_text(encoding="utf-8")
    assert list(STEPS) == list(ACTIONS)
    for name, (meaning, keys) in STEPS.items():
        assert f"| `{name}` | {meaning} | {', '.join(f'`{key.name}`' for key in keys) or 'none'} |" in text
    for name, path in failure_cases().items():
        assert (
            f"| `{name}` | {compose_failure_case(parse_toml(path.read_text(encoding='utf-8'), name)).about} |" in text
        )


ERRORS = {
    "no steps": (HEAD, "d.toml:1:1: steps: got none, wanted at least one "),
    "unknown step": (HEAD + '[[steps]]\ndo = "alocate"\n', r"d.toml:4:6: steps\[0\].do: .* did you mean allocate"),
    "missing key": (HEAD + '[[steps]]\ndo = "wait"\n', r"d.toml:3:3: steps\[0\].job: missing"),
    "unknown tensor": (
        HEAD + TENSOR + '[[steps]]\ndo = "allocate"\nbuffer = "b"\nholds = ["u"]\n',
        r"d.toml:10:9: steps\[0\].holds: got 'u', wanted the name of a tensor",
    ),
    "unknown dtype": (
        HEAD + TENSOR.replace("int8", "int9") + '[[steps]]\ndo = "leaks"\n',
        r"d.toml:5:9: tensors\[0\].dtype: .*did you mean int8",
    ),
}


@pytest.mark.parametrize("case", ERRORS.values(), ids=ERRORS.keys())
def test_an_error_in_a_failure_case_is_reported_with_its_place(case: tuple[str, str]) -> None:
    """File, line and column, what was got and what is wanted."""
    text, words = case
    with pytest.raises(ScenarioError, match=words):
        compose_failure_case(parse_toml(text, "d.toml"))


def test_a_step_that_should_be_refused_and_is_not_fails_the_failure_case() -> None:
    """The failure case ends there, and says what was expected."""
    steps = '[[steps]]\ndo = "leaks"\nrefused = "leaks"\n[[steps]]\ndo = "end_process"\n'
    (reported,) = CaseRunner(compose_failure_case(parse_toml(HEAD + steps, "d.toml"))).run()
    assert not reported.ok
    assert reported.result == "none; but it must be refused as leaks"


QUANTIZED = (
    HEAD
    + """
[[tensors]]
name = "image"
dtype = "fp32"
shape = [3, 20]
[[tensors]]
name = "tiles"
dtype = "int8"
shape = [3, 20]
tiled = { axes = [-1, -1, 0, 1], tile = [1, 1, 2, 20], channels = "pad16" }
[[steps]]
do = "allocate"
buffer = "one"
holds = ["image"]
[[steps]]
do = "allocate"
buffer = "other"
holds = ["tiles"]
[[steps]]
do = "write"
view = "one"
tensor = "image"
[[steps]]
do = "submit"
job = "in"
op = "quanttess"
quantization = { scale = 8.0845, zero_point = -56, rounding = "up" }
int8_channel_padding = 5
source = "one"
reads = "image"
target = "other"
writes = "tiles"
[[steps]]
do = "wait"
job = "in"
[[steps]]
do = "verify"
job = "in"
[[steps]]
do = "submit"
job = "out"
op = "detessdequant"
quantization = { scale = 8.0845, zero_point = -56 }
source = "other"
reads = "tiles"
target = "one"
writes = "image"
[[steps]]
do = "wait"
job = "out"
[[steps]]
do = "verify"
job = "out"
[[steps]]
do = "submit"
job = "never"
op = "detessdequant"
quantization = { scale = 0.0, zero_point = -56 }
source = "other"
reads = "tiles"
target = "one"
writes = "image"
refused = "scale_range"
"""
)


def test_parameters_of_a_step() -> None:
    """A step's quantization and padding reach admission, the device and the oracle, and are read aloud."""
    reported = CaseRunner(compose_failure_case(parse_toml(QUANTIZED, "d.toml"))).run()
    assert [step.result for step in reported if not step.ok] == []
    assert len(reported) == 10
    assert "quantization scale 8.0845, zero_point -56, rounding up" in str(reported[3]).replace("\n", " ")
    assert "int8_channel_padding 5" in str(reported[3])
    wrong = QUANTIZED.replace('op = "quanttess"', 'op = "casttess"')
    with pytest.raises(
        ScenarioError, match=r"quantization.scale: got 8.0845 on casttess, wanted no such key: only quant"
    ):
        compose_failure_case(parse_toml(wrong, "d.toml"))


def test_another_refusal_than_expected_fails_the_failure_case() -> None:
    """Only the named refusal will do; unknown names are refused too."""
    for step, words in (
        ('do = "close"\nbuffer = "b"', "no such buffer, there are none [no_buffer]"),
        ('do = "wait"\njob = "j"', "no such job, there are none [no_job]"),
        ('do = "read"\nview = "v"', "no such view, there are none [no_view]"),
    ):
        steps = f'[[steps]]\n{step}\nrefused = "lifetime"\n'
        (reported,) = CaseRunner(compose_failure_case(parse_toml(HEAD + steps, "d.toml"))).run()
        assert not reported.ok
        assert words in reported.result


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 0, "pool-reused-early"),
        (["pool-reused-early"], 0, "ok: each step went as the failure case says"),
        (["pool-reused-earlier"], 2, "did you mean pool-reused-early"),
    ],
    ids=["list", "run", "misspelt"],
)
def test_the_verb(arguments: list[str], code: int, words: str) -> None:
    """`tessbed drill` lists, runs, and helps with a misspelt name."""
    command = [sys.executable, "-m", "tessbed", "drill", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert words in done.stdout + done.stderr
