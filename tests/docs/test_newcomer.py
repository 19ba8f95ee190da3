"""The newcomer: the tutorial in a fresh clone, with an empty environment and nothing but what it says to install."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.quoted import ROOT

TUTORIAL = (ROOT / "docs/tutorial.md").read_text()
REPEAT = """
from tests.docs.quoted import ROOT, refreshed
page = ROOT / "docs/tutorial.md"
assert refreshed(page) == page.read_text()
"""


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a repository to clone")
@pytest.mark.skipif(shutil.which("git") is None or shutil.which("make") is None, reason="needs git and make")
def test_the_tutorial_works_in_a_fresh_clone(tmp_path: Path) -> None:
    """`make demo` installs, the lines for a shell add what is missing, and every output is the quoted one."""
    outer = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "PYTHON", "PYTHONPATH")}
    environment = {**outer, "HOME": str(tmp_path)}
    clone = tmp_path / "tessbed"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    subprocess.run(["make", "demo"], cwd=clone, env=environment, check=True, stdout=subprocess.DEVNULL)
    shells = re.findall(r"^```shell-session\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for shell in shells for line in shell.splitlines()]
    assert any(line.startswith("pip install") for line in lines)
    script = "\n".join(["set -e", *lines, f"PYTHONPATH={clone} python - <<'END'", REPEAT, "END"])
    subprocess.run(["/bin/sh", "-c", script], cwd=clone, env=environment, check=True)
