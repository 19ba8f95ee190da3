"""Options: numbers within their limits, and settings of one run over those of both."""

import json

import click
import pytest

from tessbed.commands.types import Number
from tests.cli.conftest import Tessbed

NUMBERS = {  # the option, what it takes, what it refuses
    "from 1": (Number(1), ["1", "99999999999999999999"], ["0", "-1", "1.0", "nan", "inf", "", "x"]),
    "0 to 9": (Number(0, 9), ["0", "9"], ["-1", "10"]),
    "any from 0": (Number(0, kind=float), ["0", "0.5", "1e308"], ["-0.1", "nan", "inf", "-inf", "1e309", "x"]),
    "0 to 100, any": (Number(0, 100, float), ["0", "100"], ["100.01", "nan", "inf"]),
}


@pytest.mark.parametrize(("number", "taken", "refused"), NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_one_within_its_limits(number: Number, taken: list[str], refused: list[str]) -> None:
    """Both limits belong to the range; what is no finite number is refused with what is wanted."""
    assert [number.convert(text, None, None) for text in taken] == [number.kind(text) for text in taken]
    for text in refused:
        with pytest.raises(click.BadParameter, match=f"wanted {number.wanted}"):
            number.convert(text, None, None)


@pytest.mark.parametrize("command", ["run", "encode"])
def test_an_empty_word_is_no_folder(tessbed: Tessbed, command: str) -> None:
    """An empty word, such as a variable of the shell that is not set, does not stand for the current folder."""
    said = tessbed(command, "chroma", "-o", "")
    assert (said.code, said.err) == (2, '--output: got "", wanted the name of a folder\n')


def test_a_setting_of_the_second_run_goes_over_one_of_both(tessbed: Tessbed) -> None:
    """`--set2` has the last word on RUN2, wherever it is, and none on RUN1."""
    both, second = ("--set", "device.workers=1"), ("--set2", "device.workers=4")
    ticks = [_ticks(tessbed(*COMPARE, *more)) for more in (both, ("--set", "device.workers=4"), (*second, *both))]
    assert ticks[0][0] != ticks[1][0]
    assert ticks[2] == (ticks[0][0], ticks[1][0])


COMPARE = ("compare", "chroma", "chroma", "--json", "--set", "jobs.*.backend=ev74")


def _ticks(said) -> tuple[int, int]:
    jobs = json.loads(said.out)["jobs"]
    return sum(job["before_ticks"] for job in jobs), sum(job["after_ticks"] for job in jobs)
