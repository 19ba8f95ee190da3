"""Runs the command line in this process, as close to a shell as that gets."""

from collections.abc import Callable

import attrs
import pytest

from tessbed.cli import main

HEAD = """\
name = "head"
[[jobs]]
name = "head"
op = "detess"
dtype = "bf16"
shape = [4, 6, 8]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 2, 3, 8] }
input = { pattern = "golden" }
"""


@attrs.frozen
class Said:
    """How a command ended: exit code, stdout, stderr."""

    code: object
    out: str
    err: str


Tessbed = Callable[..., Said]


@pytest.fixture
def tessbed(capfd: pytest.CaptureFixture[str]) -> Tessbed:
    """`tessbed("run", "x.toml")`."""

    def run(*arguments: object) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        return Said(ended.value.code, *capfd.readouterr())

    return run
